"""Expected remaining run times of jobs, by the laws of their run times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ...base import InputError
from ...models.onthefly import RemainingTimes
from ..protocol import Waiting

#: Sort key: the prediction, or one of three numbers of the run-time law.
Order = Literal["estimate", "mean", "gittins", "quantile"]
#: Number of cached laws.
_KEPT = 4096


class LawOrder:
    """Remaining run times of waiting jobs, seconds, by their run-time laws.

    Parameters
    ----------
    order
        Which number: the mean, the reciprocal of the Gittins index, or a quantile. Or always the prediction.
    quantile
        Which quantile.
    """

    def __init__(self, order: Order, quantile: float) -> None:
        self.order = order
        self.quantile = quantile
        self._ready: dict[int, tuple[Any, RemainingTimes]] = {}
        self._found: dict[str, tuple[Waiting, float]] = {}

    def seconds(self, queue: Iterable[Waiting]) -> dict[str, tuple[Waiting, float]]:
        """Return entry and seconds of each waiting job by id, computed once per wait.

        Raises
        ------
        InputError
            For an unsuitable law, such as one without a mean. Names the job.
        """
        known, found = self._found, {}
        for entry in queue:
            kept = known.get(entry.id)
            found[entry.id] = kept if kept is not None and kept[0] is entry else (entry, self._seconds(entry))
        self._found = found
        return found

    def _seconds(self, entry: Waiting) -> float:
        """Return the remaining run time of a job. The prediction without a law, or past the law's end."""
        if entry.law is None or self.order == "estimate":
            return entry.predicted
        try:
            left = self._asked(self._of(entry.law), entry.done)
        except InputError as error:
            raise InputError(f"job {entry.id}: {error} (order={self.order})") from None
        return entry.predicted if left is None else left

    def _asked(self, remaining: RemainingTimes, done: int) -> float | None:
        if self.order == "mean":
            return remaining.mean(done)
        return remaining.gittins(done) if self.order == "gittins" else remaining.quantile(self.quantile, done)

    def _of(self, law: Any) -> RemainingTimes:
        """Return a prepared law. Jobs of one user or application often share one."""
        kept = self._ready.get(id(law))
        if kept is None:
            if len(self._ready) >= _KEPT:
                self._ready.clear()
            kept = self._ready[id(law)] = law, RemainingTimes(law)
        return kept[1]
