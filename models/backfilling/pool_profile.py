"""What is free of one number when, compiled: a step function of time that is held and released in intervals."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base import IntArray
from ..compiled import compiled

#: Arrays side by side.
ArraysT = TypeVar("ArraysT", bound=tuple[Any, ...])
#: Later than any time.
NEVER = np.iinfo(np.int64).max


class Profile(NamedTuple):
    """Free units over time; the last step lasts for ever.

    Attributes
    ----------
    times
        When what is free changes, seconds, rising, shape (most,).
    free
        What is free from then on, shape (most,); below zero where more was promised than there is.
    steps
        How many steps are set, shape (1,).
    """

    times: IntArray
    free: IntArray
    steps: IntArray


def open_profile(free: int, now: int, most: int) -> Profile:
    """Return a profile with `free` units from `now` on, and room for `most` steps."""
    profile = Profile(*(np.zeros(size, dtype=np.int64) for size in (most, most, 1)))
    profile.times[0], profile.free[0], profile.steps[0] = now, free, 1
    return profile


def longer(old: ArraysT, new: ArraysT) -> ArraysT:
    """Copy arrays into longer ones."""
    for source, target in zip(old, new, strict=True):
        target[: len(source)] = source
    return new


def released(profile: Profile, start: int, end: int, amount: int) -> Profile:
    """Return the profile after :func:`release`, in longer arrays where these are full."""
    room = len(profile.times)
    if profile.steps[0] + 2 > room:
        profile = longer(profile, open_profile(0, 0, 2 * room))
    release(profile, start, end, amount)
    return profile


@compiled
def step_at(profile: Profile, time: int) -> int:
    """Return the step that `time`, not before the first, lies in."""
    return int(np.searchsorted(profile.times[: profile.steps[0]], time, side="right")) - 1


@compiled
def advance(profile: Profile, now: int) -> None:
    """Forget what lies before `now`."""
    first, steps = step_at(profile, now), profile.steps[0]
    if first > 0:
        for step in range(first, steps):
            profile.times[step - first] = profile.times[step]
            profile.free[step - first] = profile.free[step]
        profile.steps[0] = steps - first
    profile.times[0] = now


@compiled
def release(profile: Profile, start: int, end: int, amount: int) -> None:
    """Add `amount` to what is free in [`start`, `end`); a negative one takes it."""
    if end <= start:
        return
    first = _split(profile, start)
    stop = _split(profile, end)
    for step in range(first, stop):
        profile.free[step] += amount
    if profile.free[stop] == profile.free[stop - 1]:
        _join(profile, stop)
    if first > 0 and profile.free[first] == profile.free[first - 1]:
        _join(profile, first)


@compiled
def _split(profile: Profile, time: int) -> int:
    """Return the step that begins at `time`, made if there is none."""
    before = step_at(profile, time)
    if profile.times[before] == time:
        return before
    steps = profile.steps[0]
    for step in range(steps, before + 1, -1):
        profile.times[step] = profile.times[step - 1]
        profile.free[step] = profile.free[step - 1]
    profile.times[before + 1] = time
    profile.free[before + 1] = profile.free[before]
    profile.steps[0] = steps + 1
    return before + 1


@compiled
def _join(profile: Profile, step: int) -> None:
    """Let the step before a step go on through it."""
    for later in range(step, profile.steps[0] - 1):
        profile.times[later] = profile.times[later + 1]
        profile.free[later] = profile.free[later + 1]
    profile.steps[0] -= 1


@compiled
def peak(profile: Profile, start: int, end: int) -> int:
    """Return the most that is free at once in [`start`, `end`)."""
    step = step_at(profile, start)
    most = profile.free[step]
    step += 1
    while step < profile.steps[0] and profile.times[step] < end:
        most = max(most, profile.free[step])
        step += 1
    return int(most)


@compiled
def free_since(profile: Profile, amount: int, time: int) -> int:
    """Return since when `amount` is free at `time`, or from when on if it is not; :data:`NEVER` if it never is."""
    step = step_at(profile, time)
    if profile.free[step] < amount:
        step = next_above(profile, amount, step)
        return int(profile.times[step]) if step < profile.steps[0] else NEVER
    while step > 0 and profile.free[step - 1] >= amount:
        step -= 1
    return int(profile.times[step])


@compiled
def next_above(profile: Profile, amount: int, step: int) -> int:
    """Return the first step, from `step` on, in which `amount` is free; the number of steps if there is none."""
    while step < profile.steps[0] and profile.free[step] < amount:
        step += 1
    return step


@compiled
def next_short(profile: Profile, amount: int, step: int, end: int, held: int) -> int:
    """Return the first step after `step`, before the time `end`, in which what is asked for is not there.

    That is `amount`, from `held` on one's own already. The number of steps if it is there until `end`.
    """
    steps = profile.steps[0]
    step += 1
    while step < steps and profile.times[step] < end:
        if profile.free[step] < amount and (profile.times[step] < held or profile.free[step] < 0):
            return step
        step += 1
    return int(steps)


@compiled
def earliest(profile: Profile, amount: int, duration: int, after: int, before: int, held: int) -> int:
    """Return the first start in [`after`, `before`) with `amount` free for `duration` seconds; -1 if there is none.

    From `held` on, what is asked for is one's own already.
    """
    last = profile.steps[0] - 1
    step, start = step_at(profile, after), after
    while True:
        while profile.free[step] < amount:
            step += 1
            if step > last:
                return -1
            start = int(profile.times[step])
            if start >= before:
                return -1
        if start >= before:
            return -1
        end = start + duration
        fits = True
        while step < last and profile.times[step + 1] < end:
            step += 1
            if profile.free[step] < amount and (profile.times[step] < held or profile.free[step] < 0):
                fits = False
                break
        if fits:
            return start


@compiled
def free_until(profile: Profile, amount: int) -> int:
    """Return until when `amount` is free from the first step on: that step's time if it is not, or :data:`NEVER`."""
    for step in range(profile.steps[0]):
        if profile.free[step] < amount:
            return int(profile.times[step])
    return NEVER
