"""Tiny problems with quotas, latest starts and closures, checked second by second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import strategies as st

from hpcdispatch.models import WHENEVER, Problem, Quotas, quotas_beside
from oracles.placing import can_be_placed, problems


@st.composite
def limited_problems(draw: st.DrawFn, *, most_jobs: int = 3) -> tuple[Problem, Quotas]:
    """Draw a problem with later held amounts, latest starts and quotas. Running jobs use a part of the quotas."""
    problem = draw(problems(most_jobs=most_jobs, late_holds=True))
    quotas, running = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    most = np.array(draw(st.lists(st.integers(1, 3), min_size=quotas, max_size=quotas)))

    def amounts(rows: int) -> np.ndarray:
        cells = draw(st.lists(st.integers(0, 2), min_size=rows * quotas, max_size=rows * quotas))
        return np.array(cells, dtype=np.int64).reshape(rows, quotas)

    need = np.minimum(amounts(problem.jobs), most)
    ends = np.array(draw(st.lists(st.integers(1, 3), min_size=running, max_size=running)), dtype=np.int64)
    latest = draw(st.lists(st.sampled_from([WHENEVER, WHENEVER, 2, 5]), min_size=problem.jobs, max_size=problem.jobs))
    return replace(problem, latest=np.array(latest)), quotas_beside(need, most, ends, amounts(running))


def kept(problem: Problem, quotas: Quotas, starts: Sequence[int]) -> bool:
    """Return whether start times keep the latest starts, and the quotas in every second."""
    if any(start > latest for start, latest in zip(starts, problem.latest.tolist(), strict=True)):
        return False
    last = max(start + int(length) for start, length in zip(starts, problem.duration, strict=True))
    for second in range(max(last, int(quotas.held_to.max(initial=0))) + 1):
        used = np.zeros(len(quotas.most), dtype=np.int64)
        for begin, end, amount in zip(quotas.held_from, quotas.held_to, quotas.held_amount, strict=True):
            used += amount * (begin <= second < end)
        for start, length, amount in zip(starts, problem.duration, quotas.need, strict=True):
            used += amount * (start <= second < start + length)
        if (used > quotas.most).any():
            return False
    return True


def least_cost_within(problem: Problem, quotas: Quotas, horizon: int) -> int | None:
    """Return the least cost over all feasible schedules within the quotas, or ``None`` if there is none."""
    ranked = sorted(product(range(horizon), repeat=problem.jobs), key=lambda starts: problem.cost(np.array(starts)))
    for starts in ranked:
        if kept(problem, quotas, starts) and can_be_placed(problem, starts):
            return problem.cost(np.array(starts))
    return None
