"""The compiled search with modes and guaranteed starts, against full decoding of every list of rows."""

import numpy as np
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.profiles.amounts import AmountSteps, earliest, hold, make_steps
from hpcdispatch.models.scheduling.modes import choose_rows
from hpcdispatch.models.scheduling.node_groups import no_instant
from hpcdispatch.models.scheduling.pool_search import MOVED, REMODED, SWAPPED, open_search, search_orders
from hpcdispatch.models.scheduling.problem import WHENEVER

POOL = 8


def ints(values):
    return np.array(values, dtype=np.int64)


@st.composite
def inputs(draw):
    """Draw jobs with one to three modes. Some have a guaranteed start in their first mode. It is held."""
    number = st.integers(1, 12)
    size = st.integers(1, POOL)
    modes = draw(st.lists(st.lists(st.tuples(number, size), min_size=1, max_size=3), min_size=1, max_size=9))
    steps = make_steps(100, 1)
    steps.at[0] = 0
    steps.free[0] = POOL
    count = 1
    for end, amount in draw(st.lists(st.tuples(number, st.integers(1, 3)), max_size=2)):
        count = hold(steps, count, 0, end, ints([amount]), 1)
    mode_of = np.repeat(np.arange(len(modes)), [len(job) for job in modes])
    promised = np.full(len(modes), -1)
    for job in draw(st.lists(st.integers(0, len(modes) - 1), max_size=3, unique=True)):
        duration, need = modes[job][0]
        promised[job] = earliest(steps, count, ints([need]), duration, draw(st.integers(0, 20)))
        count = hold(steps, count, promised[job], promised[job] + duration, ints([need]), 1)
    weight = draw(st.lists(st.integers(1, 5), min_size=len(modes), max_size=len(modes)))
    rows = [mode for job in modes for mode in job]
    duration = ints([mode[0] for mode in rows])
    need = ints([[mode[1]] for mode in rows])
    return (
        ints(weight)[mode_of],
        duration,
        need,
        promised[mode_of],
        AmountSteps(steps.at[:count], steps.free[:count]),
        mode_of,
    )


def decoded(case, rows):
    """Return cost and starts of a list of rows, or ``None`` if one ends after its guarantee."""
    weight, duration, need, promised, held, mode_of = case
    steps = make_steps(len(held.at) + 3 * len(rows) + 1, 1)
    count = len(held.at)
    steps.at[:count] = held.at
    steps.free[:count] = held.free
    cost, starts = 0, []
    for row in rows:
        first = int(np.flatnonzero(mode_of == mode_of[row])[0])
        if promised[row] >= 0:
            count = hold(steps, count, promised[row], promised[row] + duration[first], need[first], -1)
        start = earliest(steps, count, need[row], duration[row], 0)
        if promised[row] >= 0 and start + duration[row] > promised[row] + duration[first]:
            return None
        count = hold(steps, count, start, start + duration[row], need[row], 1)
        cost += weight[row] * (start + duration[row])
        starts.append(start)
    return cost, starts


def opened(weight, duration, need, promised, held, mode_of):
    none = mode_of[:0]
    weight = weight.astype(np.float64)
    first = np.searchsorted(mode_of, mode_of)
    # Each job with a guaranteed start ends by the end of its first mode.
    latest = np.where(promised >= 0, promised + duration[first] - duration, WHENEVER)
    return open_search(weight, -duration, duration, need, promised, held, mode_of, none, no_instant(), none, latest)


@settings(max_examples=number_of_inputs(100))
@given(inputs(), st.integers(0, 1000))
def test_it_finds_what_whole_decodings_find(case, seed):
    mode_of = case[-1]
    rng = np.random.default_rng(seed)
    first = np.flatnonzero(np.diff(mode_of, prepend=-1))
    jobs = len(first)
    search = opened(*case)
    best = rng.permutation(first)
    cost, starts = decoded(case, best)
    moves = np.column_stack([rng.integers(0, jobs, (60, 2)), rng.integers(0, 3, 60)])
    _, listed = search_orders(search, best[None], moves)
    assert listed == cost
    for here, there, what in moves.tolist():
        trial = best.copy()
        many = int((mode_of == mode_of[trial[here]]).sum())
        if what == REMODED and many > 1:
            begin = first[mode_of[trial[here]]]
            trial[here] = begin + (trial[here] - begin + 1 + there % (many - 1)) % many
        elif what == SWAPPED:
            trial[[here, there]] = trial[[there, here]]
        elif what == MOVED:
            trial = np.insert(np.delete(trial, here), there, trial[here])
        found = decoded(case, trial)
        if found is not None and found[0] <= cost:
            (cost, starts), best = found, trial
    assert search.best.order.tolist() == best.tolist()
    assert search.best.starts.tolist() == starts
    assert search.cost[0] == cost


@settings(max_examples=number_of_inputs(100))
@given(inputs(), st.booleans())
def test_each_turn_takes_the_mode_that_is_best_then(case, priced):
    weight, duration, need, *_, mode_of = case
    first = np.flatnonzero(np.diff(mode_of, prepend=-1))
    search = opened(*case)
    rows = np.empty(len(first), dtype=np.int64)
    work = (duration * need[:, 0]).astype(np.float64)
    price = np.full(len(first), 0.5 * priced)
    choose_rows(search, first, price, work, rows)
    taken = []
    for turn, job in enumerate(first):
        each = {}
        for row in np.flatnonzero(mode_of == mode_of[job]).tolist():
            found = decoded(case, [*taken, row])
            if found is not None:
                each[row] = weight[row] * (found[1][-1] + duration[row]) + price[turn] * work[row], work[row], row
        taken.append(min(each, key=each.get))
    assert rows.tolist() == taken
