"""Eviction plans against every combination of choices and against CP-SAT. The two other approaches."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from combinations import some
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.eviction_proof import prove
from oracles.eviction_search import SearchCore, backtracking, search

from hpcdispatch.models.eviction import (
    Clock,
    GreedyCore,
    PlanCore,
    RunningJob,
    greedy,
    greedy_by_deadline,
    plan,
)
from hpcdispatch.models.eviction import loss_table as _eviction
from hpcdispatch.models.eviction.evictable import integers

LONG = 10**6  # no deadline is as long
TIED = (RunningJob("a", 5, 9, 3, 3), RunningJob("b", 6, 9, 1, 1))


@cache
def choices(jobs):
    """Return every combination of 0 (stays), 1 (kill), 2 (system), 3 (application), shape (4^jobs, jobs)."""
    return np.array(list(itertools.product(range(4), repeat=jobs)), dtype=np.int8).reshape(4**jobs, jobs)


@cache
def choices_with_ends(jobs):
    """Return the same with 4 (own end), shape (5^jobs, jobs)."""
    return np.array(list(itertools.product(range(5), repeat=jobs)), dtype=np.int8).reshape(5**jobs, jobs)


def enumerated(jobs, needed, deadlines):
    """Return the least loss and then the least time per deadline, over all combinations. Losses are integers."""
    own = any(job.ends is not None for job in jobs)
    chosen = (choices_with_ends if own else choices)(len(jobs))
    column = {name: np.array([getattr(job, name) for job in jobs], dtype=object) for name in RunningJob.__slots__}
    waits = [
        np.array([LONG if time is None else time for time in column[name]], dtype=np.int64)
        for name in ("system_checkpoint", "application_checkpoint", "ends")
    ]
    lost, again, risk = (column[name].astype(np.int64) for name in ("loss", "restart", "risk"))
    loss = (chosen == 1) @ lost + ((chosen > 0) & (chosen < 4)) @ again + (chosen == 4) @ risk
    time = (chosen == 2) @ waits[0] + (chosen == 3) @ waits[1]
    enough = (chosen > 0) @ column["nodes"].astype(np.int64) >= needed
    found = []
    for deadline in deadlines:
        good = enough & (time <= deadline) & ~((chosen == 4) & (waits[2] > deadline)).any(axis=1)
        if not good.any():
            found.append(None)
            continue
        least = loss[good].min()
        found.append((least, time[good & (loss == least)].min()))
    return found


def drawn(rng, count, horizon, losses=8):
    """Draw jobs with ties and losses of zero. Checkpoints take no time, too long, or are impossible."""

    def time():
        return None if rng.random() < 0.15 else int(rng.integers(0, horizon + 3))

    return [
        RunningJob(f"j{place}", int(rng.integers(1, 10)), int(rng.integers(0, losses)), time(), time())
        for place in range(count)
    ]


def assert_adds_up(eviction, jobs, needed):
    """Check that the actions cost what the decision says."""
    chosen = [(job, eviction.actions[job.id]) for job in jobs if job.id in eviction.actions]
    assert len(chosen) == len(eviction.actions)
    assert eviction.freed == sum(job.nodes for job, _ in chosen) >= needed
    assert eviction.loss == sum(
        job.risk if action == "end" else job.restart + (job.loss if action == "kill" else 0) for job, action in chosen
    )
    assert eviction.checkpoint_time <= eviction.deadline
    assert all(job.ends <= eviction.deadline for job, action in chosen if action == "end")
    assert eviction.checkpoint_time == sum(
        getattr(job, f"{action}_checkpoint") for job, action in chosen if action not in ("kill", "end")
    )


def costs(eviction):
    return eviction.loss, eviction.checkpoint_time


@pytest.mark.parametrize("part", some(range(4), 2))
def test_equal_to_every_combination_at_every_deadline(part):
    rng = np.random.default_rng(part)
    for case in range(250):
        jobs = drawn(rng, int(rng.integers(1, 8)), 8)
        horizon = 8
        total = sum(job.nodes for job in jobs)
        needed = int(rng.integers(0, total + 1))
        made = plan(jobs, needed, horizon)
        expected = enumerated(jobs, needed, made.deadlines)
        assert [costs(made[deadline]) for deadline in range(horizon + 1)] == expected, (part, case, jobs, needed)
        for eviction in made:
            assert_adds_up(eviction, jobs, needed)


def with_ends(rng, count, horizon):
    """Draw jobs that may lose work at a restart. They may end by themselves at some risk."""
    return [
        replace(
            job,
            restart=int(rng.integers(0, 4)),
            ends=None if rng.random() < 0.4 else int(rng.integers(0, horizon + 3)),
            risk=int(rng.integers(0, 6)),
        )
        for job in drawn(rng, count, horizon)
    ]


def test_restarts_and_ends_are_those_of_every_combination_at_every_deadline():
    rng = np.random.default_rng(20)
    used = Counter()
    for case in range(number_of_inputs(120, 40)):
        jobs = with_ends(rng, int(rng.integers(1, 6)), 7)
        needed = int(rng.integers(0, sum(job.nodes for job in jobs) + 1))
        made = plan(jobs, needed, 7)
        assert [costs(made[deadline]) for deadline in range(8)] == enumerated(jobs, needed, made.deadlines), case
        for eviction in made:
            assert_adds_up(eviction, jobs, needed)
            found = search(jobs, needed, eviction.deadline).eviction
            assert costs(found) == costs(eviction), case
            assert_adds_up(found, jobs, needed)
            assert costs(greedy(jobs, needed, eviction.deadline)) >= costs(eviction)
            used.update(eviction.actions.values())
        if case % 10 == 0:
            assert costs(prove(jobs, needed, 5)) == costs(made[5])
    assert min(used[action] for action in ("kill", "system", "application", "end")) > 50


def test_the_wide_table_knows_restarts_and_ends():
    rng = np.random.default_rng(21)
    scale = Fraction(10) ** 60
    for _ in range(20):
        jobs = with_ends(rng, 4, 6)
        wide = [
            replace(job, loss=job.loss * scale, restart=job.restart * scale, risk=job.risk * scale) for job in jobs
        ] + [RunningJob("unit", 1, Fraction(1, 3), 1)]
        jobs.append(RunningJob("unit", 1, 0, 1))
        needed = int(rng.integers(1, sum(job.nodes for job in jobs) + 1))
        for big, small in zip(plan(wide, needed, 6), plan(jobs, needed, 6), strict=True):
            assert big.loss / 1e60 == pytest.approx(small.loss)


def test_a_job_that_ends_in_time_is_left_to_do_so_unless_that_risks_more():
    jobs = [RunningJob("ends", 4, 10, 3, restart=1, ends=5, risk=Fraction(1, 2)), RunningJob("other", 4, 8, 9)]
    made = plan(jobs, 4, 9)
    assert [(made[deadline].loss, made[deadline].actions) for deadline in (0, 3, 5, 9)] == [
        (8, {"other": "kill"}),
        (1, {"ends": "system"}),
        (0.5, {"ends": "end"}),
        (0, {"other": "system"}),
    ]
    risky = plan([replace(jobs[0], risk=12)], 4, 9)
    assert [risky[deadline].actions["ends"] for deadline in (0, 2, 5)] == ["kill", "kill", "system"]


@pytest.mark.parametrize("name", ["restart", "ends", "risk"])
def test_a_cost_below_0_is_refused(name):
    with pytest.raises(ValueError, match=f"running job a: {name} must be a finite number >= 0.*, got -1"):
        RunningJob("a", 1, 1, **{name: -1})


def test_the_compiled_parts_decide_what_the_whole_calls_do():
    rng = np.random.default_rng(22)
    clock, deadlines = Clock(1), list(range(7))
    for _ in range(20):
        jobs = drawn(rng, 6, 6)
        needed = int(rng.integers(1, sum(job.nodes for job in jobs) + 1))
        made = plan(jobs, needed, 6)
        core = PlanCore.of(jobs, needed, 6, clock)
        does, cells = core.run()
        assert (does > 0).sum(axis=1).tolist() == [len(eviction.actions) for eviction in made]
        assert cells <= 6 * needed * 7
        choices_made, looked = GreedyCore.of(jobs, needed, deadlines, clock).run()
        found = greedy_by_deadline(jobs, needed, deadlines)
        assert [len(each.actions) for each in found] == (choices_made > 0).sum(axis=1).tolist()
        assert found == [greedy(jobs, needed, deadline) for deadline in deadlines]
        assert looked <= 2 * 6 * 7
        assert SearchCore.of(jobs, needed, 3, clock).run()[1] == search(jobs, needed, 3).visited


def test_the_whole_spectrum_is_that_of_the_plans_for_each_number_of_nodes():
    rng = np.random.default_rng(7)
    for _ in range(25):
        jobs = drawn(rng, int(rng.integers(1, 7)), 6)
        total = sum(job.nodes for job in jobs)
        made = plan(jobs, int(rng.integers(0, total + 1)), 6)
        for nodes in range(total + 1):
            again = made.for_nodes(nodes)
            assert again.nodes == nodes
            assert [costs(eviction) for eviction in again] == enumerated(jobs, nodes, range(7))
        assert not any(eviction.feasible for eviction in made.for_nodes(total + 1))


def test_of_the_same_loss_the_least_time_is_taken():
    eviction = plan(TIED, 5, 3)[3]
    assert costs(eviction) == (0, 1)
    assert eviction.actions == {"b": "application"}
    assert [costs(eviction) for eviction in plan(TIED, 7, 4)] == [(18, 0), (9, 1), (9, 1), (9, 1), (0, 4)]


def test_an_application_checkpoint_goes_before_a_system_one_of_the_same_time():
    jobs = [RunningJob("same", 1, 5, 2, 2), RunningJob("quicker", 1, 5, 1, 2), RunningJob("only", 1, 5, None, 2)]
    assert plan(jobs, 3, 9)[9].actions == {"same": "application", "quicker": "system", "only": "application"}


def test_no_job_gives_way_in_vain():
    jobs = [RunningJob(str(place), 2, 0, 0, 0) for place in range(6)]
    assert len(plan(jobs, 3, 2)[2].actions) == 2
    assert plan(jobs, 0, 2)[0].actions == {}


# Losses of any kind.


SPECIAL = [0.0, 5e-324, 0.1, 0.2, 0.3, 1.0, 1e16]


def decimal(job):
    return Fraction(str(job.loss))


def fractions_enumerated(jobs, needed, deadline):
    best = None
    for chosen in itertools.product((None, "kill", "system", "application"), repeat=len(jobs)):
        pairs = list(zip(jobs, chosen, strict=True))
        loss = sum((decimal(job) for job, action in pairs if action == "kill"), Fraction())
        times = [getattr(job, f"{action}_checkpoint") for job, action in pairs if action not in (None, "kill")]
        enough = sum(job.nodes for job, action in pairs if action) >= needed
        if enough and None not in times and sum(times) <= deadline:
            best = min(best or (loss, sum(times)), (loss, sum(times)))
    return best


@given(
    st.lists(
        st.tuples(
            st.integers(1, 5),
            st.one_of(
                st.floats(0, 1e300), st.sampled_from([0.0, 5e-324, 0.1, 0.2, 0.3, 1e16, 1.0]), st.fractions(0, 9)
            ),
            st.integers(0, 4),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 12),
    st.integers(0, 6),
)
@settings(max_examples=number_of_inputs(80))
def test_losses_are_compared_exactly(rows, needed, deadline):
    jobs = [RunningJob(str(place), nodes, loss, time) for place, (nodes, loss, time) in enumerate(rows)]
    eviction = plan(jobs, needed, deadline)[deadline]
    expected = fractions_enumerated(jobs, needed, deadline)
    if expected is None:
        assert not eviction.feasible
        return
    loss = sum((decimal(job) for job in jobs if eviction.actions.get(job.id) == "kill"), Fraction())
    assert (loss, eviction.checkpoint_time) == expected


def test_floats_are_the_decimals_they_are_printed_as():
    assert Fraction(0.3) + Fraction(0.6) < Fraction(0.9)
    jobs = [RunningJob("a", 1, 0.3), RunningJob("b", 1, 0.6), RunningJob("c", 5, 0.9), RunningJob("d", 3, 9, 1)]
    eviction = plan(jobs, 5, 1)[1]
    assert eviction.actions == {"c": "kill"}  # a and b with d are the same loss, and take time
    assert plan(jobs[:3], 7, 1)[0].loss == 1.8


def test_the_wide_table_is_the_compiled_one():
    rng = np.random.default_rng(3)
    for _ in range(30):
        jobs = drawn(rng, 6, 5)
        nodes, time = (
            np.array(column, dtype=np.int64)
            for column in (
                [j.nodes for j in jobs],
                [LONG if j.system_checkpoint is None else j.system_checkpoint for j in jobs],
            )
        )
        losses, _ = integers([job.loss for job in jobs])
        none = np.zeros(6, dtype=np.int64)
        table = _eviction.TableJobs(nodes, none, np.array(losses), none, none, time)
        most = int(nodes.sum())
        first = _eviction.places(nodes, most, 5)
        one = _eviction.fill(table, most, 5, first)
        two = _eviction.fill_wide(table, losses, [0] * 6, most, 5, first)
        assert np.array_equal(
            np.unique(one.low, return_inverse=True)[1].ravel(), np.unique(two.high, return_inverse=True)[1].ravel()
        )
        for needed, step in itertools.product(range(0, most + 1, 3), range(6)):
            assert _eviction.least_step(one, needed, step) == _eviction.least_step(two, needed, step)
            chosen = [_eviction.trace_back(table, each, needed, step).tolist() for each in (one, two)]
            assert chosen[0] == chosen[1]


# Larger ones.


@pytest.mark.parametrize("seed", range(6))
def test_cp_sat_proves_the_same_on_larger_ones(seed):
    rng = np.random.default_rng(seed)
    jobs = [
        RunningJob(str(place), int(rng.integers(1, 300)), int(rng.integers(0, 2000)), *rng.integers(1, 12, 2).tolist())
        for place in range(40)
    ]
    needed = int(sum(job.nodes for job in jobs) * rng.uniform(0.2, 0.8))
    made = plan(jobs, needed, 15)
    for deadline in (0, 1, 4, 9, 15):
        proved = prove(jobs, needed, deadline)
        assert costs(proved) == costs(made[deadline])
        assert_adds_up(proved, jobs, needed)
        assert_adds_up(made[deadline], jobs, needed)


@given(st.integers(0, 10**6), st.integers(8, 14))
@settings(max_examples=number_of_inputs(20))
def test_neither_the_order_nor_a_common_factor_of_the_nodes_matters(seed, count):
    rng = np.random.default_rng(seed)
    jobs = drawn(rng, count, 9)
    needed = int(rng.integers(1, sum(job.nodes for job in jobs) + 1))
    expected = [costs(eviction) for eviction in plan(jobs, needed, 9)]
    assert expected == sorted(expected, key=lambda cost: -cost[0])
    shuffled = [jobs[place] for place in rng.permutation(count)]
    assert [costs(eviction) for eviction in plan(shuffled, needed, 9)] == expected
    wide = [RunningJob(j.id, 128 * j.nodes, j.loss, j.system_checkpoint, j.application_checkpoint) for j in jobs]
    assert [costs(eviction) for eviction in plan(wide, 128 * needed - 5, 9)] == expected


def test_memory_is_bounded_at_a_thousand_jobs():
    nodes = np.full(1000, 100)
    assert _eviction.places(nodes, 100_000, 60)[-1] < 0.8e9


# The other approaches.


def test_backtracking_finds_the_same():
    rng = np.random.default_rng(11)
    for _ in range(60):
        jobs = drawn(rng, 9, 6)
        needed = int(rng.integers(0, sum(job.nodes for job in jobs) + 1))
        deadline = int(rng.integers(0, 7))
        best = costs(plan(jobs, needed, deadline)[deadline])
        one, two = (search(jobs, needed, deadline, by_nodes=by_nodes) for by_nodes in (True, False))
        assert costs(one.eviction) == costs(two.eviction) == best == costs(backtracking(jobs, needed, deadline))
        assert one.complete
        assert one.visited <= two.visited
        assert_adds_up(one.eviction, jobs, needed)


def test_a_search_ends_at_its_limit():
    rng = np.random.default_rng(1)
    found = search(drawn(rng, 16, 6, 1000), 40, 3, limit=50)
    assert (found.visited, found.complete) == (50, False)
    assert found.eviction.feasible


def test_greedy_checkpoints_the_dearest_and_kills_the_cheapest():
    jobs = [
        RunningJob("a", 4, 10, 5, 4),
        RunningJob("b", 4, 30, 3, 9),
        RunningJob("c", 4, 20, 4, None),
        RunningJob("d", 4, 5, 1, 1),
    ]
    assert greedy(jobs, 8, 7).actions == {"b": "system", "c": "system"}
    assert greedy(jobs, 8, 6).actions == {"b": "system", "d": "kill"}  # c would be late, and a and d are not tried
    assert greedy(jobs, 16, 2).actions == dict.fromkeys("abcd", "kill")
    assert costs(greedy(jobs, 12, 3)) == (15, 3)


def test_greedy_is_never_better_and_adds_up():
    rng = np.random.default_rng(5)
    for _ in range(100):
        jobs = drawn(rng, 7, 6)
        needed = int(rng.integers(0, sum(job.nodes for job in jobs) + 1))
        for best in plan(jobs, needed, 6):
            found = greedy(jobs, needed, best.deadline)
            assert_adds_up(found, jobs, needed)
            assert costs(found) >= costs(best)


# Times.


def test_times_are_rounded_up_and_deadlines_down_to_steps():
    jobs = [RunningJob("a", 1, 9, 61), RunningJob("b", 1, 9, 60)]
    made = plan(jobs, 1, 200, step=60)
    assert made.deadlines == (0, 60, 120, 180)
    assert len(made) == len(list(made)) == 4
    assert [made[deadline].loss for deadline in (0, 59, 60, 119.5, 200)] == [9, 9, 0, 0, 0]
    assert made[120].actions == {"b": "system"}
    assert plan(jobs, 2, 200, step=60)[180].checkpoint_time == 180
    for decision in (greedy, backtracking, prove):
        assert decision(jobs, 2, 179, 60).loss == 9


def test_a_time_that_is_whole_but_for_rounding_counts_as_whole():
    made = plan([RunningJob("a", 1, 1, 0.1 + 0.2)], 1, 0.6, step=0.1)
    assert len(made) == 7
    assert made[0.3].loss == 0
    assert made[0.3].checkpoint_time == pytest.approx(0.3)
    assert made[0.29].loss == 1


@pytest.mark.parametrize("deadline", [-1, 11, math.nan, math.inf])
def test_other_deadlines_are_refused(deadline):
    with pytest.raises(IndexError, match="deadline: expected 0 to 10, got"):
        plan(TIED, 5, 10)[deadline]


# Bad input.


@pytest.mark.parametrize("decide", [lambda *a: plan(*a)[a[2]], greedy, backtracking, prove])
def test_more_nodes_than_there_are_is_infeasible_and_says_so(decide):
    found = decide(TIED, 12, 4)
    assert not found.feasible
    assert found.reason == "12 nodes are needed, and the running jobs have 11"
    assert costs(found) == (math.inf, math.inf)
    assert (found.actions, found.freed) == ({}, 0)
    assert decide([], 1, 4).reason == "1 nodes are needed, and the running jobs have 0"
    assert decide([], 0, 4).feasible


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nodes": 0}, "running job x: nodes must be a whole number >= 1, got 0"),
        ({"nodes": 2.0}, "running job x: nodes must be a whole number >= 1, got 2.0"),
        ({"loss": -1}, "running job x: loss must be a finite number >= 0, got -1"),
        ({"loss": math.nan}, "running job x: loss must be a finite number >= 0, got nan"),
        ({"loss": "9"}, "running job x: loss must be a finite number >= 0, got '9'"),
        (
            {"system_checkpoint": -0.5},
            "running job x: system_checkpoint must be a finite number >= 0 or None, got -0.5",
        ),
        ({"application_checkpoint": math.inf}, "application_checkpoint must be a finite number >= 0 or None, got inf"),
        ({"id": ""}, "running job '': id must be a non-empty text"),
    ],
)
def test_a_bad_job_is_named(fields, message):
    with pytest.raises(ValueError, match=message):
        RunningJob(**{"id": "x", "nodes": 1, "loss": 1, **fields})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TIED, -1, 3), "plan: nodes_needed must be a whole number >= 0, got -1"),
        ((TIED, 1.5, 3), "plan: nodes_needed must be a whole number >= 0, got 1.5"),
        ((TIED, 1, -3), "plan: horizon must be a finite number >= 0, got -3"),
        ((TIED, 1, math.nan), "plan: horizon must be a finite number >= 0, got nan"),
        ((TIED, 1, 3, 0), "plan: step must be a finite number > 0, got 0"),
        (((*TIED, TIED[0]), 1, 3), "running job a: id must be unique, got it twice"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan(*arguments)


def test_numpy_numbers_are_as_good():
    job = RunningJob("a", np.int64(5), np.float32(0.5), np.int32(3))
    assert (type(job.nodes), type(job.loss), type(job.system_checkpoint)) == (int, float, int)
    assert plan([job], np.int64(5), np.int64(3))[np.int64(3)].loss == 0
