"""Kept compiled functions, and when they are compiled anew. Functions without reference counts."""

import subprocess
import sys

import numpy as np
import pytest

from hpcdispatch.models.compiled import borrowing, compiled, within

SHAPES = """\
from typing import NamedTuple

FACTOR = {factor}


class {name}(NamedTuple):
    one: int
    two: int
"""
SUMS = """\
from hpcdispatch.models.compiled import compiled
from . import shapes
from .shapes import FACTOR, {name}


@compiled
def total(pair):
    return (pair.one + pair.two) * FACTOR


print(total({name}(1, 2)), len(total.stats.cache_hits))
"""


@pytest.mark.nightly
def test_it_is_compiled_anew_after_a_change_in_another_module(tmp_path):
    package = tmp_path / "two"
    package.mkdir()
    (package / "__init__.py").touch()

    def run(changed, text):
        """Write a module. Return the function's result, and whether it was read from the disk."""
        (package / changed).write_text(text)
        # Python takes its own bytecode for current if size and second of the source are the same.
        command = [sys.executable, "-B", "-m", "two.sums"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return tuple(map(int, done.stdout.split()))

    (package / "shapes.py").write_text(SHAPES.format(name="Pair", factor=2))
    assert run("sums.py", SUMS.format(name="Pair")) == (6, 0)
    assert run("shapes.py", SHAPES.format(name="Pair", factor=2)) == (6, 1)
    assert run("shapes.py", SHAPES.format(name="Pair", factor=3)) == (9, 0)
    (package / "shapes.py").write_text(SHAPES.format(name="Couple", factor=3))
    assert run("sums.py", SUMS.format(name="Couple")) == (9, 0)


def first_column(table):
    total = 0
    for place in range(len(table)):
        row = table[place]
        total += row[0]
    return total


def test_one_that_borrows_counts_no_references_and_answers_the_same():
    table = np.arange(12).reshape(4, 3)
    borrowed = borrowing(first_column)
    counted = compiled(first_column)
    assert borrowed(table) == counted(table) == 18
    # The effect of the option is invisible in code from the cache. That it is handed on is visible.
    assert borrowed.targetoptions["_nrt"] is False
    assert "_nrt" not in counted.targetoptions


def halves(table):
    return table[:1], table[1:]


def test_one_in_both_ways_is_kept_under_two_names():
    """Else callers of one get the other from the cache, and lose references or keep them for ever."""
    made = compiled(halves), within(halves)
    assert len({each._cache._impl.filename_base for each in made}) == 2
    assert halves.__qualname__ == made[0].__qualname__ == made[1].__qualname__ == "halves"
