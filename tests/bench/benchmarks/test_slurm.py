"""Decisions of a real Slurm, made again on a short part of the record."""

import pytest
from click.testing import CliRunner

from hpcdispatch.base import InputError
from hpcdispatch.bench.benchmarks.slurm import decisions, main, recorded, scale


@pytest.fixture(scope="module")
def record():
    try:
        return recorded()
    except InputError:
        pytest.skip("needs the recorded replay of Slurm beside HPCDISPATCH_DATA")


def test_the_first_recorded_decisions_are_made_alike(record):
    rows = {row[0]: (row[1], row[2]) for row in decisions(record, 600).rows}
    assert all(alike == count for alike, count in rows.values())
    assert min(int(count) for _, count in rows.values()) >= 14


def test_a_part_of_a_year_is_timed_and_checked():
    (row,) = scale(40).rows
    assert row[0] == "40"


def test_without_a_record_the_command_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("HPCDISPATCH_DATA", str(tmp_path / "data"))
    done = CliRunner().invoke(main, ["--part", "decisions"])
    assert isinstance(done.exception, InputError)
    assert "no recorded replay of Slurm" in str(done.exception)
