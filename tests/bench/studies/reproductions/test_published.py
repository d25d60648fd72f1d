"""``reproduce published/...``: published values beside ours, traces that are not there, one rule at a time."""

import pytest

from hpcdispatch.bench.studies.published import one_rule, sc15
from hpcdispatch.bench.studies.published.values import Value
from hpcdispatch.bench.studies.reproductions import StudySettings, entries
from hpcdispatch.bench.studies.reproductions.published import RUNS, tables_and_rules
from hpcdispatch.workloads import generate, write


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "t.swf"
    write(generate("lublin:jobs=60,processors=32,load=0.9", seed=1), path)
    return path


def test_every_listed_one_is_built():
    assert set(RUNS) == {entry.name for entry in entries() if entry.name.startswith("published/")}


@pytest.mark.parametrize(("ours", "met"), [(100.09, True), (99.91, True), (100.2, False)])
def test_a_value_is_met_within_a_thousandth(ours, met):
    value = Value("t", "s", 1, 100.0, ours)
    assert value.met is met
    [claim] = tables_and_rules.claim_of("all", [value, Value("t", "other", 1, 1.0, 1.0)])
    assert claim.holds is met
    assert f"{ours / 100 - 1:+.2%}, t, s" in claim.evidence


def test_traces_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tables_and_rules, "at_hand", lambda traces: iter([(next(iter(traces)), None)]))
    monkeypatch.setattr(tables_and_rules, "file_at_hand", lambda file: None)
    for run in RUNS.values():
        outcome = run(StudySettings("full", tmp_path))
        assert outcome.rows == ()
        assert any("is not at hand and left out" in note for note in outcome.notes)
    notes = RUNS["published/sc15"](StudySettings("full", tmp_path)).notes
    assert any("put CEA-Curie-2011-2.1-cln.swf.gz into the folder" in note for note in notes)


def test_each_rule_is_changed_alone(trace):
    found = list(one_rule.of_sc15("t", trace, (("easy", "walltime"),)))
    assert [change.rule for change in found] == list(one_rule.OF_SC15)
    rules = {change.rule: change.value for change in found}
    assert rules[""] == rules["jobs of 0 s count as 1 s"]
    waits = {change.rule: change.value for change in one_rule.of_hpcopt("t", trace)}
    assert len(set(waits.values())) > 1


def test_unknown_files_of_the_study_have_values():
    assert set(sc15.FILES) < set(sc15.TABLE)
    assert all(value > 1 for rows in sc15.TABLE.values() for value in rows.values())
