"""The import table of the design: who may import whom, and what each package shows."""

import ast
import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "analysis",
    "base",
    "bench",
    "cli",
    "dispatchers",
    "models",
    "predictors",
    "simulation",
    "testing",
    "workloads",
)
EVERYTHING = set(PACKAGES)

#: Package to the packages of ours it may import, beside itself.
OURS = {
    "base": set(),
    "workloads": {"base"},
    "predictors": {"base", "workloads"},
    "models": {"base"},
    "dispatchers": {"base", "models", "workloads"},
    "simulation": {"base", "dispatchers", "predictors", "workloads"},
    "analysis": {"base", "models", "simulation", "workloads"},
    "testing": {"base", "dispatchers", "models", "predictors", "simulation", "workloads"},
    "bench": EVERYTHING - {"cli"},
    "cli": EVERYTHING,
}
#: Library to the one package that may import it.
ONLY = {"ortools": "models", "numba": "models", "accasim": "simulation"}


def modules():
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(source, path):
    """Yield the absolute name of everything the module at `path` imports, wherever in it."""
    package = ("hpcdispatch", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join((*base, *([node.module] if node.module else [])))
            yield from (f"{start}.{name.name}" for name in node.names)


def layer(name):
    """Return the package of ours that an absolute name lies in, or ``None``."""
    parts = name.split(".")
    return parts[1] if parts[0] == "hpcdispatch" and len(parts) > 1 else None


def forbidden(source, path):
    """Return what the module at `path` imports against the table."""
    package = path.relative_to(ROOT).parts[0]
    return {
        name
        for name in imported(source, path)
        if layer(name) not in {None, package} | OURS[package] or ONLY.get(name.split(".")[0], package) != package
    }


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_what_the_table_allows(path):
    assert not forbidden(path.read_text(encoding="utf-8"), path)


def test_the_walk_sees_every_form_of_import():
    source = """
from ..models import choose
from . import options
from .. import simulation
import hpcdispatch.cli.main
def later():
    import ortools.sat
    from accasim.base import event_class
"""
    assert forbidden(source, ROOT / "dispatchers" / "imaginary.py") == {
        "hpcdispatch.simulation",
        "hpcdispatch.cli.main",
        "ortools.sat",
        "accasim.base.event_class",
    }


def test_the_table_names_every_package():
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found == EVERYTHING
    assert not (ROOT / "__init__.py").exists()


def test_every_folder_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert sorted(listed) == sorted("hpcdispatch." + ".".join(folder.relative_to(ROOT).parts) for folder in folders)


@pytest.mark.parametrize("package", PACKAGES)
def test_is_typed_and_shows_a_curated_list(package):
    assert (ROOT / package / "py.typed").is_file()
    module = importlib.import_module(f"hpcdispatch.{package}")
    assert module.__doc__
    names = module.__all__
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []
    assert not [name for name in names if name.startswith("_")]
