"""The example of a third party's package: installed, found by its names, and run."""

import importlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hpcdispatch.simulation import simulate
from hpcdispatch.testing import check_dispatcher, check_predictor, tiny

PLUGIN = Path(__file__).parents[1] / "examples" / "plugin"

SIMULATE = """
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import cluster, tiny
print(simulate(tiny(), "smallest-area").jobs["start"].tolist())
workload = cluster()
result = simulate(workload, "smallest-area:patience=7200", predictor="usual:quantile=0.8", overrun="resubmit")
check(workload, result)
print(result.manifest["dispatcher"], result.manifest["predictor"], len(result.jobs))
"""

UNKNOWN = """
from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher
try:
    create_dispatcher("smallest-area:patience=long")
except InputError as error:
    print(error)
"""


def builds_wheels():
    """Return whether the setuptools at hand builds wheels by itself, as it does since 70.1."""
    try:
        major, minor = importlib.metadata.version("setuptools").split(".")[:2]
    except importlib.metadata.PackageNotFoundError:
        return False
    return (int(major), int(minor)) >= (70, 1)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install a copy of the package into a folder; return the environment in which it is found."""
    target = tmp_path_factory.mktemp("plugin")
    source = tmp_path_factory.mktemp("source")
    for path in PLUGIN.iterdir():
        if path.is_file():
            (source / path.name).write_bytes(path.read_bytes())
    isolation = ["--no-build-isolation"] if builds_wheels() else []
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *isolation, "--target", target, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PYTHONPATH": str(target)}


def python(environment, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_runs_by_name_with_its_options(installed):
    lines = python(installed, "-c", SIMULATE).splitlines()
    # a and b start; d (40) and e (200) fit beside them once they come, before c (240), which needs all four cores.
    assert lines[0] == "[0, 0, 250, 20, 50]"
    assert lines[1] == "smallest-area:patience=7200 usual:quantile=0.8 80"


def test_options_have_the_types_of_the_constructor(installed):
    message = python(installed, "-c", UNKNOWN).strip()
    assert message == "dispatcher smallest-area: option 'patience': expected a whole number, got 'long'"


def test_is_listed_on_the_command_line(installed):
    program = "import sys; from hpcdispatch.cli import main; sys.argv = ['hpcdispatch', 'list']; main()"
    listed = python(installed, "-c", program)
    for expected in ("smallest-area", "patience", "usual", "quantile"):
        assert expected in listed


@pytest.fixture
def plugin():
    spec = importlib.util.spec_from_file_location("myhpc_example", PLUGIN / "myhpc.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_keeps_the_rules(plugin):
    check_dispatcher(plugin.SmallestArea, predictors=("walltime", "last2"))
    check_predictor(plugin.Usual, dispatchers=("easy",))


def test_a_late_job_is_not_passed(plugin):
    # c waits since 10; from 21 on nobody passes it, so that d (20) still does and e (30) does not.
    starts = simulate(tiny(), plugin.SmallestArea(patience=10)).jobs["start"].tolist()
    assert starts == [0, 0, 100, 20, 160]


def test_the_example_is_short():
    lines = sum(len(path.read_text().splitlines()) for path in PLUGIN.glob("*.py"))
    assert lines < 60


def test_a_predictor_refuses_a_bad_option(plugin):
    with pytest.raises(ValueError, match=r"quantile must be in \[0, 1\), got 1"):
        plugin.Usual(quantile=1)
