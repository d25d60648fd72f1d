"""A reading says once what is hardly right, with the likely unit."""

import re

import pytest

from hpcdispatch.workloads import Job, Machine, read
from hpcdispatch.workloads.job_columns import JobColumns
from hpcdispatch.workloads.sanity import doubts

DAY = 86400
EPOCH = 1704067200


def said(jobs, processors=8, **options):
    columns = JobColumns.of([Job(str(n), *job) for n, job in enumerate(jobs)])
    return " ".join(doubts(columns, Machine.pool(processors), **options))


def usual(count=20, run=3600, limit=7200, size=4, every=1800):
    return [(n * every, run + n, limit, size) for n in range(count)]


CASES = [
    (usual(), ""),
    (usual(9, run=10**9), ""),
    ([*usual(), (40_000, 1_500_000_000, 7200, 4)], "a job runs 17361d.* is its start or its end no time"),
    (usual(run=3_600_000, every=1800), "times what the machine has"),
    (usual(run=60, every=10**6), "of the machine .* run times in minutes or hours"),
    (usual(run=3600, every=60, size=8), "times what the machine has"),
    (usual(limit=30), "median walltime is 30s; are walltimes in minutes or hours"),
    (usual(limit=2 * 365 * DAY), "median walltime is .* are walltimes in milliseconds"),
    (usual(limit=120), "run longer than their walltimes, .* multiples of 60; are these in minutes"),
    (usual(limit=60, run=30_000, every=20_000), "are these in hours"),
    (usual(limit=3600 * 60, run=600, every=600), "no job uses more than a sixtieth .* were read as minutes"),
    (usual(limit=3600 * 60 + 1, run=600, every=600), ""),
    (usual(run=6 * DAY, limit=7 * DAY, every=5 * DAY), ""),
]


@pytest.mark.parametrize(("jobs", "expected"), CASES)
def test_a_doubt(jobs, expected):
    found = said(jobs)
    assert re.search(expected, found) if expected else not found
    assert found.count("doubtful: ") <= 2


def test_walltimes_that_were_filled_in_are_not_doubted():
    assert not said(usual(limit=30), walltimes=False)


def test_a_reading_says_it_once(tmp_path):
    rows = "".join(f"{n},{EPOCH + n * 600},{EPOCH + n * 600},{EPOCH + n * 600 + 900},4,60\n" for n in range(20))
    (tmp_path / "t.csv").write_text("id,in,from,to,n,limit\n" + rows)
    text = '[columns]\nid = "id"\nsubmit = "in"\nstart = "from"\nend = "to"\ncores = "n"\nwalltime = "limit"\n'
    (tmp_path / "m.toml").write_text(text)
    notes = read(tmp_path / "t.csv", format=str(tmp_path / "m.toml")).provenance.notes
    assert sum(note.startswith("doubtful: ") for note in notes) == 1
    assert any("are these in minutes?" in note for note in notes)
    (tmp_path / "m.toml").write_text(text.replace('"limit"', '{ column = "limit", unit = "min" }'))
    notes = read(tmp_path / "t.csv", format=str(tmp_path / "m.toml")).provenance.notes
    assert not any(note.startswith("doubtful: ") for note in notes)
