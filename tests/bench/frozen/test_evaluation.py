"""The scores of an entry of the benchmark: against a computation of its own, under faults, and of broken entries."""

import json
import math

import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.bench.frozen.evaluation import LeaderboardEntry
from hpcdispatch.bench.frozen.leaderboard import ranked
from hpcdispatch.bench.frozen.scorecards import scores_hash
from hpcdispatch.bench.frozen.suites import SUITES, check_jobs, digest_of, learning_jobs, suite_of
from hpcdispatch.simulation.metrics import cut_summary
from hpcdispatch.simulation.trimming import Cut


def test_a_score_is_the_ratio_to_easy_on_the_test_jobs(small, card_of):
    card = card_of()
    ratios = []
    for task, found in zip(small.tasks, card["tasks"], strict=True):
        means = {"easy": [], "easy-sjbf": []}
        for seed in task.samples("test"):
            for dispatcher, values in means.items():
                result = hd.simulate(task.workload("test", seed), dispatcher, overrun="kill", seed=seed)
                values.append(cut_summary(result, Cut.parse("10%"), Cut.parse("5%"))["wait_mean"])
        ratios.append(sum(means["easy-sjbf"]) / sum(means["easy"]))
        assert found["metrics"]["wait_mean"]["ratio"] == pytest.approx(ratios[-1], rel=1e-5)
    assert card["scores"]["wait_mean"] == pytest.approx(math.sqrt(ratios[0] * ratios[1]), rel=1e-5)
    assert (card["track"], card["scores_hash"]) == ("walltimes", scores_hash(card))
    assert json.loads(json.dumps(card)) == card


def test_fcfs_under_another_name_has_the_rank_of_fcfs(card_of):
    hd.register("dispatcher", "broken-by-test", hd.dispatchers.FCFS)
    cards = [card_of(name) for name in ("easy", "fcfs", "broken-by-test")]
    ranks = {card["name"]: rank for rank, card in ranked(cards)}
    assert ranks == {"easy": 1, "fcfs": 2, "broken-by-test": 2}
    assert cards[0]["scores"]["wait_mean"] == 1


@pytest.mark.parametrize(
    ("predictor", "track"),
    [("last2", "last2"), ("last2:correction=none", "own"), ("scaled:factor=2", "own"), ("oracle", "oracle")],
)
def test_the_track_is_what_the_predictor_knows(predictor, track):
    assert LeaderboardEntry("x", "easy", predictor).track == track


class Rejecting:
    """Rejects long jobs, which shortens the waits of the others."""

    def dispatch(self, state):
        long = [waiting for waiting in state.queue if waiting.walltime > 3600]
        rest = [waiting for waiting in state.queue if waiting.walltime <= 3600]
        free, starts = int(state.free.sum()), []
        for waiting in rest:
            cores = waiting.nodes * waiting.demand[0]
            if cores <= free:
                free -= cores
                starts.append(hd.dispatchers.Start(waiting, [0] * waiting.nodes))
        return [hd.dispatchers.Reject(waiting, "too long") for waiting in long] + starts


class Failing:
    """Fails on the task of the trace, whose jobs have other numbers."""

    def dispatch(self, state):
        if int(state.queue[0].id) > 700:
            raise ArithmeticError("no luck")
        return hd.dispatchers.FCFS().dispatch(state)


def test_an_entry_that_rejects_jobs_has_no_score(card_of):
    hd.register("dispatcher", "rejecting-by-test", Rejecting)
    card = card_of("rejecting-by-test")
    assert card["scores"] == dict.fromkeys(card["scores"])
    assert "jobs that easy completes are rejected or killed" in card["tasks"][0]["error"]


def test_an_entry_that_fails_on_one_task_keeps_the_others(card_of):
    hd.register("dispatcher", "failing-by-test", Failing)
    card = card_of("failing-by-test")
    assert "metrics" in card["tasks"][0]
    assert "seed 0: SimulationError: " in card["tasks"][1]["error"]
    assert "no luck" in card["tasks"][1]["error"]
    assert ranked([card, card_of("easy")])[-1] == (None, card)


def test_jobs_of_another_hash_are_refused(small, monkeypatch):
    check_jobs(small)
    monkeypatch.setattr("hpcdispatch.bench.frozen.suites.generate", lambda spec, seed: hd.generate(spec, seed=seed + 1))
    with pytest.raises(InputError, match=r"suite small 1, task pool: expected test jobs of hash \w+, got \w+; lublin"):
        check_jobs(small)


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_the_jobs_of_quick_are_those_that_were_frozen(part):
    check_jobs(SUITES["quick"], part)


def test_parts_for_learning_share_no_job(small):
    parts = [list(learning_jobs("small", "sample", part)) for part in ("train", "validation", "test")]
    assert [len(each) for each in parts] == [1, 1, 1]
    times = [[job.submit for job in each[0].jobs] for each in parts]
    assert [times[0][-1] <= times[1][0], times[1][-1] <= times[2][0]] == [True, True]
    assert sum(map(len, times)) == 900
    seeds = [set(small.tasks[0].samples(part)) for part in ("train", "validation", "test")]
    assert not set.intersection(*seeds[:2]) | set.intersection(*seeds[1:])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("quik", "full", "train"), r"suite: expected one of quick, standard.*, got 'quik' \(did you mean quick\?\)"),
        (("quick", "ful", "train"), "task: expected one of full, wide, sample, got 'ful'"),
        (("quick", "full", "learn"), "part: expected one of train, validation, test, got 'learn'"),
    ],
)
def test_unknown_names(names, message):
    with pytest.raises(InputError, match=message):
        learning_jobs(*names)


def test_a_suite_changes_its_hash_with_every_rule(small, monkeypatch):
    before = small.digest
    monkeypatch.setattr("hpcdispatch.bench.frozen.suites.OVERRUN", "run")
    assert small.digest != before
    assert suite_of("small").digest == small.digest
    assert digest_of(small.tasks[0], "test") == small.tasks[0].digests[2]
