"""The benchmark of the availability list and of fits: the small setting and its tables."""

import numpy as np
import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.joint_choices import (
    JOINT,
    NEITHER,
    SIZE,
    SPREADS,
    TIME,
    WAYS,
    Lottery,
    turnaround,
)
from hpcdispatch.bench.studies.benchmarks.moldable import main, walked
from hpcdispatch.models import AvailabilityProfile
from hpcdispatch.models.reservations import ESDD


@pytest.mark.nightly
def test_every_table_is_printed():
    done = CliRunner().invoke(main, ["--small", "--markdown"])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line.startswith("|") and "---" not in line]
    assert [line.split(" |")[0] for line in lines[:3]] == ["| reservations", "| 20", "| 60"]
    assert len(lines) == 3 + (1 + 6) + (1 + len(SPREADS) * len(WAYS))


def test_the_walk_finds_the_first_slot_that_is_long_enough():
    steps = [(0, 10, 4), (10, 12, 1), (12, 20, 4), (20, 30, 5), (30, None, 8)]
    assert [walked(steps, *asked) for asked in ((4, 10), (4, 11), (5, 10), (5, 11), (8, 1))] == [0, 12, 20, 20, 30]


@pytest.mark.parametrize(
    ("way", "ran", "end", "asked"),
    [
        (NEITHER, 10, 60, (2, 100)),
        (SIZE, 10, 5, (4, 50)),
        (TIME, 10, 10, (2, 10)),
        (TIME, 100, 150, (2, 10)),
        (JOINT, 10, 5, (4, 5)),
    ],
)
def test_what_becomes_of_each_way_to_choose(way, ran, end, asked):
    """Two processors are free for 20 s and from 50 on. All four at once and for ever only on another list."""
    gap = AvailabilityProfile(4)
    if way != SIZE:
        gap.reserve(3, 30, 20)
    job = Lottery(2, np.array([2, 4]), np.array([1.0, 0.5]), ESDD(np.array([10.0, 100.0]), np.array([0.9, 0.1])))
    done, first = turnaround(job, gap, ran, WAYS[way])
    assert (done, (first.processors, first.walltime)) == (end, asked)
