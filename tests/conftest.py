"""Fixtures that all tests share."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from hpcdispatch.dispatchers import registry

BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared" / "data"
if BESIDE_THE_REPOSITORY.is_dir():
    os.environ.setdefault("HPCDISPATCH_DATA", str(BESIDE_THE_REPOSITORY))


# What is compiled depends on what was before, and what is written to stderr must not.
logging.getLogger("hpcdispatch").setLevel(logging.ERROR)

# Tests say nothing of wall-clock times, and the first example of many compiles what is tested.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def trace() -> Callable[[str], Path]:
    """Give paths of traces in ../shared/data or where HPCDISPATCH_DATA says; a test without its trace is skipped."""
    folder = os.environ.get("HPCDISPATCH_DATA", "")

    def path(name: str) -> Path:
        found = Path(folder) / name
        if not folder or not found.is_file():
            pytest.skip(f"needs {name}; set HPCDISPATCH_DATA to the folder it is in")
        return found

    return path


@pytest.fixture(scope="session")
def material() -> Callable[..., Path]:
    """Give paths of files beside the folder of the traces; a test without its file is skipped."""
    folder = os.environ.get("HPCDISPATCH_DATA", "")

    def path(*parts: str) -> Path:
        found = Path(folder).parent.joinpath(*parts)
        if not folder or not found.is_file():
            pytest.skip(f"needs {'/'.join(parts)} beside the folder that HPCDISPATCH_DATA names")
        return found

    return path


#: Options with which dispatchers that look at the queue by the clock, or at much of the past, do so less.
QUICK = {
    "portfolio": "of=fcfs+sjf,every=12h,window=1d,budget=1000",
    "slurm": "bf_interval=300,sched_interval=600,PriorityCalcPeriod=30",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `registered` with every registered dispatcher, solvers under a small limit."""
    if "registered" in metafunc.fixturenames:
        metafunc.parametrize("registered", [quick(name) for name in registry.names()])


def quick(name: str) -> str:
    """Return the spec of a dispatcher that spends little time on a decision, and that does what it is there for."""
    if name in QUICK:
        return f"{name}:{QUICK[name]}"
    limited = "d_max" in {option.name for option in registry.options(name)}
    return f"{name}:d=0.0005,d_max=0.001" if limited else name
