"""Benchmark of levels: what it compares, and what it prints."""

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.engine.level_speed import cases, in_groups, main, on_racks


@pytest.mark.nightly
def test_starts_with_levels_are_those_without():
    first, compact, _ = cases(300, 2)
    for case in (first, compact):
        assert (case.form().jobs["start"] == case.plain().jobs["start"]).all()


def test_each_job_asks_for_the_smallest_group():
    for job in in_groups(on_racks(200)).jobs:
        assert job.within == ("rack" if job.nodes <= 32 else "row" if job.nodes <= 256 else "")


@pytest.mark.nightly
def test_the_table_is_printed():
    found = CliRunner().invoke(main, ["--small", "--rounds", "1", "--markdown"])
    assert found.exit_code == 0, found.output
    assert "`placement=compact`" in found.output
