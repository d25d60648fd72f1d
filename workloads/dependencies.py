"""Dependencies of jobs on other jobs, as in batch systems."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..base import InputError, IntArray, shown
from .job import Job
from .job_columns import JobColumns

#: Conditions that equal others, once their jobs are known.
_SAME = {"aftercorr": "afterok"}


class Link(NamedTuple):
    """A dependency of one job on another.

    Attributes
    ----------
    parent
        Place of the other job in the workload.
    condition
        One of `CONDITIONS`. ``aftercorr`` is ``afterok`` of the same task.
    delay
        Seconds from the event to the earliest entry of the job into the queue.
    """

    parent: int
    condition: str
    delay: int


def workflows(links: Mapping[int, Sequence[Link]], jobs: int) -> IntArray:
    """Return the workflow number of each job, shape (jobs,), -1 for none. Dependencies connect a workflow."""
    pairs = np.array([(link.parent, child) for child, listed in links.items() for link in listed], dtype=np.int64)
    # Few workloads have any, and the import takes a third of a second.
    from scipy.sparse import coo_array  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(jobs, jobs))
    _, labels = connected_components(graph, directed=False)
    connected = np.unique(pairs)
    numbers = np.full(jobs, -1, dtype=np.int64)
    numbers[connected] = pd.factorize(labels[connected])[0]
    return numbers


def links(columns: JobColumns) -> dict[int, tuple[Link, ...]]:
    """Return the dependencies of each job that has any, by its place.

    An unknown id may be that of an array. Then it stands for all its tasks.

    Raises
    ------
    InputError
        For an unknown job or the job itself, and for jobs that depend on each other.
    """
    codes = [code for code, value in enumerate(columns.depends.values) if value]
    if not codes:
        return {}
    ids = columns.texts()
    places = {id_: place for place, id_ in enumerate(ids)}
    tasks: dict[str, list[int]] = {}
    if any(columns.array.values):
        for place, array in enumerate(columns.array.each()):
            if array:
                tasks.setdefault(array.partition("%")[0], []).append(place)
    waiting = [place for place, code in enumerate(columns.depends.codes.tolist()) if columns.depends.values[code]]
    singletons = _singletons(columns)
    dependencies: dict[int, tuple[Link, ...]] = {}
    for place in waiting:
        listed: list[Link] = []
        for other, condition, *delay in columns.depends.values[columns.depends.codes[place]]:
            single = condition == "singleton"
            parents = singletons.get(place, ()) if single else _parents(ids, places, tasks, place, other, condition)
            listed += [Link(parent, _SAME.get(condition, condition), *(delay or (0,))) for parent in parents]
        dependencies[place] = tuple(listed)
    _refuse_cycles(ids, dependencies)
    return dependencies


def _parents(
    ids: Sequence[str],
    places: Mapping[str, int],
    tasks: Mapping[str, Sequence[int]],
    place: int,
    other: str,
    condition: str,
) -> Sequence[int]:
    """Return the places of the jobs with an id."""
    if other == ids[place]:
        raise InputError(f"job {ids[place]}: depends: it waits for itself ({condition}:{other})")
    if other in places:
        return (places[other],)
    if other not in tasks:
        raise InputError(f"job {ids[place]}: depends: no job {shown(other)} in the workload, for {condition}")
    if condition != "aftercorr":
        return tasks[other]
    task = f"{other}_{ids[place].rpartition('_')[2]}"
    if task not in places:
        raise InputError(f"job {ids[place]}: depends: array {other} has no such task ({condition}:{other})")
    return (places[task],)


def _singletons(columns: JobColumns) -> dict[int, Sequence[int]]:
    """Return the indices of earlier jobs of the same user and name.

    They go back only to the last such job with the same kind of dependency. Its end implies theirs, unless it never
    enters the queue.
    """
    values = columns.depends.values
    single = {code for code, value in enumerate(values) if any(each[1] == "singleton" for each in value)}
    if not single:
        return {}
    before: dict[tuple[str, str], list[int]] = {}
    singletons: dict[int, Sequence[int]] = {}
    rows = zip(columns.user.each(), columns.name.each(), columns.depends.codes.tolist(), strict=False)
    for place, (user, name, code) in enumerate(rows):
        same = before.setdefault((user, name), [])
        if code in single:
            singletons[place] = tuple(same)
            same.clear()
        same.append(place)
    return singletons


def _refuse_cycles(ids: Sequence[str], dependencies: Mapping[int, tuple[Link, ...]]) -> None:
    """Raise an error if jobs depend on each other."""
    left = {
        place: {link.parent for link in listed if link.parent in dependencies} for place, listed in dependencies.items()
    }
    children: dict[int, list[int]] = {}
    for place, parents in left.items():
        for parent in parents:
            children.setdefault(parent, []).append(place)
    free = [place for place, parents in left.items() if not parents]
    while free:
        done = free.pop()
        for child in children.get(done, ()):
            left[child].discard(done)
            if not left[child]:
                free.append(child)
        del left[done]
    if not left:
        return
    path = [min(left)]
    while path[-1] not in path[:-1]:
        path.append(min(left[path[-1]]))
    cycle = path[path.index(path[-1]) :]
    named = " -> ".join(ids[place] for place in cycle[:6]) + (" -> ..." if len(cycle) > 6 else "")
    raise InputError(f"job {ids[cycle[0]]}: depends: jobs wait for each other: {named}")


def without_missing(jobs: Iterable[Job]) -> list[Job]:
    """Return jobs without the dependencies on missing jobs."""
    listed = list(jobs)
    known = {job.id for job in listed} | {job.array.partition("%")[0] for job in listed if job.array}
    for place, job in enumerate(listed):
        kept = tuple(each for each in job.depends if each[1] == "singleton" or each[0] in known)
        if len(kept) < len(job.depends):
            listed[place] = replace(job, depends=kept)
    return listed
