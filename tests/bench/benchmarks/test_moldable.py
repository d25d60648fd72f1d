"""The benchmark of the availability list and of fits: the small setting and its tables."""

from click.testing import CliRunner

from hpcdispatch.bench.benchmarks.moldable import main, walked


def test_every_table_is_printed():
    done = CliRunner().invoke(main, ["--small", "--markdown"])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line.startswith("|") and "---" not in line]
    assert [line.split(" |")[0] for line in lines[:3]] == ["| reservations", "| 20", "| 60"]
    assert len(lines) == 3 + 1 + 6


def test_the_walk_finds_the_first_slot_that_is_long_enough():
    steps = [(0, 10, 4), (10, 12, 1), (12, 20, 4), (20, 30, 5), (30, None, 8)]
    assert [walked(steps, *asked) for asked in ((4, 10), (4, 11), (5, 10), (5, 11), (8, 1))] == [0, 12, 20, 20, 30]
