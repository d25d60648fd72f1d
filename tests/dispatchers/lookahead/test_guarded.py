"""Under a guard no job waits longer than under EASY, as far as predictable."""

import numpy as np
import pytest
from combinations import each_value, some
from internal_options import simulate
from jobs_at_once import at_once

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Guarded, Start, Stop
from hpcdispatch.simulation import ActionError, check
from hpcdispatch.workloads import Job, Machine, Workload, generate


def longest(result):
    return result.jobs["wait"].max()


@pytest.mark.parametrize(("over", "seed"), each_value(["lxf", "sjf", "ljf", "hcp3", "lookahead"], range(4)))
def test_where_nothing_is_unforeseen_the_longest_wait_is_at_most_that_of_easy(over, seed):
    workload = at_once(seed, 60)
    guarded = simulate(workload, f"guarded:over={over},least=1")
    assert longest(guarded) <= longest(simulate(workload, "easy"))


@pytest.mark.parametrize("over", ["lxf", "ljf"])
def test_without_it_some_of_these_jobs_wait_longer(over):
    assert any(
        longest(simulate(at_once(seed, 60), over)) > longest(simulate(at_once(seed, 60), "easy")) for seed in range(4)
    )


@pytest.mark.parametrize("seed", some(range(4), 2))
def test_where_jobs_come_all_the_time_it_is_near_that_of_easy(seed):
    workload = generate("lublin:jobs=300,processors=32,load=1.2", seed=seed)
    easy, free, guarded = (longest(simulate(workload, name)) for name in ("easy", "ljf", "guarded:over=ljf,least=1"))
    assert guarded < 1.2 * easy < free


def test_the_bound_is_a_multiple_of_easys_longest_wait():
    workload = at_once(0, 60)
    bound = longest(simulate(workload, "easy"))
    looser = simulate(workload, "guarded:over=ljf,least=1,guard=1.3")
    assert bound < longest(looser) <= 1.3 * bound < longest(simulate(workload, "ljf"))


def test_a_long_wait_under_easy_counts_of_late_only():
    workload = generate("lublin:jobs=400,processors=32,load=1.0", seed=2)
    ever, late = (simulate(workload, f"guarded:over=ljf,least=1,recent={recent}") for recent in ("inf", "1m"))
    assert late.decisions["held"].sum() > ever.decisions["held"].sum()
    assert late.jobs["wait"].mean() != ever.jobs["wait"].mean()


def test_easy_is_not_held():
    workload = generate("lublin:jobs=400,processors=32,load=1.0", seed=2)
    guarded = simulate(workload, "guarded:over=easy")
    assert guarded.jobs["start"].equals(simulate(workload, "easy").jobs["start"])
    assert not guarded.decisions["held"].any()


@pytest.mark.parametrize("off", ["guard=inf", "least=10000h"])
def test_without_a_bound_everything_passes(off):
    workload = generate("lublin:jobs=200,processors=32,load=1.0", seed=3)
    guarded = simulate(workload, f"guarded:over=ljf,{off}")
    assert guarded.jobs["start"].equals(simulate(workload, "ljf").jobs["start"])


def test_in_a_crowd_no_job_is_held(monkeypatch):
    """Guards against EASY with far too long walltimes. It would take over for as long as thousands of jobs wait."""
    monkeypatch.setattr("hpcdispatch.dispatchers.lookahead.guard.MOST_WAITING", 20)
    workload = generate("lublin:jobs=300,processors=32,load=1.2", seed=3)
    decisions = simulate(workload, "guarded:over=ljf,least=1").decisions
    crowd = decisions["queued"] > 20
    assert not decisions["held"][crowd].any()
    assert decisions["held"][~crowd].any()
    monkeypatch.setattr("hpcdispatch.dispatchers.lookahead.guard.MOST_WAITING", 10**9)
    decisions = simulate(workload, "guarded:over=ljf,least=1").decisions
    assert decisions["held"][decisions["queued"] > 20].any()


def test_what_it_says_of_the_last_decision_is_what_the_one_underneath_says_and_whether_it_was_held():
    workload = generate("lublin:jobs=200,processors=32,load=1.0", seed=3)
    decisions = simulate(workload, "guarded:over=lookahead").decisions
    assert {"held", "guarantees", "due_hours"} <= set(decisions.columns)


def test_on_nodes_a_job_that_starts_has_room_there():
    draw = np.random.default_rng(4)
    drawn = zip(draw.integers(0, 80_000, 200), draw.integers(600, 20_000, 200), draw.integers(1, 9, 200), strict=True)
    jobs = [
        Job(str(place), *map(int, (at, runs, runs)), nodes=int(wide)) for place, (at, runs, wide) in enumerate(drawn)
    ]
    workload = Workload(tuple(sorted(jobs, key=lambda job: job.submit)), Machine.homogeneous(8, core=1))
    guarded = simulate(workload, "guarded:over=ljf,least=1")
    check(workload, guarded)
    assert guarded.decisions["held"].any()
    assert longest(guarded) < longest(simulate(workload, "ljf"))


@pytest.mark.parametrize(
    ("machine", "cores", "guarded"),
    [
        (Machine.homogeneous(8, core=4), (4, 4), True),
        (Machine.homogeneous(8, core=4, mem=2), (4, 4), True),
        (Machine.homogeneous(8, core=4), (3, 4), False),
        (Machine.homogeneous(8, core=4), (1, 3), False),
        (Machine(("core",), np.array([[4]] * 6 + [[8]] * 2)), (4, 4), False),
    ],
)
def test_where_sums_do_not_say_which_jobs_fit_all_of_it_passes(machine, cores, guarded):
    jobs = [
        Job(str(place), 600 * place, runs, runs, nodes=wide, per_node={"core": cores[place % 2]})
        for place, (runs, wide) in enumerate([(5000, 5), (9000, 6), (90_000, 3), (700, 2), (4000, 8), (60_000, 1)] * 4)
    ]
    workload = Workload(tuple(jobs), machine)
    found = simulate(workload, "guarded:over=ljf,least=1")
    free = simulate(workload, "ljf")
    check(workload, found)
    assert found.decisions["held"].any() == guarded
    assert found.jobs["start"].equals(free.jobs["start"]) == (not guarded)


class Stopping:
    """Stops the first running job and starts a job in its room."""

    def dispatch(self, state):
        first = state.running[0] if len(state.running) else None
        starts = [Start(state.queue[-1], (0,) * state.queue[-1].nodes)]
        if first is None or first.job.id != "1":
            return starts if not len(state.running) else []
        return [Stop(first), *starts]


def test_where_a_job_gives_way_all_of_it_passes():
    jobs = (Job("1", 0, 5000, 5000, nodes=4), Job("2", 10, 5000, 5000, nodes=4), Job("3", 20, 5000, 5000, nodes=4))
    found = simulate(Workload(jobs, Machine.pool(4)), Guarded(over=Stopping(), least=1))
    assert found.jobs.set_index("id")["start"]["2"] == 10
    assert found.decisions["held"].tolist()[:2] == [0, 0]


class Wrong:
    """Starts the first job, twice as often as there is room. Or starts an absent job, or in an invalid way."""

    def __init__(self, wrong):
        self.wrong = wrong

    def dispatch(self, state):
        first = state.queue[0]
        if len(state.queue) < 3:
            return [Start(first, (0,) * first.nodes)] if not len(state.running) else []
        if self.wrong == "room":
            return [Start(waiting, (0,) * waiting.nodes) for waiting in state.queue[:2]]
        ragged = [Start(first, ((0, 0), (0,)))]
        return {"nobody": [Start("nobody", (0,))], "number": [Start(5, (0,))], "none": None, "ragged": ragged}[
            self.wrong
        ]


@pytest.mark.parametrize("wrong", ["room", "nobody", "number", "none", "ragged"])
def test_what_cannot_be_done_is_said_as_ever(wrong):
    jobs = tuple(Job(str(number), 10 * number, 20_000, 20_000, nodes=3) for number in range(6))
    with pytest.raises(ActionError):
        simulate(Workload(jobs, Machine.pool(4)), Guarded(over=Wrong(wrong), least=1))


class Misplaced:
    """Starts job 1, then job 3 on given nodes."""

    def __init__(self, nodes):
        self.nodes, self.held = nodes, False

    def dispatch(self, state):
        waits = {waiting.id: waiting for waiting in state.queue}
        if "1" in waits:
            return [Start(waits["1"], (0, 1))]
        return [Start("3", self.nodes)] * (2 if self.nodes == (2, 3) else 1) if "3" in waits else []


@pytest.mark.parametrize("nodes", [(0, 0), (2, 2), (2, 999), ("a", "b"), (2.5, 3.5), (2,), (2, 3)])
def test_where_a_start_that_would_be_held_cannot_be_done_that_is_said(nodes):
    jobs = (
        Job("1", 0, 4000, 4000, nodes=2),
        Job("2", 1, 4000, 4000, nodes=4),
        Job("3", 2, 90_000, 90_000, nodes=2),
    )
    with pytest.raises(ActionError, match="t=2:"):
        simulate(Workload(jobs, Machine.homogeneous(4, core=1)), Guarded(over=Misplaced(nodes), least=1))


def test_a_bound_beyond_all_times_is_none():
    workload = generate("lublin:jobs=200,processors=32,load=1.0", seed=2)
    assert (
        simulate(workload, "guarded:over=ljf,guard=9e15").jobs["start"].equals(simulate(workload, "ljf").jobs["start"])
    )


def test_a_job_that_starts_in_place_of_another_gets_the_nodes_that_are_left():
    """The chosen job is held. It would run on after the first job, and the job of all nodes is next."""
    jobs = (
        Job("1", 0, 4000, 4000, nodes=2),
        Job("2", 1, 4000, 4000, nodes=4),
        Job("3", 2, 90_000, 90_000, nodes=2),
        Job("4", 3, 3000, 3000, nodes=2),
    )
    found = simulate(Workload(jobs, Machine.homogeneous(4, core=1)), "guarded:over=ljf,least=1").jobs
    assert found.set_index("id")["start"].to_dict() == {"1": 0, "4": 3, "2": 4000, "3": 8000}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"guard": 0}, "guard must be"),
        ({"least": "0s"}, "least must be"),
        ({"recent": "-1d"}, "recent: expected a time"),
        ({"over": "nobody"}, "nobody"),
    ],
)
def test_what_is_out_of_range_is_refused(given, said):
    with pytest.raises((ValueError, InputError), match=said):
        Guarded(**given)
