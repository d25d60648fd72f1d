"""The tables and figures of JSSPP 2000 at the smallest scale, on the first jobs of a log."""

import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings, entries, find
from hpcdispatch.bench.studies.reproductions.jsspp2000 import RUNS

pytestmark = pytest.mark.traces
FIGURES = tuple(name for name in RUNS if name not in ("jsspp2000/table1", "jsspp2000/bushel"))


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    return StudySettings("smoke", tmp_path_factory.mktemp("made"))


def test_all_that_is_listed_is_built():
    assert set(RUNS) == {entry.name for entry in entries() if entry.name.startswith("jsspp2000/")}


@pytest.mark.parametrize("name", FIGURES)
def test_one_month_decides_nothing_but_what_follows_from_the_definitions(means, name):
    outcome = find(name).run(means)
    assert outcome.claims
    assert outcome.drawing is not None
    decided = [claim for claim in outcome.claims if claim.counts and claim.holds is not None]
    assert all("none starts later than promised" in claim.text for claim in decided)
    assert all(claim.holds for claim in decided)


def test_what_is_kept_is_not_simulated_again(means, monkeypatch):
    before = find("jsspp2000/table2").run(means)
    monkeypatch.setattr("hpcdispatch.bench.studies.reproductions.jsspp2000.measured_cases.measure", None)
    assert find("jsspp2000/table2").run(means) == before


def test_a_damaged_table_of_cases_is_found_and_made_again(means):
    before = find("jsspp2000/table2").run(means)
    tables = [*means.store.glob("cells/*/*/cases.parquet")]
    for table in tables:
        table.write_bytes(table.read_bytes()[:-9])
    assert tables
    assert find("jsspp2000/table2").run(means) == before


def test_table_2_has_the_published_numbers_beside_ours(means):
    rows = {(row.subject, row.metric): row for row in find("jsspp2000/table2").run(means).rows}
    published = [
        rows[f"literal: {name}", "relative performance"].published for name in ("SA-3", "SA-5", "SA-7", "best")
    ]
    assert published == [2.10, 2.40, 2.78, 2.98]
    condition = next(c for c in find("jsspp2000/table2").run(means).preconditions if "dispatcher" in c.text)
    assert condition.met
