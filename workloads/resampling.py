"""Resample a trace: other samples of the same users, days and weeks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base import FloatArray, InputError, IntArray, check_number, check_whole
from ..base.argument_types import names_wrong_types
from .closed_loops import UNKNOWN_USERS, reacting
from .job_columns import Coded, JobColumns
from .workload import Workload

DAY = 86400
WEEK = 7 * DAY
#: Fewest weeks and users for resampling by users. Shorter or poorer traces are resampled by days.
LEAST_WEEKS, LEAST_USERS = 3, 5
#: A last week of at least this many seconds counts as a whole one.
_NEARLY = 6 * DAY
#: Distance from the load to keep at which no more weeks of users are left out, as a share.
_NEAR = 0.002
#: Most load that a resample may have. More is no machine's workload.
MOST_LOAD = 10.0
#: Most jobs in a resample, in multiples of those of the trace.
_MOST_TIMES = 50
#: First number of the seeds, so that other random parts with the same seed are independent.
_STREAM = 20140829


@dataclass(frozen=True, slots=True)
class _DrawnRows:
    """The jobs of a resample before they are sorted: rows of the trace, their shifts in seconds, and their copy."""

    rows: IntArray
    shift: IntArray
    copy: IntArray

    def only(self, chosen: Any) -> _DrawnRows:
        """Return some of the jobs, by a mask or indices."""
        return _DrawnRows(self.rows[chosen], self.shift[chosen], self.copy[chosen])


@names_wrong_types
def resample(workload: Workload, seed: int, load: float | None = None) -> Workload:
    """Return another sample of a trace: its users, drawn with replacement, with their whole sessions.

    Every user that is drawn keeps all jobs in their order. They are moved by a random number of whole weeks, around the
    ends of the trace. So the cycles of day and week stay, and the sessions and habits of each user. A user that is
    drawn twice is two users. Users are drawn until the load is that of the trace. Of the last one only some weeks are
    taken, and a few weeks of others are left out, so that the load is met.

    A trace shorter than three weeks, or with fewer than five known users, is resampled by days, drawn with replacement
    and at their time of day. This keeps neither the weekly cycle nor the load. A trace of less than two days is
    returned as it stands. The last of the notes in ``provenance`` says which of these it was.

    Dependencies on jobs outside the same copy are left out. The machine does not change. Of ``records`` the recorded
    waits stay.

    Parameters
    ----------
    workload
        The trace; it is not changed.
    seed
        Of the random numbers, at least 0.
    load
        Offered load of the resample, above 0 and at most 10: work over what the machine could do in these weeks.
        ``None`` keeps that of the trace.

    Raises
    ------
    InputError
        If a number is out of its range, or a `load` is set for a trace that is resampled by days.

    Notes
    -----
    After Zakay and Feitelson, "Workload resampling for performance evaluation of parallel job schedulers", Concurrency
    and Computation: Practice and Experience 26, 2014.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> sample = hd.resample(hd.example(), seed=1)
    >>> len(sample.jobs)
    974
    >>> print(sample.provenance.notes[-1])
    resampled, seed 1: users with their sessions drawn with replacement in 3 whole weeks
    """
    try:
        check_whole("resample: seed", seed, 0)
        if load is not None:
            check_number("resample: load", load, above=0, most=MOST_LOAD)
    except ValueError as error:
        raise InputError(str(error)) from None
    if reacting(workload.columns).any():
        raise InputError("resample: expected submissions as recorded, got users that react; apply closed_loop after it")
    rng = np.random.default_rng([_STREAM, seed])
    way = way_of(workload)
    if load is not None and way.reason:
        raise InputError(f"resample: load: it can be set only where users are drawn, and this trace is {way.reason}")
    if way.unit == 0:
        return _noted(workload, f"resampled, seed {seed}: the trace as it stands, for it is {way.reason}")
    if way.reason:
        drawn = _blocks(workload.columns.submit, way, rng)
        how = (
            f"days drawn with replacement, for the trace is {way.reason}; the weekly cycle is lost and the load varies"
        )
    else:
        drawn = _users(workload, way, load, rng)
        how = f"users with their sessions drawn with replacement in {way.count} whole weeks"
    return _noted(_assembled(workload, drawn), f"resampled, seed {seed}: {how}")


@dataclass(frozen=True, slots=True)
class Way:
    """How a trace is resampled.

    Attributes
    ----------
    unit
        Seconds of a block: a week, a day, or 0 if the trace is too short for either.
    count
        Number of blocks.
    reason
        Why it is not by users, as in "shorter than three weeks"; empty if it is.
    """

    unit: int
    count: int
    reason: str = ""


def way_of(workload: Workload) -> Way:
    """Return how :func:`resample` takes a workload apart."""
    submit = workload.columns.submit
    span = int(submit[-1] - submit[0]) if len(submit) else 0
    weeks = (span + WEEK - _NEARLY) // WEEK
    users = workload.columns.user
    known = {users.values[code] for code in np.unique(users.codes).tolist()} - set(UNKNOWN_USERS)
    if span < 2 * DAY:
        return Way(0, 1, "shorter than two days")
    if weeks < LEAST_WEEKS:
        return Way(DAY, span // DAY, "shorter than three weeks")
    if len(known) < LEAST_USERS:
        named = f"of {len(known)} known user{'s' * (len(known) != 1)}" if known else "without known users"
        return Way(DAY, span // DAY, named)
    return Way(WEEK, weeks)


def _blocks(submit: IntArray, way: Way, rng: np.random.Generator) -> _DrawnRows:
    """Draw the blocks of a trace with replacement."""
    block = (submit - submit[0]) // way.unit
    begins = np.searchsorted(block, np.arange(way.count + 1))
    sources = rng.integers(0, way.count, size=way.count)
    rows, shift, copy = [], [], []
    for place, source in enumerate(sources.tolist()):
        chosen = np.arange(begins[source], begins[source + 1])
        rows.append(chosen)
        shift.append(np.full(len(chosen), (place - source) * way.unit))
        copy.append(np.full(len(chosen), place))
    return _DrawnRows(*(np.concatenate(each).astype(np.int64) for each in (rows, shift, copy)))


def _users(workload: Workload, way: Way, load: float | None, rng: np.random.Generator) -> _DrawnRows:
    """Draw users until their work is that of the load."""
    jobs = workload.columns
    since = jobs.submit - jobs.submit[0]
    inside = np.flatnonzero(since < way.count * WEEK)
    primary = workload.machine.primary
    units = jobs.amounts(workload.machine.resources[primary])[inside]
    work = (units * jobs.runtime[inside]).astype(np.float64)
    _, user = np.unique(jobs.user.codes[inside], return_inverse=True)
    users = int(user.max()) + 1
    by_user = np.argsort(user, kind="stable")
    begins = np.searchsorted(user[by_user], np.arange(users + 1))
    of_user = np.bincount(user, weights=work).astype(np.float64)
    capacity = float(workload.machine.capacity[:, primary].sum()) * way.count * WEEK
    target = work.sum() if load is None else load * capacity
    copies = list(_until(of_user, target, len(inside), np.diff(begins), rng))
    period = way.count * WEEK
    rows, shift, copy = [], [], []
    for number, chosen in enumerate(copies):
        own = inside[by_user[begins[chosen] : begins[chosen + 1]]]
        moved = (since[own] + WEEK * int(rng.integers(0, way.count))) % period
        rows.append(own)
        shift.append(moved - since[own])
        copy.append(np.full(len(own), number))
    drawn = _DrawnRows(*(np.concatenate(each).astype(np.int64) for each in (rows, shift, copy)))
    of_row = np.zeros(len(jobs))
    of_row[inside] = work
    return drawn.only(_met(drawn, since, of_row, target, rng))


def _until(of_user: FloatArray, target: float, jobs: int, counts: IntArray, rng: np.random.Generator) -> Iterator[int]:
    """Yield users until their work reaches the target, or as many as there are if no job has work."""
    done, taken, drawn = 0.0, 0, 0
    while (done < target or (target == 0 and drawn < len(of_user))) and taken <= _MOST_TIMES * jobs:
        user = int(rng.integers(0, len(of_user)))
        done += of_user[user]
        taken += int(counts[user])
        drawn += 1
        yield user


def _met(drawn: _DrawnRows, since: IntArray, of_row: FloatArray, target: float, rng: np.random.Generator) -> Any:
    """Return the jobs to keep so that their work is the target: weeks of the last user go first, then of others."""
    week = (since[drawn.rows] + drawn.shift) // WEEK
    _, group = np.unique(drawn.copy * (int(week.max()) + 1) + week, return_inverse=True)
    area = np.bincount(group, weights=of_row[drawn.rows])
    excess = float(area.sum()) - target
    last = np.unique(group[drawn.copy == drawn.copy.max()])
    dropped = np.zeros(len(area), dtype=bool)
    for place in (*rng.permutation(last).tolist(), *rng.permutation(len(area)).tolist()):
        if excess <= _NEAR * target:
            break
        if 0 < area[place] <= excess and not dropped[place]:
            dropped[place] = True
            excess -= area[place]
    return ~dropped[group]


def _assembled(workload: Workload, drawn: _DrawnRows) -> Workload:
    """Return the workload of the drawn jobs, sorted by submission, with ids of their own."""
    jobs = workload.columns
    submit = jobs.submit[drawn.rows] + drawn.shift
    drawn, submit = drawn.only(order := np.argsort(submit, kind="stable")), submit[order]
    changed: dict[str, Any] = {"ids": np.arange(1, len(submit) + 1), "submit": submit}
    changed["user"] = _copied_users(jobs, drawn)
    if any(jobs.array.values):
        changed["array"] = _copied_arrays(jobs, drawn)
    if any(jobs.begin.values):
        begin = jobs.begin.numbers(int)[drawn.rows]
        changed["begin"] = Coded.of(np.where(begin > 0, np.maximum(begin + drawn.shift, 0), 0), int)
    if any(jobs.depends.values):
        changed["depends"] = _copied_dependencies(jobs, drawn)
    records = workload.records
    if records is not None:  # Recorded waits tell think times; other fields may name jobs by their old ids.
        records = records[["wait"]].iloc[drawn.rows].reset_index(drop=True) if "wait" in records else None
    return replace(workload, jobs=jobs.take(drawn.rows, **changed), records=records)


def _copied_users(jobs: JobColumns, drawn: _DrawnRows) -> Coded:
    """Return the users. The second copy of user 7 is ``7~2``; an unknown user stays unknown."""
    codes = jobs.user.codes[drawn.rows].astype(np.int64)
    copies = int(drawn.copy.max()) + 1
    pairs, which = np.unique(codes * copies + drawn.copy, return_inverse=True)
    given = set(jobs.user.values)
    places, times = dict[str, int](), dict[str, int]()
    of_pair = []
    for code in (pairs // copies).tolist():
        name = own = jobs.user.values[code]
        while own not in UNKNOWN_USERS:
            times[name] = times.get(name, 0) + 1
            own = name if times[name] == 1 else f"{name}~{times[name]}"
            if own == name or own not in given:  # A trace may have a user of that name.
                break
        of_pair.append(places.setdefault(own, len(places)))
    return Coded(np.array(of_pair, dtype=np.int32)[which], list(places))


def _copied_arrays(jobs: JobColumns, drawn: _DrawnRows) -> Coded:
    """Return the arrays, which differ between the copies: the limit of running tasks is that of one copy."""
    texts = []
    for copy, array in zip(drawn.copy.tolist(), jobs.array.take(drawn.rows).each(), strict=True):
        name, percent, most = array.partition("%")
        texts.append(f"{name}~{copy}{percent}{most}" if array else "")
    return Coded.gathered(texts)


def _copied_dependencies(jobs: JobColumns, drawn: _DrawnRows) -> Coded:
    """Return the dependencies on jobs of the same copy, under their new ids."""
    old = jobs.texts()
    places = {
        (copy, old[row]): str(number)
        for number, (copy, row) in enumerate(zip(drawn.copy.tolist(), drawn.rows.tolist(), strict=True), 1)
    }
    arrays = set[tuple[int, str]]()
    if any(jobs.array.values):
        named = zip(drawn.copy.tolist(), jobs.array.take(drawn.rows).each(), strict=True)
        arrays = {(copy, array.partition("%")[0]) for copy, array in named if array}
    dependencies = []
    for copy, listed in zip(drawn.copy.tolist(), jobs.depends.take(drawn.rows).each(), strict=True):
        kept = []
        for other, condition, *delay in listed:
            if condition == "singleton":
                kept.append((other, condition, *delay))
            elif (copy, other) in places:
                kept.append((places[copy, other], condition, *delay))
            elif (copy, other) in arrays and condition != "aftercorr":
                kept.append((f"{other}~{copy}", condition, *delay))
        dependencies.append(tuple(kept))
    return Coded.gathered(dependencies)


def _noted(workload: Workload, note: str) -> Workload:
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    return replace(workload, provenance=provenance)
