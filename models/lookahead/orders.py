"""Orders of planned jobs, compiled: five lists, a local search from the best of them, and what an order costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from ..scheduling.step_profile import Steps, copy_steps, earliest, hold, make_steps

_LISTS = 5
_SEED = 88172645463325252


class Candidates(NamedTuple):
    """The planned jobs, by weight: place in the queue, duration, need, share, weight, promised start or -1."""

    job: IntArray
    duration: IntArray
    need: IntArray
    share: FloatArray
    weight: FloatArray
    promised: IntArray


@compiled
def best_order(data: Candidates, steps: Steps, count: int, iterations: int) -> tuple[IntArray, float, bool]:
    """Return the starts in the best order found, their cost, and whether the search found it."""
    many = len(data.job)
    room = make_steps(count + 4 * many, data.need.shape[1])
    base = Steps(steps.at[:count], steps.free[:count])
    starts = np.empty(many, dtype=np.int64)
    best, best_starts, cost = np.arange(many), np.zeros(many, dtype=np.int64), np.inf
    for rule in range(_LISTS):
        order = np.argsort(_key(data, rule), kind="mergesort")
        found = _decode(order, data, base, room, starts, cost)
        if found < cost:
            cost = found
            best[:] = order
            best_starts[:] = starts
    listed = cost
    order = best.copy()
    random = np.uint64(_SEED)
    for _ in range(iterations if many > 1 and cost > 0 else 0):
        random ^= random << np.uint64(13)
        random ^= random >> np.uint64(7)
        random ^= random << np.uint64(17)
        one, other = int(random % np.uint64(many)), int((random >> np.uint64(20)) % np.uint64(many))
        if one == other:
            continue
        _change(order, one, other, int((random >> np.uint64(45)) % np.uint64(2)))
        found = _decode(order, data, base, room, starts, cost)
        if found <= cost:
            cost = found
            best[:] = order
            best_starts[:] = starts
        else:
            order[:] = best
    _in_turn(data, best_starts)
    return best_starts, cost, cost < listed


@compiled
def _in_turn(data: Candidates, starts: IntArray) -> None:
    """Of jobs that differ in nothing, let the first start first, where the other keeps its promise."""
    for one in range(len(starts)):
        for other in range(one + 1, len(starts)):
            later = starts[one] > starts[other] >= 0 and data.weight[one] == data.weight[other]
            if not later or data.duration[one] != data.duration[other]:
                continue
            kept = data.promised[other] < 0 or starts[one] <= data.promised[other]
            if kept and (data.need[one] == data.need[other]).all():
                starts[one], starts[other] = starts[other], starts[one]


@compiled
def _key(data: Candidates, rule: int) -> FloatArray:
    """Return what a list sorts by: weight a second and share, a second, a share, weight, or the order of the queue."""
    key = np.empty(len(data.job))
    for place in range(len(key)):
        seconds = float(data.duration[place])
        key[place] = -data.weight[place]
        if rule == 0:
            key[place] /= seconds * data.share[place]
        elif rule == 1:
            key[place] /= seconds
        elif rule == 2:
            key[place] /= data.share[place]
        elif rule == 4:
            key[place] = data.job[place]
    return key


@compiled
def _change(order: IntArray, one: int, other: int, kind: int) -> None:
    """Swap two places, or move one job to another place."""
    moved = order[one]
    if kind == 0:
        order[one] = order[other]
    else:
        step = 1 if one < other else -1
        for place in range(one, other, step):
            order[place] = order[place + step]
    order[other] = moved


@compiled
def _decode(order: IntArray, data: Candidates, base: Steps, room: Steps, starts: IntArray, limit: float) -> float:
    """Start each job in turn as early as it fits; return the cost, of a part of them once it is above `limit`."""
    count = len(base.at)
    copy_steps(base, count, room)
    cost = 0.0
    for job in order:
        need, duration, promised = data.need[job], data.duration[job], data.promised[job]
        if promised >= 0:
            count = hold(room, count, promised, promised + duration, need, -1)
        start = earliest(room, count, need, duration, 0)
        starts[job] = start
        if start >= 0:
            count = hold(room, count, start, start + duration, need, 1)
            cost += data.weight[job] * start
        if cost > limit:
            return cost
    return cost
