"""Fixtures that all tests share."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def trace() -> Callable[[str], Path]:
    """Give paths of traces in the folder that HPCDISPATCH_DATA names; a test without its trace is skipped."""
    folder = os.environ.get("HPCDISPATCH_DATA", "")

    def path(name: str) -> Path:
        found = Path(folder) / name
        if not folder or not found.is_file():
            pytest.skip(f"needs {name}; set HPCDISPATCH_DATA to the folder it is in")
        return found

    return path
