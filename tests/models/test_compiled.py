"""Functions that count no references, and when kept code is made anew."""

import subprocess
import sys

import numpy as np
import pytest

from hpcdispatch.models.compiled import borrowing, compiled


def first_column(table):
    total = 0
    for place in range(len(table)):
        row = table[place]
        total += row[0]
    return total


def test_one_that_borrows_counts_no_references_and_answers_the_same():
    table = np.arange(12).reshape(4, 3)
    borrowed, counted = borrowing(first_column), compiled(first_column)
    assert borrowed(table) == counted(table) == 18
    # What the option does cannot be seen in code that comes from the cache; that it is handed on can.
    assert borrowed.targetoptions["_nrt"] is False
    assert "_nrt" not in counted.targetoptions


CALLED = """
from typing import NamedTuple
from hpcdispatch.models.compiled import compiled

class {name}(NamedTuple):
    value: int

@compiled
def doubled(given: {name}) -> int:
    return given.value * {factor}
"""
CALLER = """
from hpcdispatch.models.compiled import compiled
from .called import doubled

@compiled
def called(given):
    return doubled(given)
"""


@pytest.fixture
def answer(tmp_path):
    """Return what a process says that keeps compiled code, where a function calls one of another module."""
    package = tmp_path / "kept_code"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER)

    def answered(name, factor):
        (package / "called.py").write_text(CALLED.format(name=name, factor=factor))
        program = f"from kept_code import caller, called; print(caller.called(called.{name}(1)))"
        return int(
            subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=True).stdout
        )

    return answered


def test_kept_code_is_made_anew_if_what_it_calls_has_changed(answer):
    assert answer("Given", 2) == 2
    assert answer("Given", 300) == 300


def test_kept_code_of_a_class_that_has_gone_is_made_anew(answer):
    assert answer("Given", 2) == 2
    assert answer("Renamed", 2) == 2
