"""Which jobs give way to others, by the tiers of partitions, and when they may start again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...base import IntArray
from ...models.slurm import NEVER_STOPPED, Preemption
from ..protocol import Action, Reject, Running, Stop, Waiting
from .partitions import Partitions

#: Seconds from when a job is requeued until it may start again.
AWAY = 122
#: Seconds beyond ``KillWait`` in which a job that stopped others stops no more, as ``MessageTimeout`` by default.
_PATIENCE = 10
_CANCELLED = "a job of a higher tier stopped it"


class PartitionPreemption:
    """Preemption by the tiers of partitions: ``preempt/partition_prio``.

    Parameters
    ----------
    partitions
        With their tiers.
    modes
        How jobs of each partition give way, by its name: ``requeue``, ``cancel``; others are not stopped.
    kill_wait
        ``KillWait``, seconds.

    Attributes
    ----------
    modes
        As given.
    away
        When jobs that gave way may start again, by their places in the trace.
    stopped_at
        When jobs were stopped, until the main scheduler has run.
    """

    def __init__(self, partitions: Partitions, modes: Mapping[str, str], kill_wait: int) -> None:
        self._partitions, self.modes, self._patience = partitions, modes, kill_wait + _PATIENCE
        self._stopped_others: dict[int, int] = {}
        self.away: dict[int, int] = {}
        self.stopped_at: int | None = None
        self._cancelled: set[int] = set()

    def of(self, waiting: IntArray, partition: IntArray, running: Sequence[Running], now: int) -> Preemption | None:
        """Return which running jobs give way to the jobs that are tried, ``None`` if none does.

        Parameters
        ----------
        waiting, partition
            Place in the trace, and partition, of the jobs that are tried.
        running
            The running jobs.
        now
            The time, seconds.
        """
        tiers = self._partitions.tier
        running_tier = np.array([self._tier(job) for job in running], np.int64)
        order = np.flatnonzero(running_tier < tiers[partition].max(initial=0))
        if not len(order):
            return None
        tier = tiers[partition].copy()
        for place, job in enumerate(waiting.tolist()):
            if now - self._stopped_others.get(job, -self._patience) < self._patience:
                tier[place] = -1
        width = np.array([len(np.unique(running[row].placement)) for row in order.tolist()])
        return Preemption(
            tier, running_tier, order[np.lexsort((width, running_tier[order]))], np.full(len(running), -1)
        )

    def stops(self, preemption: Preemption, waiting: IntArray, running: Sequence[Running], now: int) -> list[Action]:
        """Return what is to be done with the jobs that are stopped."""
        actions: list[Action] = []
        for row in np.flatnonzero(preemption.by >= 0).tolist():
            job = running[row]
            self._stopped_others[int(waiting[preemption.by[row]])] = self.stopped_at = now
            actions.append(Stop(job, "kill"))
            if self.modes[job.job.queue] == "cancel":
                self._cancelled.add(job.order)
            else:
                self.away[job.order] = now + AWAY
        return actions

    def cancelled(self, waiting: Iterable[Waiting]) -> list[Action]:
        """Return refusals of the jobs that were stopped for good, which are back in the queue until then."""
        if not self._cancelled:
            return []
        gone = [job for job in waiting if job.order in self._cancelled]
        self._cancelled.difference_update(job.order for job in gone)
        return [Reject(job, _CANCELLED) for job in gone]

    def due(self, now: int) -> bool:
        """Return whether a job that gave way may start again since this was asked last."""
        back = [order for order, again in self.away.items() if again <= now]
        for order in back:
            del self.away[order]
        return bool(back)

    def _tier(self, job: Running) -> int:
        if self.modes.get(job.job.queue, "") not in ("requeue", "cancel"):
            return NEVER_STOPPED
        return int(self._partitions.tier[self._partitions.index(job.job.queue)])
