"""Jobs with modes: lists, local search and CP-SAT against trying everything."""

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.modes import best_modes, cost_of, overfull

from hpcdispatch.models import (
    WHENEVER,
    Problem,
    Search,
    SolverLimit,
    Status,
    best_of,
    improve,
    in_order,
    least_cost,
    list_orders,
    list_schedule,
    taken_modes,
)


def ints(values):
    return np.array(values, dtype=np.int64)


def problem_of(modes, capacity, weights, dues, held=()):
    """Return the problem of jobs, each a list of (processors, seconds)."""
    counts = [len(job) for job in modes]
    rows = [mode for job in modes for mode in job]
    return Problem(
        duration=ints([seconds for _, seconds in rows]),
        slots=np.ones(len(rows)),
        demand=ints([[processors] for processors, _ in rows]),
        weight=np.repeat(ints(weights), counts),
        due=np.repeat(ints(dues), counts),
        capacity=ints([[capacity]]),
        held_from=np.zeros(len(held)),
        held_to=ints([end for end, _ in held]),
        held_node=np.zeros(len(held)),
        held_amount=ints([[amount] for _, amount in held]).reshape(-1, 1),
        mode_of=np.repeat(np.arange(len(modes)), counts),
    )


@st.composite
def problems(draw, most_jobs=3, most_modes=3, longest=4):
    capacity = draw(st.integers(2, 5))
    mode = st.tuples(st.integers(1, capacity), st.integers(1, longest))
    modes = draw(st.lists(st.lists(mode, min_size=1, max_size=most_modes), max_size=most_jobs - 1))
    modes.append(draw(st.lists(mode, min_size=2, max_size=most_modes)))
    weights = draw(st.lists(st.integers(0, 5), min_size=len(modes), max_size=len(modes)))
    dues = draw(st.lists(st.integers(-2, 5), min_size=len(modes), max_size=len(modes)))
    held = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, capacity // 2)), max_size=2))
    return problem_of(modes, capacity, weights, dues, held)


def holds(problem, schedule):
    """Check a schedule second by second: one mode per job, and its stated cost."""
    rows = np.flatnonzero(schedule.starts >= 0).tolist()
    assert problem.mode_of[rows].tolist() == list(range(problem.mode_of[-1] + 1))
    starts = schedule.starts[rows].tolist()
    assert not overfull(problem, rows, starts)
    assert schedule.cost == cost_of(problem, rows, starts) == problem.cost(schedule.starts)
    assert schedule.counts[:, 0].tolist() == [int(problem.slots[row]) * (row in rows) for row in range(problem.jobs)]


def searched(problem, iterations=300):
    found, which = best_of(problem, orders := list_orders(problem))
    return found, improve(problem, orders[which], iterations, np.random.default_rng(0))[0]


def by_cp_sat(problem):
    """Return what CP-SAT says of all modes, from the best list."""
    search = Search(problem, limit=SolverLimit(1.0, 1.0), whole=True)
    return search.solve(list_orders(problem))


@given(problems(longest=3))
@settings(max_examples=number_of_inputs(60))
def test_cp_sat_finds_what_trying_everything_finds(problem):
    listed, improved = searched(problem)
    answer = by_cp_sat(problem)
    for schedule in (listed, improved, answer.schedule):
        holds(problem, schedule)
    assert answer.status is Status.OPTIMAL
    least = best_modes(problem, int(problem.held_to.max(initial=0)) + 9)
    assert answer.schedule.cost == answer.bound == least
    assert least <= improved.cost <= listed.cost


@given(problems(most_jobs=8, most_modes=4, longest=9))
@settings(max_examples=number_of_inputs(60))
def test_no_mode_but_one_is_taken_and_the_search_never_loses(problem):
    listed, improved = searched(problem)
    holds(problem, listed)
    holds(problem, improved)
    assert improved.cost <= listed.cost
    again = list_schedule(problem, in_order(improved.starts))
    assert again.cost <= improved.cost
    part, starts = taken_modes(problem, improved.starts)
    assert part.cost(starts) == improved.cost
    assert list_schedule(part, np.argsort(starts, kind="stable")).cost == again.cost


def test_lists_and_search_find_the_best_of_most_small_problems():
    rng, best = np.random.default_rng(3), 0
    for _ in range(40):
        modes = [
            [(n, -(-work // n)) for n in rng.permutation([1, 2, 3])[:2].tolist()] for work in rng.integers(2, 8, 3)
        ]
        problem = problem_of(modes, 3, rng.integers(1, 5, 3), [0, 0, 0])
        answer = by_cp_sat(problem)
        assert answer.status is Status.OPTIMAL
        best += searched(problem)[1].cost == answer.schedule.cost
    assert best >= 38


def test_a_wide_mode_that_waits_may_be_best_and_one_that_starts_may():
    # The wide one ends at 10 + 2. The narrow one ends at 9. With 4 s until the machine is free at 4 + 2.
    for until, row in ((10, 0), (4, 1)):
        found = searched(problem_of([[(1, 9), (4, 2)]], 4, [1], [0], [(until, 2)]))[1]
        assert np.flatnonzero(found.starts >= 0).tolist() == [row]


def test_the_end_counts_and_not_the_start():
    problem = problem_of([[(1, 9), (1, 5)]], 2, [2], [3])
    assert problem.cost(ints([0, -1])) == 12
    assert problem.cost(ints([-1, 1])) == 6
    assert least_cost(problem) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode_of": [0, 2]}, "mode_of must rise from 0 by 0 or 1 a row, got"),
        ({"mode_of": [1, 1]}, "mode_of must rise from 0"),
        ({"mode_of": [0]}, r"mode_of must have shape \(2,\), got \(1,\)"),
        ({"weight": [1, 2]}, "weight must be the same for all modes of a job"),
        ({"earliest": [0, 1]}, "modes are for jobs on one node"),
        ({"latest": [WHENEVER, 9]}, "modes are for jobs on one node"),
        ({"capacity": [[2], [2]]}, "modes are for jobs on one node"),
    ],
)
def test_what_is_refused(changes, message):
    given = {"duration": [9, 5], "slots": [1, 1], "demand": [[1], [2]], "weight": [1, 1], "capacity": [[2]]}
    given |= {"mode_of": [0, 0], **changes}
    with pytest.raises(ValueError, match=message):
        Problem(**{name: ints(value) for name, value in given.items()})


def test_two_modes_of_a_job_are_no_schedule():
    with pytest.raises(ValueError, match=r"expected one mode of each job, got rows \[0, 1\]"):
        taken_modes(problem_of([[(1, 9), (1, 5)]], 2, [2], [3]), ints([0, 3]))
