"""The rules of three papers as plain loops over events, written from the descriptions of these rules.

They share no code with the engine. Machines are pools of cores. Each function returns the starts by job.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter

from hpcdispatch.workloads import Job


@dataclass(slots=True, eq=False)
class SimJob:
    """A job while it is simulated. `turn` is its place in the order of the starts."""

    number: int
    id: str
    submit: int
    real: int
    request: int
    cores: int
    user: str
    predicted: int = 0
    start: int = 0
    end: int = 0
    expected: int = 0
    misses: int = 0
    turn: int = 0


_END, _EXPECTED = attrgetter("end"), attrgetter("expected")


def _jobs(jobs: Sequence[Job], killed: bool = False) -> list[SimJob]:
    """Return jobs in the order of submission. If jobs are killed, none takes longer than its request."""
    return [
        SimJob(
            number,
            job.id,
            job.submit,
            min(job.runtime, job.walltime) if killed else job.runtime,
            job.walltime,
            job.nodes * sum(job.per_node.values()),
            job.user,
        )
        for number, job in enumerate(sorted(jobs, key=attrgetter("submit")))
    ]


#: The first prediction of a job from the last two run times of its user, seconds.
Predict = Callable[[SimJob, Sequence[int]], int]
#: The new end of a job that runs on, seconds after its start.
Correct = Callable[[SimJob], int]


def _mean_of_two(job: SimJob, last: Sequence[int]) -> int:
    return min(sum(last) // 2, job.request) if len(last) == 2 else job.request


def _request(job: SimJob) -> int:
    return job.request


def _twice(job: SimJob) -> int:
    return 2 * (job.expected - job.start)


#: Minutes after the first prediction, at the first, second, ... miss.
_STEPS = (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000)


def _steps(job: SimJob) -> int:
    before = _STEPS[job.misses - 1] if job.misses else 0
    return min(job.expected - job.start + 60 * (_STEPS[job.misses] - before), job.request)


#: The predictions of SC 2015.
SC15_PREDICTIONS: Mapping[str, tuple[Predict, Correct]] = {
    "walltime": (lambda job, last: job.request, _request),
    "oracle": (lambda job, last: job.real, _request),
    "2x request": (lambda job, last: 2 * job.request, _request),
    "AVG2, reqtime": (_mean_of_two, _request),
    "AVG2, doubling": (_mean_of_two, _twice),
    "AVG2, tsafrir": (_mean_of_two, _steps),
}


def sc15_starts(
    jobs: Sequence[Job], cores: int, prediction: str, shortest_first: bool, only_if_fits: bool = False
) -> dict[str, int]:
    """Return the starts under EASY or EASY-SJBF by the rules of SC 2015.

    In each second come the corrections, then each arrival, then each end, with a dispatch after each arrival and each
    end. Jobs that end in this second as foreseen hold nothing from its first event on. With `only_if_fits` there is no
    dispatch at the arrival of a job that does not fit.
    """
    return _Backfilling(jobs, cores, *SC15_PREDICTIONS[prediction], shortest_first, only_if_fits).starts


class _Backfilling:
    """EASY with corrected predictions, from one second with events to the next."""

    def __init__(
        self,
        jobs: Sequence[Job],
        cores: int,
        predict: Predict,
        correct: Correct,
        shortest_first: bool,
        only_if_fits: bool,
    ) -> None:
        self.cores, self.predict, self.correct = cores, predict, correct
        self.shortest_first, self.only_if_fits = shortest_first, only_if_fits
        self.waiting: list[SimJob] = []
        #: Running jobs by their real ends, and by their expected ones.
        self.by_end: list[SimJob] = []
        self.by_expected: list[SimJob] = []
        self.last: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=2))
        self.starts: dict[str, int] = {}
        coming = deque(_jobs(jobs, killed=True))
        while coming or self.by_end:
            times = [coming[0].submit] if coming else []
            if self.by_end:
                times += [self.by_end[0].end, self.by_expected[0].expected]
            self.now = min(times)
            self.correct_predictions()
            arriving = []
            while coming and coming[0].submit == self.now:
                arriving.append(coming.popleft())
            self.second(arriving)

    def correct_predictions(self) -> None:
        """Correct the predictions that are over, of jobs that run on."""
        over = self.by_expected[: bisect_right(self.by_expected, self.now, key=_EXPECTED)]
        for job in over:
            if job.end > self.now:
                self.by_expected.remove(job)
                job.expected = job.start + self.correct(job)
                job.misses += 1
                insort(self.by_expected, job, key=_EXPECTED)

    def second(self, arriving: Sequence[SimJob]) -> None:
        """Take the arrivals and the ends of this second."""
        for job in arriving:
            job.predicted = max(1, self.predict(job, self.last[job.user]))
        for job in arriving:
            self.waiting.append(job)
            if not self.only_if_fits or job.cores <= self.cores - sum(each.cores for each in self.holding()):
                self.dispatch()
        ending = self.by_end[: bisect_right(self.by_end, self.now, key=_END)]
        ending.sort(key=attrgetter("turn"))
        for job in ending:
            if job.expected == self.now:
                self.end(job)
        for job in ending:
            if job.expected != self.now:
                self.end(job)
            self.dispatch()

    def end(self, job: SimJob) -> None:
        """Let a job leave the machine."""
        self.by_end.remove(job)
        self.by_expected.remove(job)
        self.last[job.user].append(job.real)

    def holding(self) -> list[SimJob]:
        """Return the running jobs that hold cores in this second, by their expected ends."""
        return self.by_expected[bisect_right(self.by_expected, self.now, key=_EXPECTED) :]

    def dispatch(self) -> None:
        """Start the first jobs while they fit, then those that do not delay the first that does not."""
        if not self.waiting:
            return
        holding = self.holding()
        free = self.cores - sum(job.cores for job in holding)
        while self.waiting and self.waiting[0].cores <= free:
            job = self.waiting.pop(0)
            free -= job.cores
            self.start(job)
            insort(holding, job, key=_EXPECTED)
        if not self.waiting or not free:
            return
        head, later, shadow = self.waiting[0].cores, free, self.now
        for job in holding:
            if later >= head and job.expected > shadow:
                break
            later, shadow = later + job.cores, job.expected
        extra = later - head
        rest = [job for job in self.waiting[1:] if job.cores <= free]
        if self.shortest_first:
            rest.sort(key=attrgetter("predicted"))
        for job in rest:
            in_time = self.now + job.predicted <= shadow
            if job.cores <= free and (in_time or job.cores <= extra):
                free -= job.cores
                extra -= 0 if in_time else job.cores
                self.waiting.remove(job)
                self.start(job)

    def start(self, job: SimJob) -> None:
        """Let a job begin."""
        job.start = self.starts[job.id] = self.now
        job.turn = len(self.starts)
        job.end, job.expected = self.now + job.real, self.now + job.predicted
        insort(self.by_end, job, key=_END)
        insort(self.by_expected, job, key=_EXPECTED)


#: The orders of RLScheduler, the least first.
RLSCHEDULER_ORDERS: Mapping[str, Callable[[SimJob], float]] = {
    "FCFS": lambda job: job.submit,
    "SJF": lambda job: job.request,
    "F1": lambda job: math.log10(job.request) * job.cores + 870 * math.log10(job.submit),
}


def rlscheduler_starts(jobs: Sequence[Job], cores: int, order: str, backfill: bool) -> dict[str, int]:
    """Return the starts by the rules of RLScheduler.

    One job is chosen at a time and kept until it starts. Meanwhile others may start in the order of submission, if they
    would end before the shadow time of the choice. Arrivals come before ends of the same second, one event at a time.
    """
    coming, starts = deque(_jobs(jobs)), dict[str, int]()
    queue: list[SimJob] = []
    running: list[SimJob] = []
    rank = {job.id: RLSCHEDULER_ORDERS[order](job) for job in coming}
    free, now = cores, 0

    def start(job: SimJob) -> None:
        nonlocal free
        queue.remove(job)
        starts[job.id] = job.start = now
        job.end = now + job.real
        insort(running, job, key=_END)
        free -= job.cores

    def next_event() -> int:
        nonlocal free
        if coming and (not running or coming[0].submit <= running[0].end):
            queue.append(coming.popleft())
            return queue[-1].submit
        ended = running.pop(0)
        free += ended.cores
        return ended.end

    while coming or queue:
        while not queue:
            now = next_event()
        chosen = min(queue, key=lambda job: rank[job.id])
        later, shadow = free, now
        for job in sorted(running, key=lambda job: job.start + job.request):
            if later >= chosen.cores:
                break
            later, shadow = later + job.cores, job.start + job.request
        while chosen.cores > free:
            for job in queue[:] if backfill and free else ():
                if job is not chosen and job.cores <= free and now + job.request < shadow:
                    start(job)
            now = next_event()
        start(chosen)
    return starts


def hpcopt_starts(jobs: Sequence[Job], cores: int, name: str) -> dict[str, int]:
    """Return the starts under FIFO, EASY or conservative backfilling by the rules of HPCOpt.

    There is one dispatch for all events of a second. The real ends of running jobs are known. EASY has no extra nodes.
    If the first job fits, all that fits starts. Conservative backfilling plans all waiting jobs anew.
    """
    coming, starts = deque(_jobs(jobs)), dict[str, int]()
    queue: list[SimJob] = []
    running: list[SimJob] = []
    free = cores
    while coming or running:
        arrival = coming[0].submit if coming else math.inf
        now = int(min(arrival, running[0].end if running else math.inf))
        while running and running[0].end <= now:
            free += running.pop(0).cores
        while coming and coming[0].submit <= now:
            queue.append(coming.popleft())
        for job in _HPCOPT[name](queue, running, free, now):
            queue.remove(job)
            free -= job.cores
            starts[job.id], job.end = now, now + job.real
            insort(running, job, key=_END)
    return starts


def _first_come(queue: Sequence[SimJob], running: Sequence[SimJob], free: int, now: int) -> list[SimJob]:
    started = []
    for job in queue:
        free -= job.cores
        if free < 0:
            break
        started.append(job)
    return started


def _in_time(queue: Sequence[SimJob], running: Sequence[SimJob], free: int, now: int) -> list[SimJob]:
    started, shadow = [], math.inf
    if queue and queue[0].cores > free:
        later = accumulate((job.cores for job in running), initial=free)
        shadow = next(job.end for job, amount in zip(running, [*later][1:], strict=True) if amount >= queue[0].cores)
    for job in queue:
        if not free:
            break
        if job.cores <= free and now + job.request <= shadow:
            free -= job.cores
            started.append(job)
    return started


def _planned(queue: Sequence[SimJob], running: Sequence[SimJob], free: int, now: int) -> list[SimJob]:
    started = []
    # Cores that are planned to be taken or given back, by time.
    changes = {now: free}
    for job in running:
        changes[job.end] = changes.get(job.end, 0) + job.cores
    for job in queue:
        if not free:
            break
        level, begin = 0, -1
        for time in sorted(changes):
            if level >= job.cores and time >= begin + job.request:
                break
            level += changes[time]
            if level < job.cores:
                begin = -1
            elif begin < 0:
                begin = time
        changes[begin] -= job.cores
        changes[begin + job.request] = changes.get(begin + job.request, 0) + job.cores
        if begin == now:
            free -= job.cores
            started.append(job)
    return started


_HPCOPT = {"FIFO": _first_come, "EASY": _in_time, "conservative": _planned}
