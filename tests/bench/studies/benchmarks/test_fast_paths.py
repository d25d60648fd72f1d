"""The tables of second implementations and of compile times run, and see what differs."""

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks import fast_paths, first_use


@pytest.mark.nightly
def test_second_implementations_give_the_same_starts():
    done = CliRunner().invoke(fast_paths.main, ["--small", "--repeat", "1", "--markdown"])
    assert done.exit_code == 0, done.output
    assert done.output.count("| event loop") == 4
    assert done.output.count("| queue index") == 6


def test_starts_that_differ_are_an_error(monkeypatch):
    monkeypatch.setattr(fast_paths, "cases", lambda scale: [("one", "case", lambda: [1], lambda: [2])])
    done = CliRunner().invoke(fast_paths.main, ["--repeat", "1"])
    assert done.exit_code != 0
    assert "one, case: the starts differ" in done.output


@pytest.mark.nightly
def test_the_table_of_compile_times_has_its_columns():
    done = CliRunner().invoke(first_use.main, ["--small", "--dispatcher", "fcfs", "--markdown"])
    assert done.exit_code == 0, done.output
    assert "| `fcfs` | 20 |" in done.output
