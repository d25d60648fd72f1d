"""Fixtures that all tests share."""

import getpass
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import outside
import pytest
from hypothesis import settings

from hpcdispatch.dispatchers import registry

#: The folder of the public traces, for tests with the mark ``traces``.
_BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared" / "data"
#: Workers of xdist inherit the environment of these tests, so that it stands under a name of its own.
_KEPT_DATA = "HPCDISPATCH_TEST_DATA"
DATA = os.environ.get(_KEPT_DATA) or os.environ.get("HPCDISPATCH_DATA") or str(_BESIDE_THE_REPOSITORY)
os.environ[_KEPT_DATA] = DATA
#: What is made once for all runs of the tests by this user: caches, and an empty folder in place of that of the traces.
KEPT = Path(tempfile.gettempdir()) / f"hpcdispatch-tests-{getpass.getuser()}"
NO_TRACES = KEPT / "no-traces"
NO_TRACES.mkdir(parents=True, exist_ok=True)
os.environ["HPCDISPATCH_DATA"] = str(NO_TRACES)
# The user's own settings and caches are not those of the tests. The fonts of pictures are found once.
os.environ["HOME"] = str(KEPT / "home")
(KEPT / "home").mkdir(exist_ok=True)
os.environ["XDG_CACHE_HOME"] = str(KEPT / "cache")
os.environ["MPLCONFIGDIR"] = str(KEPT / "matplotlib")
for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "DASK_CONFIG"):
    os.environ.pop(variable, None)
#: Marks of tests that may look outside the clone.
OUTSIDE = ("traces", "slurm", "nightly")
_REPORTS = KEPT / f"outside-{os.getpid()}"


# Compiling depends on earlier compiles. The text on stderr must not.
logging.getLogger("hpcdispatch").setLevel(logging.ERROR)

# Tests do not check wall-clock times. The first of many examples compiles the tested code. Random inputs are the same
# in each run, and others each night: ``--hypothesis-profile=night --hypothesis-seed=N``. A test says with
# :func:`drawn.number_of_inputs` how many it draws, or draws as many as here.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("night", deadline=None, print_blob=True)
settings.load_profile("fixed")


def pytest_configure(config: pytest.Config) -> None:
    """Watch what this process and its children open. The process that hands out the tests runs none."""
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        os.environ[outside.REPORTS] = str(_REPORTS)
        children = [str(Path(__file__).parent / "watched"), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(children)
        outside.watch(str(_REPORTS))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the reports."""
    _REPORTS.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[object]:
    """Show the folder of the traces only to tests with that mark, in their fixtures as well."""
    os.environ["HPCDISPATCH_DATA"] = DATA if item.get_closest_marker("traces") else str(NO_TRACES)
    try:
        return (yield)
    finally:
        os.environ["HPCDISPATCH_DATA"] = str(NO_TRACES)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the public traces where there are none."""
    if item.get_closest_marker("traces") and not any(Path(DATA).glob("*.gz")):
        pytest.skip(f"needs the public traces, not in {DATA}; set HPCDISPATCH_DATA to their folder")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test without a mark that has looked outside the clone, in its fixtures or by a child."""
    yield
    if _REPORTS.exists():
        seen = _REPORTS.read_text(encoding="utf-8").splitlines()
        _REPORTS.unlink()
        if not any(item.get_closest_marker(mark) for mark in OUTSIDE):
            pytest.fail(f"looked outside the clone: {', '.join(dict.fromkeys(seen))}")


@pytest.fixture(scope="session")
def trace() -> Callable[[str], Path]:
    """Give paths of public traces, for tests with the mark ``traces``. They are skipped without their trace."""

    def path(name: str) -> Path:
        folder = Path(os.environ["HPCDISPATCH_DATA"])
        assert folder != NO_TRACES, "a test that reads a public trace has the mark traces"
        found = folder / name
        if not found.is_file():
            pytest.skip(f"needs {name}; set HPCDISPATCH_DATA to the folder it is in")
        return found

    return path


@pytest.fixture(scope="session")
def material() -> Callable[..., Path]:
    """Give paths of files beside the folder of the traces, as :func:`trace` does."""

    def path(*parts: str) -> Path:
        folder = Path(os.environ["HPCDISPATCH_DATA"])
        assert folder != NO_TRACES, "a test that reads what is beside the traces has the mark traces"
        found = folder.parent.joinpath(*parts)
        if not found.is_file():
            pytest.skip(f"needs {'/'.join(parts)} beside the folder that HPCDISPATCH_DATA names")
        return found

    return path


#: Versions of a dispatcher that differ by options from others. By day they are in the random tests of simulations.
VERSIONS = ("hcp", "hcp1", "hcp2", "pcp", "pcp1", "pcp2")

#: Options that make slow dispatchers cheaper. These look at the queue by the clock, or at much of the past.
QUICK = {
    "portfolio": "of=fcfs+sjf,every=12h,window=1d,budget=1000",
    "slurm": "bf_interval=300,sched_interval=600,PriorityCalcPeriod=30",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with `registered` for every registered dispatcher. Solvers get a small limit."""
    if "registered" in metafunc.fixturenames:
        metafunc.parametrize("registered", [quick(name) for name in registry.names()])


def quick(name: str) -> str:
    """Return the spec of a dispatcher with little time per decision that still does its work."""
    if name in QUICK:
        return f"{name}:{QUICK[name]}"
    limited = "d_max" in {option.name for option in registry.options(name)}
    return f"{name}:d=0.0005,d_max=0.001" if limited else name
