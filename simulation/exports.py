"""Write results in the formats of other tools: SWF, the jobs of evalys, traces for Perfetto."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base import InputError, shown
from ..workloads import Machine, Provenance, Workload, write
from ..workloads.formats import save
from ..workloads.job_columns import TEXTS, Coded, JobColumns
from .metrics import Records
from .plots.curves import capacity_of, stretches

#: Statuses of jobs in SWF: completed, failed, cancelled.
_STATUS = {"completed": 1, "killed": 0, "rejected": 5}
#: Microseconds per second. They are the unit of trace events.
_SECOND = 1_000_000


def to_swf(result: Records, path: str | PathLike[str]) -> None:
    """Write the schedule as SWF, compressed if the name ends in ``.gz``; :func:`hpcdispatch.read` reads it.

    Each job has one line, with its simulated wait and run time. Its processors are units of the primary resource. The
    status is 1 for a completed, 0 for a killed and 5 for a rejected job. The header lists the numbers of the names.

    Raises
    ------
    InputError
        If the name does not end in ``.swf`` or ``.swf.gz``.
    OSError
        If the file cannot be written.
    """
    jobs = result.jobs.sort_values("submit", kind="stable")  # Where users react, jobs overtake others.
    units = jobs["units"].to_numpy()
    columns: dict[str, Any] = {name: jobs[name].to_numpy() for name in ("submit", "walltime")}
    columns |= {name: Coded.gathered(map(str, jobs[name])) for name in TEXTS if name in jobs and name != "kind"}
    if not str(path).lower().endswith((".swf", ".swf.gz")):
        raise InputError(f"to_swf: expected a name ending in .swf or .swf.gz, got {shown(str(path))}")
    ids = jobs["id"].to_numpy(dtype=object)
    made = JobColumns.made(ids, runtime=jobs["run"].to_numpy(), nodes=np.maximum(units, 1), **columns)
    started = (jobs["start"] >= 0).to_numpy()
    records = pd.DataFrame(
        {
            "wait": np.where(started, jobs["wait"], -1),
            "allocated_processors": np.where(started, units, -1),
            "requested_processors": units,
            "status": jobs["status"].astype(str).map(_STATUS),
        }
    )
    source = f"{result.manifest['workload']['source']} under {result.manifest['dispatcher']}"
    write(Workload(made, Machine.pool(capacity_of(result)), Provenance(source), records), path)


def to_evalys(result: Records, path: str | PathLike[str]) -> None:
    """Write the jobs as CSV for ``evalys.jobset.JobSet.from_csv``, compressed if the name ends in ``.gz``.

    Each attempt has one line; the second attempt of job 7 is ``7#1``. Times are seconds since the first submission.
    Resources are units of the primary one, numbered node by node. Jobs that never started are left out.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    stays, names, first = _stays(result)
    machine = result.manifest["machine"]
    rows, low, high, _ = stretches(stays, capacity_of(result), machine["nodes"])
    pieces = pd.Series(
        [f"{a}-{b - 1}" if b - a > 1 else f"{a}" for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    )
    held = pieces.groupby(rows).agg(" ".join).reindex(range(len(stays)), fill_value="")
    run = (stays["end"] - stays["start"]).to_numpy()
    wait = (stays["start"] - stays["submit"]).to_numpy()
    table = pd.DataFrame(
        {
            "job_id": names,
            "workload_name": str(result.manifest["dispatcher"]),
            "submission_time": stays["submit"] - first,
            "requested_number_of_resources": stays["units"],
            "requested_time": stays["walltime"],
            "success": (stays["outcome"] == "completed").astype(int),
            "starting_time": stays["start"] - first,
            "execution_time": run,
            "finish_time": stays["end"] - first,
            "waiting_time": wait,
            "turnaround_time": wait + run,
            "stretch": (wait + run) / np.maximum(run, 1),
            "allocated_resources": held.to_numpy(),
        }
    )
    file = Path(path)
    save(file, table.to_csv(index=False, lineterminator="\n"), packed=file.suffix == ".gz")


def to_perfetto(result: Records, path: str | PathLike[str]) -> None:
    """Write trace events as JSON for https://ui.perfetto.dev, compressed if the name ends in ``.gz``.

    Each node is a track, or one track per simultaneous job. A job is a slice on each of its nodes. Counters show
    waiting and running jobs. Times count from the first submission.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    events = ",\n".join(json.dumps(event, separators=(",", ":")) for event in _trace_events(result))
    file = Path(path)
    save(file, f'{{"displayTimeUnit":"ms","traceEvents":[\n{events}\n]}}\n', packed=file.suffix == ".gz")


def _trace_events(result: Records) -> Iterator[dict[str, Any]]:
    """Yield tracks, slices and counters. A node has one track per simultaneous job."""
    stays, names, first = _stays(result)
    stays = stays[stays["end"] > stays["start"]]
    yield _track("process_name", 0, name=result.manifest["machine"]["name"] or "machine")
    tracks: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}  # per node: free tracks, and those in use by end
    numbers: dict[tuple[int, int], int] = {}
    stay: Any
    for stay, name in zip(stays.itertuples(index=False), names[stays.index].tolist(), strict=True):
        slice_ = {
            "ph": "X",
            "name": f"job {name}",
            "cat": "job",
            "pid": 1,
            "ts": (int(stay.start) - first) * _SECOND,
            "dur": int(stay.end - stay.start) * _SECOND,
            "args": {
                "user": str(stay.user),
                "queue": str(stay.queue),
                "units": int(stay.units),
                "after_submission_s": int(stay.start - stay.submit),
                "walltime_s": int(stay.walltime),
                "outcome": str(stay.outcome),
            },
        }
        for node in dict.fromkeys(stay.placement.tolist()):
            free, used = tracks.setdefault(node, ([], []))
            while used and used[0][0] <= stay.start:
                heapq.heappush(free, heapq.heappop(used)[1])
            place = heapq.heappop(free) if free else len(used)
            heapq.heappush(used, (stay.end, place))
            if (node, place) not in numbers:
                numbers[node, place] = number = len(numbers) + 1
                yield _track("thread_name", number, name=f"node {node}" + f" ({place + 1})" * (place > 0))
                yield _track("thread_sort_index", number, sort_index=node * 256 + place)
            yield {**slice_, "tid": numbers[node, place]}
    jobs = result.jobs
    yield from _counter("waiting jobs", jobs["eligible"], jobs["start"].where(jobs["start"] >= 0, jobs["end"]), first)
    yield from _counter("running jobs", stays["start"], stays["end"], first)


def _track(what: str, number: int, **named: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": 1, "tid": number, "args": named}


def _counter(name: str, begin: pd.Series[int], end: pd.Series[int], first: int) -> Iterator[dict[str, Any]]:
    """Yield the number of intervals at a time, at every change."""
    change = np.repeat([1.0, -1.0], len(begin))
    times, at = np.unique(np.concatenate([begin, end]), return_inverse=True)
    for time, count in zip(times.tolist(), np.cumsum(np.bincount(at, weights=change)).tolist(), strict=True):
        yield {"ph": "C", "name": name, "pid": 1, "ts": (time - first) * _SECOND, "args": {"jobs": int(count)}}


def _stays(result: Records) -> tuple[pd.DataFrame, np.ndarray[Any, Any], int]:
    """Return the attempts by start with submission, user and queue; their names; and the first submission."""
    stays = result.attempts.sort_values("start", kind="stable", ignore_index=True)
    rows = pd.Index(result.jobs["id"]).get_indexer(pd.Index(stays["id"]))
    for name in ("submit", "user", "queue"):
        stays[name] = result.jobs[name].to_numpy()[rows]
    again = stays.groupby("id", observed=True).cumcount().to_numpy()
    names = np.where(again > 0, stays["id"].astype(str) + "#" + again.astype(str), stays["id"].astype(str))
    return stays, names, int(result.jobs["submit"].min()) if len(result.jobs) else 0
