"""Whole traces under look-ahead on a pool in compiled code."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ...base import IntArray
from ...models.lookahead.choosing import LookaheadReports, open_past, run_look_ahead
from ...models.lookahead.guarantees import PlanSettings
from ..backfilling.compiled_traces import CompiledTrace
from .instant import ORIGINS

#: Decisions per call: about a second, after which an interrupt is noticed.
_DECISIONS = 1 << 13
#: Columns of a report that are no whole numbers.
_REAL = ("objective", "due_hours")


class CompiledLookahead(CompiledTrace):
    """A trace of rigid jobs on a pool under look-ahead.

    Parameters
    ----------
    settings, patience, recent
        As for :func:`.run_look_ahead`.
    columns, walltime, amount, capacity
        As for :class:`.CompiledTrace`.
    """

    def __init__(
        self,
        settings: PlanSettings,
        patience: float,
        recent: int,
        columns: tuple[IntArray, IntArray, IntArray],
        walltime: IntArray,
        amount: IntArray,
        capacity: IntArray,
    ) -> None:
        self._told = np.empty((len(LookaheadReports._fields), _DECISIONS))
        self._count = 0
        entry = partial(
            run_look_ahead,
            settings=settings,
            patience=patience,
            recent=recent,
            reports=self._told,
            past=open_past(columns[0], columns[2], walltime, amount, capacity),
        )
        super().__init__(entry, columns, walltime, amount, capacity, pool=True, decisions=_DECISIONS)

    def go_on(self) -> tuple[IntArray, IntArray]:
        """See :meth:`.CompiledSteps.go_on`."""
        decisions, ended = super().go_on()
        self._count = len(decisions)
        return decisions, ended

    def reports(self) -> Mapping[str, list[Any]]:
        """Return the columns of :meth:`.Lookahead.report`."""
        columns: dict[str, list[Any]] = {}
        for key, values in zip(LookaheadReports._fields, self._told[:, : self._count], strict=True):
            numbers = values.tolist() if key in _REAL else values.astype(np.int64).tolist()
            names = ORIGINS.get(key)
            columns[key] = [names[code] for code in numbers] if names else numbers
        return columns
