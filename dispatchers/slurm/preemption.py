"""Preemption of jobs by partition tiers or QOS, and when preempted jobs may start again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...base import BoolArray, IntArray
from ...models.slurm.preemption import Preemption
from ...workloads.slurm_conf import SlurmSite
from ..protocol import Action, JobView, Reject, Running, Stop, Waiting
from .limits import Limits
from .options import SlurmOptions
from .partitions import Partitions

#: Preemption modes.
_MODES = ("requeue", "cancel")
#: Seconds from a requeue until the job may start again.
AWAY = 122
#: Seconds beyond ``KillWait`` in which a preempting job preempts no more, as ``MessageTimeout`` by default.
_PATIENCE = 10
_CANCELLED = "a job that comes before it stopped it"


class JobClasses:
    """Preemption classes of jobs: partition tiers, or QOS.

    Parameters
    ----------
    options, site, partitions, limits
        Options and site.

    Attributes
    ----------
    modes
        Preemption mode of each class: ``requeue``, ``cancel`` or another text for none. Shape (classes,).
    ranks
        Rank of each class, lowest preempted first, shape (classes,).
    gives_way
        Whether the first class may preempt the second, shape (classes, classes).
    exempt
        Seconds that jobs of each class run before they may be preempted.
    """

    def __init__(self, options: SlurmOptions, site: SlurmSite | None, partitions: Partitions, limits: Limits) -> None:
        self.by_qos = options.PreemptType == "preempt/qos"
        self._partitions = partitions
        self._limits = limits
        plain = options.PreemptMode.lower()
        given: list[tuple[str, str, int]] = []
        if self.by_qos:
            given = [
                (name, plain if qos.preempt_mode == "cluster" else qos.preempt_mode, qos.priority)
                for name, qos in limits.qualities.items()
            ]
        elif site is not None and options.PreemptType == "preempt/partition_prio":
            given = [(each.name, each.preempt or plain, each.tier) for each in site.partitions]
        modes = [next((part for part in mode.split(",") if part in _MODES), "") for _, mode, _ in given]
        self.modes = ["cancel" if mode == "requeue" and not options.JobRequeue else mode for mode in modes]
        self._row = {name: row for row, (name, _, _) in enumerate(given)}
        self.ranks = np.array([rank for *_, rank in given], np.int64)
        stopped = np.array([mode != "" for mode in self.modes], np.bool_)
        above = self.ranks[:, None] > self.ranks[None, :]
        if self.by_qos:
            named = [limits.qualities[name].preempt for name in self._row]
            above = np.array([[other in names for other in self._row] for names in named], np.bool_)
        own = [limits.qualities[name].exempt for name in self._row] if self.by_qos else [None] * len(given)
        self.exempt = [options.exempt if each is None else each for each in own]
        self.gives_way = above.reshape(len(given), len(given)) & stopped
        if not self.gives_way.any():
            self.modes = []

    def of(self, job: JobView) -> int:
        """Return the class of a job, -1 for none."""
        return self._row.get(self._limits.site.name_of(job) if self.by_qos else job.queue, -1)


class JobPreemption:
    """Preemption by classes of jobs.

    Parameters
    ----------
    classes
        The classes.
    kill_wait
        ``KillWait``, seconds.
    stop_time
        Seconds from the preemption of a job until its nodes are free, at least 1.

    Attributes
    ----------
    modes
        Modes of the classes. Empty if no job may be preempted.
    away
        When preempted jobs may start again, by position in the trace.
    stopped_at
        When jobs were last preempted, until the main scheduler has run.
    """

    def __init__(self, classes: JobClasses, kill_wait: int, stop_time: int = 1) -> None:
        self._classes = classes
        self.modes = classes.modes
        self._patience = max(kill_wait + _PATIENCE, stop_time + 2)
        self._stop_time = stop_time
        self._ending: dict[tuple[int, int], int] = {}
        self._exempt_until = 0
        self._stopped_others: dict[int, int] = {}
        self.away: dict[int, int] = {}
        self.stopped_at: int | None = None
        self._cancelled: set[int] = set()

    def of(self, waiting: Sequence[Waiting], running: Sequence[Running], now: int) -> Preemption | None:
        """Return the preemption data for the jobs to try. ``None`` if no running job can be preempted.

        Parameters
        ----------
        waiting
            Jobs to try.
        running
            Running jobs.
        now
            The time, seconds.
        """
        classes = self._classes
        of = np.array([classes.of(each.job) for each in waiting], np.int64)
        runs = np.array([classes.of(each.job) for each in running], np.int64)
        for place, run in enumerate(running):
            exempt = classes.exempt[runs[place]] if runs[place] >= 0 else 0
            if now - run.start < exempt:
                self._exempt_until = min(self._exempt_until or run.start + exempt, run.start + exempt)
                runs[place] = -1
            elif (run.order, run.start) in self._ending:
                runs[place] = -1
        for place, each in enumerate(waiting):
            if now - self._stopped_others.get(each.order, -self._patience) < self._patience:
                of[place] = -1
        # Running jobs without a class form one more class, which is never preempted.
        gives_way = np.pad(classes.gives_way, ((0, 1), (0, 1)))
        stopped: BoolArray = np.logical_or.reduce(gives_way[of[of >= 0]], axis=0)
        order = np.flatnonzero(stopped[runs])
        if not len(order):
            return None
        width = np.array([len(np.unique(running[row].placement)) for row in order.tolist()])
        ranked = order[np.lexsort((width, classes.ranks[runs[order]]))]
        runs[runs < 0] = len(classes.ranks)
        return Preemption(of, runs, gives_way, ranked, np.full(len(running), -1))

    def stops(self, preemption: Preemption, waiting: IntArray, running: Sequence[Running], now: int) -> list[Action]:
        """Return the actions for the preempted jobs."""
        actions: list[Action] = []
        for row in np.flatnonzero(preemption.by >= 0).tolist():
            job = running[row]
            self._stopped_others[int(waiting[preemption.by[row]])] = self.stopped_at = now
            if self._stop_time > 1:  # It keeps its nodes until its processes have ended.
                self._ending[job.order, job.start] = now + self._stop_time - 1
            else:
                actions.append(self._stop(job, now))
        return actions

    def ended(self, running: Iterable[Running], now: int) -> list[Action]:
        """Return the actions for preempted jobs whose processes have ended."""
        if self._exempt_until and self._exempt_until <= now:
            self._exempt_until = 0
        if not self._ending:
            return []
        due = [job for job in running if self._ending.get((job.order, job.start), now + 1) <= now]
        self._ending = {key: at for key, at in self._ending.items() if at > now}
        if due:
            self.stopped_at = now
        return [self._stop(job, now) for job in due]

    def following(self) -> list[int]:
        """Return when the processes of preempted jobs end, and when the next job may be preempted."""
        return [*self._ending.values(), *([self._exempt_until] if self._exempt_until else [])]

    def memory(self, ids: Mapping[int, str]) -> dict[str, Any]:
        """Return which jobs are being stopped, and when jobs last preempted others. `ids` has ids by position."""
        return {
            "stopped_at": self.stopped_at,
            "exempt_until": self._exempt_until,
            "ending": [(ids[order], start, at) for (order, start), at in self._ending.items()],
            "stopped_others": [(ids[order], at) for order, at in self._stopped_others.items()],
        }

    def restore(self, memory: Mapping[str, Any], places: Mapping[str, int]) -> None:
        """Restore what :meth:`memory` returned. `places` has positions by id; jobs that have left have none."""
        self.stopped_at = memory["stopped_at"]
        self._exempt_until = memory["exempt_until"]
        self._ending = {(places[id_], start): at for id_, start, at in memory["ending"] if id_ in places}
        self._stopped_others = {places[id_]: at for id_, at in memory["stopped_others"] if id_ in places}

    def _stop(self, job: Running, now: int) -> Action:
        if self.modes[self._classes.of(job.job)] == "cancel":
            self._cancelled.add(job.order)
        else:
            self.away[job.order] = now + AWAY
        return Stop(job, "kill")

    def cancelled(self, waiting: Iterable[Waiting]) -> list[Action]:
        """Return rejections of cancelled jobs, which are back in the queue until then."""
        if not self._cancelled:
            return []
        gone = [job for job in waiting if job.order in self._cancelled]
        self._cancelled.difference_update(job.order for job in gone)
        return [Reject(job, _CANCELLED) for job in gone]

    def due(self, now: int) -> bool:
        """Return whether a preempted job may start again since the last call."""
        back = [order for order, again in self.away.items() if again <= now]
        for order in back:
            del self.away[order]
        return bool(back)
