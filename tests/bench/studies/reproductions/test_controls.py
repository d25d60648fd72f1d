"""Controls: what replaces a system under test, and which claims notice."""

from dataclasses import replace

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.reproductions import (
    StoredOutcome,
    StudySettings,
    Trials,
    claims_table,
    entries,
    find,
    try_controls,
)
from hpcdispatch.bench.studies.reproductions import outcome_files as kept
from hpcdispatch.bench.studies.reproductions.claims import by_construction, elsewhere, given
from hpcdispatch.bench.studies.reproductions.controls import CONTROLS, SYSTEM
from hpcdispatch.bench.studies.reproductions.documentation import needed_systems
from hpcdispatch.bench.studies.reproductions.outcome import Claim, Control, PaperResult, Precondition, StudyOutcome
from hpcdispatch.bench.studies.reproductions.outcome_tables import mark, tally, verdicts
from hpcdispatch.dispatchers.registered import create_dispatcher

ROUNDS = "over=rounds:batch=100/move=never"
SPECS = {
    "every model is its list": {
        "hcp3": "hcp3:solver=none,iterations=0",
        "warm-start:jobs=9,over=hcp1:ewt=3600/m=9": "warm-start:jobs=9,over=hcp1:solver=none/iterations=0/ewt=3600/m=9",
        "hcp:ewt=3600,rest=out": "hcp:budget=0,ewt=3600,rest=out",
        "pcp": "pcp:budget=0",
        "pcp-fast": "pcp-fast:solver=none,iterations=0",
        "hcp3:iterations=0": "hcp3:solver=none,iterations=0",
        "easy": "easy",
        "pbs": "pbs",
    },
    "every prediction is the walltime": {"heuristic:correction=none": "walltime", "walltime": "walltime"},
    "every sequence is [90% quantile, maximum]": {
        f"atoptimal:{ROUNDS},backfill=speculative,rate=0.21": (
            f"classic-hpc:{ROUNDS},backfill=speculative,first=quantile"
        ),
        "toptimal:over=easy": "classic-hpc:over=easy,first=quantile",
        "neuroscience:over=easy,history=10": "neuroscience:over=easy,history=10",
    },
    "every sequence is [mean, maximum]": {"toptimal:over=easy": "classic-hpc:over=easy,first=mean"},
    "every sequence is that of Neuroscience": {"atoptimal:over=easy,rate=0.5": "neuroscience:over=easy"},
    "ATOptimal is TOptimal": {
        f"atoptimal:{ROUNDS},rate=0.5": f"toptimal:{ROUNDS}",
        "toptimal:over=easy": "toptimal:over=easy",
    },
    "Neuroscience requests [90% quantile, maximum]": {
        "neuroscience:over=easy,history=10": "classic-hpc:over=easy,first=quantile",
        "toptimal:over=easy": "toptimal:over=easy",
    },
    "nothing is tried in gaps": {
        "atoptimal:over=easy,backfill=speculative,rate=0.1": "atoptimal:over=easy,rate=0.1",
    },
    "SEJF and LEJF are FCFS": {"sejf": "fcfs", "lejf": "fcfs", "rbs:move=always": "rbs:move=always"},
    "RBS is EASY": {"rbs": "easy", "rbs:move=always": "easy", "sejf": "sejf"},
    "the hybrid is EASY": {"hybrid:first=longest": "easy", "rbs": "rbs"},
    "the jobs that give way are random": {
        "evict:policy=dp": "evict:policy=random",
        "evict:policy=greedy": "evict:policy=greedy",
        "evict:ends=true": "evict:policy=random",
        "evict:policy=static,reserve=9": "evict:policy=static,reserve=9",
    },
    "the bound is ignored": {"evict:most=3": "evict:most=none"},
    "SA asks for what the user asks": {
        "sa:over=easy": "sa:by=user,over=easy",
        "sa:again=3,over=easy": "sa:by=user,over=easy",
    },
}
BY_NAME = {control.name: control for several in CONTROLS.values() for control in several if control.instead}


@pytest.mark.parametrize(("name", "spec"), [(name, spec) for name, specs in SPECS.items() for spec in specs])
def test_a_control_replaces_the_system_and_nothing_else(name, spec):
    found = BY_NAME[name](spec)
    assert found == SPECS[name][spec]
    if name != "every prediction is the walltime":
        create_dispatcher(found)


def test_every_control_is_of_a_study_and_breaks_something():
    names = {entry.name for entry in entries()}
    assert set(CONTROLS) <= names
    for several in CONTROLS.values():
        assert len({control.name for control in several}) == len(several)
        assert all(bool(control.instead) is not bool(control.part) for control in several)


def test_each_study_with_controls_has_one_that_removes_its_point():
    for several in CONTROLS.values():
        assert any(control.point for control in several)


TRIALS = Trials(
    "p/fig1",
    "smoke",
    "5",
    {
        SYSTEM: dict.fromkeys("abcdef", True),
        "lists": {"a": False, "b": True, "c": False, "d": None, "e": None, "f": False},
        "quantile": {"a": False, "b": False, "c": None, "d": None, "e": True, "f": False},
        "broken": dict.fromkeys("abcdef", True),
    },
    {"lists": "[a-e]", "quantile": "[a-f]", "broken": ""},
)


@pytest.mark.parametrize(
    ("text", "needs"), [("a", True), ("b", False), ("c", None), ("d", None), ("e", False), ("f", True), ("g", None)]
)
def test_a_claim_needs_its_system_if_it_fails_without_its_point(text, needs):
    """It fails under each control that removes its point. It holds under one: it does not need the system."""
    assert TRIALS.needs(text) is needs


def test_claims_that_hold_are_split_by_their_mark():
    claims = [Claim(text, True, "1; the paper: so") for text in "abc"] + [Claim("d", False, "1"), Claim("e", None, "1")]
    assert tally(claims, TRIALS) == (
        "3 hold (1 need the system, 1 hold without it, 1 not decided without it), 1 do not, 1 not decided"
    )
    assert [mark(claim, TRIALS) for claim in claims] == [
        "needs the system",
        "holds without it",
        "not decided without it",
        "",
        "",
    ]
    shown = verdicts(claims, TRIALS).rows
    assert shown[0][4] == "holds: broken; does not hold: lists, quantile"
    assert mark(Claim("a", True, "1"), None) == "not decided without it"


def test_a_failed_precondition_of_a_control_does_not_count(tmp_path):
    """Under the control the system asks for nothing, so that its precondition fails. The inequality still holds."""

    def run(means):
        works = Precondition("the system asks", means.control is None, "1", of_system=True)
        return StudyOutcome((), (), given([Claim("it is better", True, "1")], [works]), runs="3")

    entry = PaperResult("p/fig1", "T", "P", run, (Control("it is broken", part="it", point="."),))
    trials = try_controls(entry, StudySettings("smoke", tmp_path), run(StudySettings("smoke", tmp_path)))
    assert trials.verdicts["it is broken"] == {"it is better": True}
    assert trials.needs("it is better") is False


def test_each_control_runs_the_study_anew(tmp_path):
    def run(means):
        better = means.control is None or means.broken("nothing that is asked for")
        return StudyOutcome((), (), (Claim("it is better", better, "1"), Claim("it runs", True, "1")), runs="3")

    entry = PaperResult("p/fig1", "T", "P", run, (Control("it is broken", part="it", point="."),))
    trials = try_controls(entry, StudySettings("smoke", tmp_path), run(StudySettings("smoke", tmp_path)))
    assert trials.verdicts == {
        SYSTEM: {"it is better": True, "it runs": True},
        "it is broken": {"it is better": False, "it runs": True},
    }
    assert (trials.needs("it is better"), trials.needs("it runs")) == (True, False)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["icpp2019/table1", "ijhpca2019/fig3"])
def test_a_broken_system_fails(tmp_path, name):
    means = StudySettings("smoke", tmp_path)
    outcome = find(name).run(means)
    trials = try_controls(find(name), means, outcome)
    assert trials.held()
    assert all(trials.needs(text) for text in trials.held())


def test_controls_are_kept_beside_the_outcome_and_come_back(tmp_path):
    outcome = StudyOutcome((), (), (Claim("a", True, "1"),), runs="5")
    whole = StoredOutcome.of(PaperResult("p/fig1", "T", "P"), "smoke", outcome, TRIALS)
    kept.put(tmp_path, whole)
    assert kept.find(tmp_path, "p/fig1") == whole
    path = tmp_path / "all.json"
    path.write_text(kept.dump([whole]), encoding="utf-8")
    assert kept.load(path) == (whole,)
    (tmp_path / "p" / "fig1.controls.json").unlink()
    assert kept.find(tmp_path, "p/fig1") == replace(whole, trials=None)


@pytest.mark.parametrize("text", ["", "[]", '{"scale": "huge", "verdicts": {}}', '{"scale": "smoke", "verdicts": 1}'])
def test_damaged_controls_are_refused(tmp_path, text):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "fig1.controls.json").write_text(text)
    with pytest.raises(InputError, match=r"fig1\.controls\.json: expected what became of claims under controls, got"):
        kept.find_trials(tmp_path, "p/fig1")


def claims_of(name, *claims):
    entry = next(entry for entry in entries() if entry.name == name)
    trials = Trials(name, "smoke", "5", {SYSTEM: {}, "lists": {"a": False, "b": True}}, {"lists": "[ab]"})
    return StoredOutcome.of(entry, "smoke", StudyOutcome((), (), claims, runs="5"), trials)


def test_claims_that_need_their_system_are_listed_by_paper():
    found = [
        claims_of(
            "cp2019/fig3",
            Claim("a", True, "-9%; the paper: -9%"),
            Claim("b", True, "-3%; the paper: -9%"),
            by_construction(Claim("c", False, "+1%; the paper: -9%")),
            Claim("d", False, "not counted; the paper: -9%", unmet="two queues"),
        ),
        claims_of("icpp2019/fig8", *elsewhere([Claim("a", True, "-9%; the paper: -9%")], "all at 0")),
        claims_of("dsrt2020/policies", Claim("a", True, "-9%; the paper: -9%")),
    ]
    text = needed_systems(found)
    assert "| cp2019 | 2 | 1 | 1 | 0 | 1 | 0 |" in text
    assert "| all | 2 | 1 | 1 | 0 | 1 | 0 |" in text
    assert "| cp2019 | fig3 | a | -9%; the paper: -9% | lists |" in text
    assert text.count("the paper") == 1


def test_both_pages_show_the_claims_of_the_stored_results():
    for page in claims_table.PAGES:
        text = page.read_text(encoding="utf-8")
        assert claims_table.with_table(text, page.name) == text, f"run {claims_table.__name__} --write"
    with pytest.raises(InputError, match=r"page.md: expected a line '<!-- claims"):
        claims_table.with_table("no lines", "page.md")
