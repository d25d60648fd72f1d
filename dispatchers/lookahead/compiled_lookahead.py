"""Whole traces under look-ahead on a pool, in compiled code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from ...base import IntArray
from ...models.lookahead import (
    ALL,
    LISTED,
    NOBODY,
    SEARCHED,
    Decided,
    go_on_looking_ahead,
    whole_lookahead,
)
from ..compiled_steps import CompiledSteps
from ..protocol import Dispatcher
from .lookahead import Lookahead

#: Decisions that are taken at a time: a second or so, after which an interrupt is heard.
_DECISIONS = 2048
_STATUS = {NOBODY: "none", ALL: "trivial", LISTED: "feasible", SEARCHED: "feasible"}
_USED = {NOBODY: "none", ALL: "none", LISTED: "list", SEARCHED: "search"}


def looks_ahead_compiled(dispatcher: Dispatcher, nodes: int) -> TypeGuard[Lookahead]:
    """Return whether look-ahead itself decides, on a pool, with starts guaranteed by predictions."""
    return type(dispatcher) is Lookahead and nodes == 1 and dispatcher.options.reserve_by == "predictions"


class CompiledLookahead(CompiledSteps):
    """A trace of rigid jobs on a pool under :class:`.Lookahead`, as :func:`~.models.lookahead.whole_lookahead`.

    Parameters
    ----------
    dispatcher
        Who decides.
    columns
        Of the jobs: submission, time on the machine, prediction, seconds; each of shape (jobs,).
    amount
        Amounts, shape (jobs, resources).
    walltime
        What they request, seconds, shape (jobs,).
    capacity
        Of the pool, shape (resources,).
    """

    def __init__(
        self, dispatcher: Lookahead, columns: tuple[IntArray, IntArray, IntArray], amount: IntArray, walltime: IntArray,
        capacity: IntArray,
    ) -> None:  # fmt: skip
        self._trace = whole_lookahead(*columns, walltime, amount, capacity)
        self._settings, self._patience = dispatcher.settings(), float(dispatcher.options.patience)
        self._recent = dispatcher.options.recent_seconds
        _, self._work, self.lengths = columns
        self._walltime = walltime
        self._decided = Decided(
            np.empty((_DECISIONS, 4), dtype=np.int64),
            np.empty((_DECISIONS, 6), dtype=np.int64),
            np.empty((_DECISIONS, 2)),
        )
        self._ended = np.empty(_DECISIONS + len(walltime) + 1, dtype=np.int64)
        self._rows = 0

    def go_on(self) -> tuple[IntArray, IntArray]:
        """See :meth:`.CompiledSteps.go_on`."""
        given = self._settings, self._patience, self._recent
        self._rows, gone = go_on_looking_ahead(self._trace, *given, self._decided, self._ended)
        return self._decided.counts[: self._rows], self._ended[:gone]

    def attempts(self, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the one attempt of each of the jobs."""
        return np.arange(len(jobs)), self._trace.events.queue.start[jobs], self._work[jobs], self._walltime[jobs]

    def reports(self) -> Mapping[str, list[Any]]:
        """Return what :meth:`.Lookahead.report` says of the decisions of the last step, a column a key."""
        planned, (objective, due) = self._decided.planned[: self._rows], self._decided.values[: self._rows].T
        candidates, requested, available, guarantees, how, literally = planned.T
        return {
            "candidates": candidates.tolist(),
            "intervals": (candidates + self._decided.counts[: self._rows, 2]).tolist(),
            "requested": requested.tolist(),
            "available": available.tolist(),
            "status": [_STATUS[code] for code in how.tolist()],
            "objective": objective.tolist(),
            "used": [_USED[code] for code in how.tolist()],
            "guarantees": guarantees.tolist(),
            "literally": literally.tolist(),
            "due_hours": np.where(due >= 0, due / 3600, np.inf).tolist(),
        }
