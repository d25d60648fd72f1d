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


# Compiling depends on earlier compiles. The text on stderr must not.
logging.getLogger("hpcdispatch").setLevel(logging.ERROR)

# Tests do not check wall-clock times. The first of many examples compiles the tested code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def trace() -> Callable[[str], Path]:
    """Give paths of traces, in ../shared/data or HPCDISPATCH_DATA. Tests without their trace are skipped."""
    folder = os.environ.get("HPCDISPATCH_DATA", "")

    def path(name: str) -> Path:
        found = Path(folder) / name
        if not folder or not found.is_file():
            pytest.skip(f"needs {name}; set HPCDISPATCH_DATA to the folder it is in")
        return found

    return path


@pytest.fixture(scope="session")
def material() -> Callable[..., Path]:
    """Give paths of files beside the folder of the traces. Tests without their file are skipped."""
    folder = os.environ.get("HPCDISPATCH_DATA", "")

    def path(*parts: str) -> Path:
        found = Path(folder).parent.joinpath(*parts)
        if not folder or not found.is_file():
            pytest.skip(f"needs {'/'.join(parts)} beside the folder that HPCDISPATCH_DATA names")
        return found

    return path


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
