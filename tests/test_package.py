"""The package in scripts: importable from any folder, fast, without conflicts."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version

import pytest
from source_tree import PACKAGES, ROOT

import hpcdispatch
from hpcdispatch.api import interactive

SAY = "import hpcdispatch as hd; print(hd.__version__, hd.simulate.__name__, hd.__file__)"


def python(code, folder, *options, **environment):
    """Return what a program prints that runs in a folder."""
    called = subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert called.returncode == 0, called.stderr
    return called.stdout.split()


@pytest.fixture
def clone(tmp_path):
    """Give the folder above a clone that is called as the package."""
    (tmp_path / "hpcdispatch").symlink_to(ROOT)
    return tmp_path


def test_has_one_version():
    """A development version is numbered when it is built, and an editable install has the number of that time."""
    assert version("hpcdispatch").startswith(hpcdispatch.__version__.removesuffix("0"))


def test_one_cites_the_last_release():
    released, day = re.search(r"^## \[([\d.]+)\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {released}\n" in cited
    assert f'\ndate-released: "{day}"\n' in cited
    described = json.loads((ROOT / "codemeta.json").read_text())
    assert (described["version"], described["datePublished"]) == (released, day)


def test_help_shows_what_there_is():
    assert "simulate" in hpcdispatch.__doc__
    assert {"read", "simulate", "compare", "Workload", "Result", "dispatchers"} <= set(dir(hpcdispatch))
    assert hpcdispatch.simulate is interactive.simulate
    assert hpcdispatch.dispatchers.registry.names()


def test_is_imported_from_the_folder_above_a_clone(clone):
    assert python(SAY, clone) == [hpcdispatch.__version__, "simulate", str(clone / "hpcdispatch" / "__init__.py")]


def test_is_imported_from_the_clone():
    assert python(SAY, ROOT)[:2] == [hpcdispatch.__version__, "simulate"]


def test_imports_nothing_heavy(tmp_path):
    heavy = "numba", "numpy", "ortools", "pandas", "matplotlib", "scipy", "click"
    assert python(f"import sys, hpcdispatch; print(*set({heavy}) & set(sys.modules))", tmp_path) == []


def test_the_command_line_runs_as_a_module(tmp_path):
    called = subprocess.run(
        [sys.executable, "-m", "hpcdispatch", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert version("hpcdispatch") in called.stdout


def test_a_newer_python_gets_a_warning(tmp_path):
    code = "import sys; sys.version_info = (3, 99, 0, 'final', 0); import hpcdispatch"
    called = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "hpcdispatch is tested on Python 3.11 to 3.14, this is 3.99" in called.stderr


@pytest.mark.nightly
def test_is_imported_from_an_installed_wheel(clone):
    source, target, empty = (clone / name for name in ("source", "target", "empty"))
    kept = {"README.md", "LICENSE", "pyproject.toml", "setup.py", "py.typed", *PACKAGES}
    shutil.copytree(
        ROOT,
        source,
        ignore=lambda folder, names: [
            name
            for name in names
            if name == "__pycache__" or (folder == str(ROOT) and name not in kept and not name.startswith("__"))
        ],
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, source]
    subprocess.run(pip, check=True, capture_output=True)
    empty.mkdir()
    own = {"PYTHONPATH": str(target)}
    assert python(SAY, empty, **own)[2] == str(target / "hpcdispatch" / "__init__.py")
    (empty / "hpcdispatch" / "analysis").mkdir(parents=True)
    code = "import hpcdispatch as hd; print(len(hd.simulate('lublin:jobs=20', 'easy').jobs))"
    assert python(code, empty, **own) == ["20"]
    assert not (target / "hpcdispatch" / "bench" / "studies").exists()
