"""What is expected of EASY up to now, where its exact schedule stops since run times are not known yet.

Once a job has started in EASY's schedule that in reality waits, nothing is certain there before that job has ended,
days later in a backlog. So from where the exact schedule stops another one goes on to now, in which such jobs run for
as long as is expected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import compiled
from .shadow import BLOCK, CLOCK, COUNTED, HEAD, PEAK, PEAKS, RUNNING, ShadowJobs, go_on, longer, longest_since, replay

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
    predicted, asked
        What was predicted of each when it last waited, 0 if it never did, and what it requests, seconds; shape (jobs,).
    guessed
        How long it is expected to run, seconds, shape (jobs,): what is predicted times what those that have ended ran
        by what was predicted of them, up to the request; 0 for as long as the schedule has it.
    counted
        1 where the run time is in `sums`, shape (jobs,).
    start, running, peaks, least, state
        As those of :class:`.ShadowJobs`, of the expected schedule.
    capacity
        Of the machine, shape (resources,).
    sums
        Of those of which less than the request was predicted, and of the others; shape (2, 2).
    numbers
        How far this is.
    """

    predicted: IntArray
    asked: IntArray
    guessed: IntArray
    counted: IntArray
    start: IntArray
    running: IntArray
    peaks: IntArray
    least: IntArray
    state: IntArray
    capacity: IntArray
    sums: FloatArray
    numbers: IntArray


def open_expected(jobs: ShadowJobs, capacity: IntArray) -> ExpectedShadow:
    """Return what is expected of a shadow before anything has been predicted, on a machine of these amounts."""
    predicted, asked, guessed, counted = np.zeros((4, len(jobs.submit)), dtype=np.int64)
    start, running, peaks, least, state = (column.copy() for column in jobs[6:])
    sums, numbers = np.zeros((2, 2)), np.array([1, 0, 0, 0], dtype=np.int64)
    given = np.maximum(capacity, 1)
    return ExpectedShadow(predicted, asked, guessed, counted, start, running, peaks, least, state, given, sums, numbers)


def lengthen_expected(expected: ExpectedShadow, jobs: ShadowJobs) -> ExpectedShadow:
    """Return the same with room for as many jobs as a shadow has."""
    rows = len(jobs.submit)
    predicted, asked, guessed, counted, start, running, peaks = (longer(column, rows) for column in expected[:7])
    return expected._replace(
        predicted=predicted, asked=asked, guessed=guessed, counted=counted, start=start, running=running, peaks=peaks,
        least=longer(expected.least, len(jobs.least)),
    )  # fmt: skip


@compiled
def predict(jobs: ShadowJobs, expected: ExpectedShadow, rows: IntArray, predicted: IntArray, asked: IntArray) -> None:
    """Take note of what is predicted of those who wait, and of what they request, seconds; each of shape (waiting,)."""
    ratios = expected.sums[:, _PREDICTED].copy()
    for kind in range(2):
        ratios[kind] = expected.sums[kind, _RAN] / ratios[kind] if ratios[kind] > 0 else 1.0
    for index in range(len(rows)):
        row = rows[index]
        expected.predicted[row], expected.asked[row] = predicted[index], asked[index]
        guess = round(ratios[int(predicted[index] >= asked[index])] * predicted[index])
        expected.guessed[row] = min(max(int(guess), 1), asked[index])
        # What the jobs of a block ask for at least is kept apart, durations are not.
        expected.least[row // BLOCK, -1] = min(expected.least[row // BLOCK, -1], jobs.duration[row])


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
    schedule = ShadowJobs(
        jobs.submit, jobs.arrival, jobs.duration, jobs.need, jobs.run, jobs.known,
        expected.start, expected.running, expected.peaks, expected.least, expected.state,
    )  # fmt: skip
    go_on(schedule, arrived, now, expected.guessed)
    return max(exact, longest_since(schedule, now - recent))


@compiled
def _learn(jobs: ShadowJobs, expected: ExpectedShadow, arrived: int) -> None:
    """Add those that have ended since to the sums."""
    counted, predicted, numbers = expected.counted, expected.predicted, expected.numbers
    for job in range(numbers[UNCOUNTED], arrived):
        if not jobs.known[job] or counted[job]:
            continue
        counted[job] = 1
        if jobs.run[job] > 0 and predicted[job] > 0:
            part = 0.0
            for resource in range(len(expected.capacity)):
                part = max(part, jobs.need[job, resource] / expected.capacity[resource])
            sums = expected.sums[int(predicted[job] >= expected.asked[job])]
            sums[_PREDICTED] += part * predicted[job]
            sums[_RAN] += part * jobs.run[job]
    while numbers[UNCOUNTED] < arrived and counted[numbers[UNCOUNTED]]:
        numbers[UNCOUNTED] += 1


@compiled
def _begin(jobs: ShadowJobs, expected: ExpectedShadow) -> None:
    """Begin the expected schedule from where the exact one is: only what may differ is copied."""
    first, state = expected.numbers[APART], jobs.state
    last = max(state[COUNTED], expected.state[COUNTED])
    expected.start[first:last] = jobs.start[first:last]
    expected.running[: state[RUNNING]] = jobs.running[: state[RUNNING]]
    expected.peaks[state[PEAK] : state[PEAKS]] = jobs.peaks[state[PEAK] : state[PEAKS]]
    blocks = last // BLOCK + 1
    expected.least[first // BLOCK : blocks] = jobs.least[first // BLOCK : blocks]
    expected.state[:] = state
    expected.numbers[APART] = state[HEAD]
