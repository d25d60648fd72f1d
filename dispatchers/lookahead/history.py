"""History of all jobs as arrays for the compiled models, with EASY's schedule of them."""

import sys
from collections.abc import Iterable

import numpy as np

from ...base import IntArray
from ...models.backfilling.job_queue import WAITS
from ...models.lookahead.expected_shadow import lengthen_expected, longest_wait, open_expected, predict
from ...models.lookahead.guarantees import NO_GUARANTEE
from ...models.lookahead.shadow import begin_with, lengthen, open_shadow
from ...models.lookahead.sightings import GONE, RUNS, Seen, Sightings, see_jobs
from ...models.lookahead.taking_over import Standing, longest_ahead, standing
from ...workloads import Machine
from ..columns import JobSequence
from ..protocol import Running, State, Waiting
from ..rule_book import bounded_ahead


class History:
    """One row per job in order of arrival, with its known run time, and EASY's schedule.

    The schedule is exact while run times are known. From there on it is an expectation
    (:mod:`.models.lookahead.expected_shadow`).

    Parameters
    ----------
    machine
        Machine of the jobs.
    now
        Begin of the history, seconds.
    by_walltimes
        Whether EASY uses walltimes instead of predictions.
    recent
        How long a long wait under EASY counts after the job has started there, seconds.
    """

    def __init__(self, machine: Machine, now: int, by_walltimes: bool = False, recent: int = sys.maxsize) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        self.machine = machine
        capacity = machine.capacity.sum(axis=0)
        self.jobs = open_shadow(capacity, now)
        self.expected = open_expected(self.jobs, capacity)
        self._by_walltimes = by_walltimes
        self._recent = recent
        self._guaranteed = nothing
        self._row: dict[str, int] = {}
        self._known = nothing  # Row by position in the trace, of jobs with kept columns. -1 for none.
        self._sightings = Sightings(nothing, nothing, nothing, nothing)
        self._last = Seen(nothing, nothing, now, 0)
        self._still = 0
        self._moldable: list[int] = []
        # Over `_summed` jobs, for remaining times.
        self._summed = 0
        self._work = 0.0
        self._residual = 0.0

    def see(self, state: State, predicted_in: State | None = None) -> None:
        """Record a state, and predictions of waiting jobs from another state of the same jobs, if given.

        EASY uses the first state. Expected run times come from the other.
        """
        columns = state.queue.table
        waiting = columns[0]
        predicted = columns[5 if self._by_walltimes else 2]
        started, _, end, start = state.running.table[:4]
        self._close(state.now)
        first = not self._row
        waits, runs = self._rows(state, waiting, started)
        if first and len(runs):
            begin_with(self.jobs, runs, start)
        seen = Seen(waits, runs, state.now, self._last.number + 1)
        see_jobs(self.jobs, self._sightings, self._last, seen, self._still, predicted, start, end)
        predict(self.jobs, self.expected, waits, (predicted_in or state).queue.table[2], columns[5])
        self._last, self._still = seen, len(waits)

    def _close(self, now: int) -> None:
        """Store in both schedules when the whole machine is closed. Closures of some nodes are ignored."""
        nodes = self.machine.nodes
        since = int(self.jobs.now.clock[0])
        closed = []
        until = now + bounded_ahead(self.machine)
        for rule in self.machine.rules.closing:
            for each in () if getattr(rule, "floating", False) else rule.closures(nodes, since, until):
                closed += [(each.begin, each.end)] * (each.amounts is None and len(each.nodes) == nodes)
        if closed:
            windows = np.array(sorted(closed), dtype=np.int64)
            self.jobs = self.jobs._replace(closed=windows)
            self.expected = self.expected._replace(jobs=self.expected.jobs._replace(closed=windows))

    def ended(self, id_: str, ran: int) -> None:
        """Record the total run time of an ended job, seconds. Call it before a state without the job."""
        row = self._row.get(id_)
        if row is not None:
            self._sightings.status[row] = GONE
            self.jobs.run[row] = ran
            self.jobs.known[row] = 1

    def start(self, ids: Iterable[str]) -> None:
        """Record which waiting jobs start at the last recorded instant. Unknown ids are ignored."""
        known = [self._row[id_] for id_ in ids if id_ in self._row]
        rows = np.array(known, dtype=np.int64)
        now = self._last.now
        self._sightings.status[rows] = RUNS
        self._sightings.start[rows] = now
        self._sightings.end[rows] = now + self.jobs.duration[rows]
        self._guaranteed[rows] = NO_GUARANTEE
        self._last = self._last._replace(running=np.concatenate((self._last.running, rows)))
        self._still -= len(rows)

    def guaranteed(self) -> IntArray:
        """Return the guaranteed starts of the waiting jobs, seconds from the last state. Shape (jobs,)."""
        guaranteed = self._guaranteed[self._last.waiting]
        return np.where(guaranteed == NO_GUARANTEE, NO_GUARANTEE, guaranteed - self._last.now)

    def guarantee(self, starts: IntArray) -> None:
        """Record guaranteed starts of the oldest waiting jobs, seconds from now, -1 for none."""
        rows = self._last.waiting[: len(starts)]
        self._guaranteed[rows[starts >= 0]] = self._last.now + starts[starts >= 0]

    def longest_wait(self, now: int) -> int:
        """Return the longest recent wait under EASY, known or expected. `now` must never fall between calls."""
        return int(longest_wait(self.jobs, self.expected, len(self._row), now, self._recent))

    def residual_time(self) -> int:
        """Return the mean remaining time of running jobs, by EASY's run times and all jobs so far, seconds.

        At a random time on a busy machine, a running job is likelier to be long and large, and is halfway through. So
        this is half the mean duration, weighted with work.
        """
        for row in range(self._summed, len(self._row)):
            duration = float(self.jobs.duration[row])
            work = duration * float((self.jobs.queue.amount[row] / self.expected.capacity).max())
            self._work += work
            self._residual += work * duration / 2
        self._summed = len(self._row)
        return int(self._residual / self._work) if self._work else 0

    def places(self, ids: Iterable[str]) -> IntArray:
        """Return the positions of jobs in the last queue, -1 for jobs not in it."""
        positions = [np.flatnonzero(self._last.waiting == self._row.get(id_, -1)) for id_ in ids]
        return np.array([place[0] if len(place) else -1 for place in positions], dtype=np.int64)

    def molds(self) -> bool:
        """Return whether the last queue contains a job with several shapes."""
        return bool(self._moldable) and bool(np.isin(self._last.waiting, self._moldable).any())

    def longest_ahead(self, now: int) -> int:
        """Return the longest expected wait of jobs that wait in EASY's schedule now, seconds.

        Call :meth:`longest_wait` first, which advances that schedule.
        """
        return int(longest_ahead(self.jobs, self.expected, now))

    def standing(self, state: State) -> Standing:
        """Return the real schedule of the last state."""
        # Copies, because read-only columns would compile the models once more.
        started = state.running.start.copy()
        free = np.array(state.free.sum(axis=0), dtype=np.int64)
        seen = self._last
        return standing(self.jobs, self.expected, seen.waiting, seen.running, started, free, state.now)

    def waits(self, now: int) -> tuple[IntArray, IntArray]:
        """Return known recent waits under EASY, and run times of these jobs, seconds.

        Both of shape (jobs,). For a job that still waits there, its wait so far.
        """
        some = len(self._row)
        clock = int(self.jobs.now.clock[0])
        submit, start, run = (column[:some] for column in (self.jobs.submit, self.jobs.queue.start, self.jobs.run))
        waiting = start == WAITS
        late = waiting | (start >= now - self._recent)
        return np.maximum(np.where(waiting, clock, start) - submit, 0)[late], run[late]

    def _rows(self, state: State, waiting: IntArray, started: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of waiting and of running jobs. New jobs get one."""
        now = state.now
        queue = state.queue
        running = state.running
        if not (queue.kept and running.kept):
            runs = np.array([self._row_of(job, now) for job in running], dtype=np.int64)
            return np.array([self._row_of(job, now) for job in queue], dtype=np.int64), runs
        last = max(waiting.max(initial=-1), started.max(initial=-1))
        if last >= len(self._known):
            more = np.full(max(1024, 2 * last) - len(self._known), -1, dtype=np.int64)
            self._known = np.concatenate((self._known, more))
        runs = self._filled(started, running, now)
        return self._filled(waiting, queue, now), runs

    def _filled(self, orders: IntArray, jobs: JobSequence[Waiting] | JobSequence[Running], now: int) -> IntArray:
        """Return the rows of jobs by their positions in the trace. New jobs get one."""
        rows = self._known[orders]
        for place in np.flatnonzero(rows < 0).tolist():
            rows[place] = self._known[orders[place]] = self._row_of(jobs[place], now)
        return rows

    def _row_of(self, job: Waiting | Running, now: int) -> int:
        """Return the row of a job. A new job gets one."""
        row = self._row.get(job.id, -1)
        return self._add(job, now) if row < 0 else row

    def _add(self, job: Waiting | Running, now: int) -> int:
        row = self._row[job.id] = len(self._row)
        if job.job.shapes:
            self._moldable.append(row)
        if row == len(self.jobs.running):
            rows = max(1024, 2 * row)
            self.jobs = lengthen(self.jobs, rows)
            self.expected = lengthen_expected(self.expected, self.jobs)
            more = np.zeros(rows - row, dtype=np.int64)
            self._sightings = Sightings(*(np.concatenate((column, more)) for column in self._sightings))
            self._guaranteed = np.concatenate((self._guaranteed, more + NO_GUARANTEE))
        # A job that runs without having been seen to wait has no known wait.
        self.jobs.submit[row] = min(job.job.submit, now) if isinstance(job, Waiting) else now
        self.jobs.arrival[row] = now
        self.jobs.duration[row] = self._length(job, now)
        self.jobs.queue.jobs.walltime[row] = job.walltime
        self.jobs.queue.amount[row] = [job.nodes * amount for amount in job.demand]
        self.jobs.run[row] = 1
        return row

    def _length(self, job: Waiting | Running, now: int) -> int:
        """Return the duration of a job for EASY, seconds."""
        if isinstance(job, Waiting):
            return job.walltime if self._by_walltimes else job.predicted
        return (job.walltime_end(now) if self._by_walltimes else job.expected_end(now)) - job.start
