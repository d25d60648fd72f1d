"""What is expected of EASY up to now, where its exact schedule stops since run times are not known yet.

Once a job has started in EASY's schedule that in reality waits, nothing is certain there before that job has ended,
days later in a backlog. So from where the exact schedule stops another one goes on to now, in which such jobs run for
as long as is expected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..backfilling.job_queue import BLOCK, COUNT, HEAD, RUNTIME, expect_length
from ..compiled import compiled
from .shadow import CLOCK, KNOWN, PEAK, PEAKS, RUNNING, ShadowJobs, go_on, lengthen, longest_since, replay

#: The expected schedule begins anew from the exact one after so many seconds at least, or once the time has passed by
#: this part of what the exact one lags behind: what is gone through again is then at most so many times what is new.
_OFTEN, _PART = 3600, 0.25
#: The numbers: whether the expected schedule is to begin anew, when it last did, the first job that may have started at
#: another time in it than in the exact one, and the first whose run time does not count yet.
ANEW, BEGUN, APART, UNCOUNTED = range(4)
#: The sums: what was predicted of those that have ended and what they ran, by their part of the machine.
_PREDICTED, _RAN = range(2)


class ExpectedShadow(NamedTuple):
    """What is expected of the jobs of a :class:`.ShadowJobs`, and of their schedule.

    Attributes
    ----------
    predicted, walltime
        What was predicted of each when it last waited, 0 if it never did, and what it requests, seconds; shape (jobs,).
    guessed
        How long it is expected to run, seconds, shape (jobs,): what is predicted times what those that have ended ran
        by what was predicted of them, up to the request; 0 for as long as the schedule has it.
    counted
        1 where the run time is in `sums`, shape (jobs,).
    jobs
        The expected schedule; its columns and amounts are those of the exact one.
    capacity
        Of the machine, shape (resources,).
    sums
        Of those of which less than the request was predicted, and of the others; shape (2, 2).
    numbers
        How far this is.
    """

    predicted: IntArray
    walltime: IntArray
    guessed: IntArray
    counted: IntArray
    jobs: ShadowJobs
    capacity: IntArray
    sums: FloatArray
    numbers: IntArray


def open_expected(jobs: ShadowJobs, capacity: IntArray) -> ExpectedShadow:
    """Return what is expected of a shadow before anything has been predicted, on a machine of these amounts."""
    predicted, walltime, guessed, counted = np.zeros((4, len(jobs.running)), dtype=np.int64)
    sums, numbers = np.zeros((2, 2)), np.array([1, 0, 0, 0], dtype=np.int64)
    schedule = _sharing(lengthen(jobs, len(jobs.running))._replace(state=jobs.state.copy()), jobs)
    return ExpectedShadow(predicted, walltime, guessed, counted, schedule, np.maximum(capacity, 1), sums, numbers)


def lengthen_expected(expected: ExpectedShadow, jobs: ShadowJobs) -> ExpectedShadow:
    """Return the same with room for as many jobs as a shadow has."""
    rows = len(jobs.running)
    made = np.zeros((4, rows), dtype=np.int64)
    for new, old in zip(made, expected[:4], strict=True):
        new[: len(old)] = old
    schedule = _sharing(lengthen(expected.jobs, rows), jobs)
    predicted, walltime, guessed, counted = made
    return expected._replace(predicted=predicted, walltime=walltime, guessed=guessed, counted=counted, jobs=schedule)


def _sharing(schedule: ShadowJobs, jobs: ShadowJobs) -> ShadowJobs:
    """Return a schedule with the columns and amounts of another one."""
    queue = schedule.queue._replace(columns=jobs.queue.columns, amount=jobs.queue.amount)
    return schedule._replace(queue=queue)


@compiled
def predict(
    jobs: ShadowJobs, expected: ExpectedShadow, rows: IntArray, predicted: IntArray, walltime: IntArray
) -> None:
    """Take note of what is predicted of those who wait, and of what they request, seconds; each of shape (waiting,)."""
    ratios = expected.sums[:, _PREDICTED].copy()
    for kind in range(2):
        ratios[kind] = expected.sums[kind, _RAN] / ratios[kind] if ratios[kind] > 0 else 1.0
    for index in range(len(rows)):
        row = rows[index]
        expected.predicted[row], expected.walltime[row] = predicted[index], walltime[index]
        guess = round(ratios[int(predicted[index] >= walltime[index])] * predicted[index])
        expected.guessed[row] = min(max(int(guess), 1), walltime[index])
        # What the jobs of a block ask for at least is kept apart, durations are not.
        expect_length(expected.jobs.queue, row)


@compiled
def longest_wait(jobs: ShadowJobs, expected: ExpectedShadow, arrived: int, now: int, recent: int) -> int:
    """Bring both schedules forward; return the longest wait under EASY of late, as it is known or expected, seconds.

    Parameters
    ----------
    jobs, expected
        Brought forward.
    arrived
        How many jobs have come.
    now
        Up to when, seconds.
    recent
        Of those that wait there, or have started so many seconds ago at most; the same at each call.
    """
    numbers = expected.numbers
    until = replay(jobs, arrived, now)
    exact = longest_since(jobs, now - recent)
    if until > now:
        numbers[ANEW] = 1
        return exact
    if numbers[ANEW] or now - numbers[BEGUN] > max(_OFTEN, _PART * (now - jobs.state[CLOCK])):
        _learn(jobs, expected, arrived)
        _begin(jobs, expected)
        numbers[ANEW], numbers[BEGUN] = 0, now
    go_on(expected.jobs, arrived, now, expected.guessed)
    return max(exact, longest_since(expected.jobs, now - recent))


@compiled
def _learn(jobs: ShadowJobs, expected: ExpectedShadow, arrived: int) -> None:
    """Add those that have ended since to the sums."""
    counted, predicted, numbers, columns = expected.counted, expected.predicted, expected.numbers, jobs.queue.columns
    for job in range(numbers[UNCOUNTED], arrived):
        if not columns[KNOWN, job] or counted[job]:
            continue
        counted[job] = 1
        if columns[RUNTIME, job] > 0 and predicted[job] > 0:
            part = 0.0
            for resource in range(len(expected.capacity)):
                part = max(part, jobs.queue.amount[job, resource] / expected.capacity[resource])
            sums = expected.sums[int(predicted[job] >= expected.walltime[job])]
            sums[_PREDICTED] += part * predicted[job]
            sums[_RAN] += part * columns[RUNTIME, job]
    while numbers[UNCOUNTED] < arrived and counted[numbers[UNCOUNTED]]:
        numbers[UNCOUNTED] += 1


@compiled
def _begin(jobs: ShadowJobs, expected: ExpectedShadow) -> None:
    """Begin the expected schedule from where the exact one is: only what may differ is copied."""
    first, state, queue, schedule = expected.numbers[APART], jobs.state, jobs.queue, expected.jobs
    last = max(queue.numbers[COUNT], schedule.queue.numbers[COUNT])
    schedule.queue.start[first:last] = queue.start[first:last]
    schedule.running[: state[RUNNING]] = jobs.running[: state[RUNNING]]
    schedule.peaks[state[PEAK] : state[PEAKS]] = jobs.peaks[state[PEAK] : state[PEAKS]]
    blocks = last // BLOCK + 1
    schedule.queue.least[first // BLOCK : blocks] = queue.least[first // BLOCK : blocks]
    schedule.state[:] = state
    schedule.queue.numbers[:] = queue.numbers
    expected.numbers[APART] = queue.numbers[HEAD]
