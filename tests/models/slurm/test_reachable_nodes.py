"""What a waiting job could have of nodes by some time, beside the same counted node by node."""

import numpy as np

from hpcdispatch.models.slurm import Held, Tried, placed
from hpcdispatch.models.slurm.reachable_nodes import could_have, look_anew, note_room, nothing_reachable
from hpcdispatch.models.slurm.reserved_nodes import packed

NODES, CORES = 130, 4


def as_words(chosen):
    words = np.zeros(-(-NODES // 64), np.uint64)
    packed(chosen, words)
    return words


def drawn(rng):
    """Return waiting jobs of one slot size, running ones on nodes of their own, and what is free."""
    jobs, unit = 6, int(rng.integers(1, CORES + 1))
    nothing, order = np.zeros((jobs, 1), np.int64), np.arange(jobs)
    tried = Tried(
        np.zeros(jobs, np.int64), rng.integers(1, NODES, jobs), rng.random(jobs) < 0.5, np.full((jobs, 1), unit),
        np.full(jobs, 60), nothing, np.empty((jobs, 0), np.int64), order,
    )  # fmt: skip
    owner = rng.integers(-1, 12, NODES)
    held = [
        Held(int(rng.integers(1, 100)), np.flatnonzero(owner == each), np.full((owner == each).sum(), CORES), (1,))
        for each in range(12)
    ]
    return tried, held, np.where(owner < 0, rng.integers(0, CORES + 1, NODES), 0), unit


def test_it_is_what_is_counted_node_by_node():
    rng = np.random.default_rng(3)
    seen = {True: 0, False: 0}
    for _ in range(60):
        tried, held, free, unit = drawn(rng)
        table, reach = placed(held, tried, NODES), nothing_reachable(NODES)
        ends = np.full(NODES, 10**9)
        full = free.copy()
        for each in held:
            ends[each.nodes] = each.end
            full[each.nodes] = CORES
        reach.now[:], reach.once[:] = free // unit * unit, full // unit * unit
        note_room(reach)
        for job in range(len(tried.slots)):
            look_anew(reach)
            for later in (*sorted(rng.integers(1, 100, 3).tolist()), 0):
                usable = rng.random(NODES) < 0.8
                had = np.where((ends <= later) | (not later), reach.once, reach.now)[usable]
                slots, apart = int(tried.slots[job]), bool(tried.apart[job])
                expected = (had > 0).sum() >= (slots if apart else 1) and had.sum() >= slots * unit
                assert could_have(job, tried, 0, as_words(usable), reach, table, later) == expected
                seen[bool(expected)] += 1
    assert min(seen.values()) > 100
