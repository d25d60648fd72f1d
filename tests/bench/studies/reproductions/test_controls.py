"""Controls: what replaces a system under test, and which claims notice."""

from dataclasses import replace

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.reproductions import Kept, Means, Trials, entries, find, try_controls, unnoticed
from hpcdispatch.bench.studies.reproductions import outcome_files as kept
from hpcdispatch.bench.studies.reproductions.controls import CONTROLS, SYSTEM
from hpcdispatch.bench.studies.reproductions.outcome import Claim, Control, Entry, Outcome
from hpcdispatch.bench.studies.reproductions.outcome_tables import noticing, tally, verdict, verdicts
from hpcdispatch.dispatchers.registered import create_dispatcher

SPECS = {
    "every model is FCFS with walltimes": {"pcp-fast": "fcfs", "hcp1:ewt=a:b;c,m=9": "fcfs", "pbs": "pbs"},
    "every model of versions 1 to 3 is its list": {
        "hcp3": "hcp3:solver=none,iterations=0",
        "warm-start:jobs=9,over=hcp1:ewt=3600/m=9": "warm-start:jobs=9,over=hcp1:solver=none/iterations=0/ewt=3600/m=9",
        "hcp:ewt=3600,rest=out": "hcp:ewt=3600,rest=out",
        "hcp3:iterations=0": "hcp3:solver=none,iterations=0",
        "easy": "easy",
    },
    "every prediction is the walltime": {"heuristic:correction=none": "walltime", "walltime": "walltime"},
    "every request is the maximum": {
        "atoptimal:over=rounds:batch=100/move=never,backfill=speculative,rate=0.21": (
            "classic-hpc:over=rounds:batch=100/move=never,backfill=speculative"
        ),
        "neuroscience:over=easy,history=10": "classic-hpc:over=easy",
    },
    "nothing is tried in gaps": {
        "atoptimal:over=easy,backfill=speculative,rate=0.1": "atoptimal:over=easy,rate=0.1",
    },
    "SEJF and LEJF are FCFS": {"sejf": "fcfs", "lejf": "fcfs", "rbs:move=always": "rbs:move=always"},
    "SEJF and LEJF are RBS": {"sejf": "rbs", "lejf": "rbs", "fcfs": "fcfs"},
    "the hybrid is RBS": {"hybrid:first=longest": "rbs", "easy": "easy"},
    "the plan is killing alone": {
        "evict:policy=dp": "evict:policy=kill",
        "evict:policy=greedy": "evict:policy=greedy",
        "evict:ends=true": "evict:policy=kill",
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


TRIALS = Trials(
    "p/fig1",
    "smoke",
    "5",
    {
        SYSTEM: {"a": True, "b": True, "c": False, "d": None, "f": None, "g": None},
        "plain": {"a": False, "b": True, "c": False, "d": True, "f": False, "g": None},
        "other": {"a": True, "b": True, "c": None, "d": True, "f": None, "g": None},
    },
)


@pytest.mark.parametrize(
    ("text", "informative"),
    [
        ("a", True),
        ("b", False),
        ("c", None),
        ("d", False),
        ("e", None),
        ("f", True),
        ("g", None),
    ],
)
def test_a_claim_that_every_control_meets_is_not_informative(text, informative):
    assert TRIALS.informative(text) is informative


def test_what_is_not_informative_is_not_counted():
    claims = [Claim(text, True, "1; the paper: so") for text in "abe"]
    assert tally(claims, TRIALS) == "2 hold (not counted: 1 not informative)"
    assert [verdict(claim, TRIALS) for claim in claims] == ["holds", "not informative", "holds"]
    assert verdict(Claim("b", False, "1"), TRIALS) == "does not hold"  # what fails says something
    undecided = Claim("g", True, "1; the paper: so")
    assert verdicts([undecided], TRIALS).rows[0][3] == "none decides"
    assert noticing([(claim, TRIALS) for claim in [*claims, undecided]]) == "1 of 3"
    assert verdicts(claims, TRIALS).rows[0][3] == "not so where plain; also where other"


def test_the_share_is_of_what_the_page_counts():
    claims = [Claim(text, True, "1") for text in "ab"] + [Claim("c", False, "1"), Claim("d", None, "1")]
    assert unnoticed(TRIALS, claims, None) == (2, ["b"])
    assert unnoticed(TRIALS, claims, TRIALS) == (1, [])


def test_each_control_runs_the_study_anew(tmp_path):
    def run(means):
        better = means.control is None or means.broken("nothing that is asked for")
        return Outcome((), (), (Claim("it is better", better, "1"), Claim("it runs", True, "1")), runs="3")

    entry = Entry("p/fig1", "T", "P", run, (Control("it is broken", part="it"),))
    trials = try_controls(entry, Means("smoke", tmp_path), run(Means("smoke", tmp_path)))
    assert trials.verdicts == {
        SYSTEM: {"it is better": True, "it runs": True},
        "it is broken": {"it is better": False, "it runs": True},
    }
    assert (trials.informative("it is better"), trials.informative("it runs")) == (True, False)


@pytest.mark.parametrize("name", ["icpp2019/table1", "ijhpca2019/fig3"])
def test_a_broken_system_fails(tmp_path, name):
    means = Means("smoke", tmp_path)
    outcome = find(name).run(means)
    trials = try_controls(find(name), means, outcome)
    assert trials.held()
    assert unnoticed(trials, outcome.claims, None)[1] == []


def test_controls_are_kept_beside_the_outcome_and_come_back(tmp_path):
    outcome = Outcome((), (), (Claim("a", True, "1"),), runs="5")
    whole = Kept.of(Entry("p/fig1", "T", "P"), "smoke", outcome, TRIALS)
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
