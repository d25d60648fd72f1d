"""Read Philly's and Batsim's JSON as tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...base import InputError, shown
from ...base.checks import MOST_PROCESSORS
from .read_log import Malformed
from .sacct_fields import times
from .sacct_json import json_list, parsed_json
from .table_files import TablePart
from .trace_files import TraceFile


def philly_part(file: TraceFile, malformed: list[Malformed]) -> TablePart:
    """Return the jobs of Microsoft's Philly trace, a list in JSON.

    A job starts with its first attempt. Its run time is the sum of all attempts. It has the GPUs and hosts of the
    largest. Its slots are the GPUs on each host of the attempt with the most GPUs.
    """
    what = "a list of jobs with 'jobid' and 'attempts'"
    jobs = json_list(file, parsed_json(file, what), what)
    return _part(jobs, _philly_job, malformed, "no job", ": expected a job with 'jobid' and 'attempts'")


def _philly_job(job: Any) -> dict[str, Any]:
    attempts = [each for each in job["attempts"] if each.get("start_time") and each.get("end_time")]
    begin = _seconds(attempts, "start_time")
    end = _seconds(attempts, "end_time")
    details = [each.get("detail") or [] for each in attempts]
    return {
        "jobid": job["jobid"],
        "user": job.get("user") or "",
        "vc": job.get("vc") or "",
        "status": job.get("status") or "",
        "submitted_time": job["submitted_time"],
        "start_time": attempts[0]["start_time"] if attempts else "",
        "duration": float(np.maximum(end - begin, 0).sum()) if attempts else "",
        "gpus": max((sum(len(host["gpus"]) for host in hosts) for hosts in details), default=""),
        "hosts": max(map(len, details), default=""),
        "slots": "+".join(str(len(host["gpus"])) for host in max(details, key=_gpus_of, default=[]) if host["gpus"]),
    }


def _gpus_of(hosts: Sequence[Any]) -> int:
    return sum(len(host["gpus"]) for host in hosts)


def _part(
    jobs: Iterable[Any], read: Callable[[Any], dict[str, Any]], malformed: list[Malformed], reason: str, expected: str
) -> TablePart:
    """Return the rows that `read` makes of the entries of a list in JSON, as texts."""
    rows: dict[int, dict[str, str]] = {}
    for number, job in enumerate(jobs, 1):
        try:
            rows[number] = {name: str(value) for name, value in read(job).items()}
        except (AttributeError, TypeError, KeyError, ValueError, OverflowError, RecursionError) as error:
            message = f"entry {number}{expected}, got {shown(job)} ({error!r:.60})"
            malformed.append(Malformed(number, reason, message))
    return TablePart(pd.DataFrame(list(rows.values()), dtype=str), np.array(list(rows), dtype=np.int64))


def _seconds(attempts: Iterable[Mapping[str, Any]], key: str) -> Any:
    return times(np.array([str(each[key]) for each in attempts], dtype=object))


def batsim_part(file: TraceFile, malformed: list[Malformed]) -> tuple[TablePart, int]:
    """Return the jobs of a Batsim workload in JSON, and its machine's size. The size is 0 if not given.

    The profile gives the run time. It must be a delay or a sequence of delays.
    """
    document = parsed_json(file, "a workload of Batsim")
    what = "a workload of Batsim with lists 'jobs' and 'profiles'"
    if not isinstance(document, dict) or not isinstance(document.get("profiles", {}), dict):
        raise InputError(f"{file.path}: expected {what}, got {shown(document)}")
    profiles = document.get("profiles", {})
    size = document.get("nb_res", 0)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MOST_PROCESSORS:
        raise InputError(f"{file.path}: field 'nb_res': expected a whole number, got {shown(size)}")

    def row(job: Any) -> dict[str, Any]:
        walltime = float(job.get("walltime", -1))
        times = {"walltime": walltime if walltime > 0 else "UNLIMITED", "runtime": _delay(job["profile"], profiles)}
        return {name: job[name] for name in ("id", "subtime", "res", "profile")} | times

    wanted = "id, subtime, res, walltime and a profile that is a delay or a sequence of delays"
    jobs = json_list(file, document.get("jobs"), what)
    return _part(jobs, row, malformed, "no job with a delay", f" of 'jobs': expected {wanted}"), size


def _delay(name: Any, profiles: Mapping[str, Any], depth: int = 0) -> float:
    """Return the seconds of a profile."""
    profile = profiles[name]
    kind = profile.get("type", profile.get("class"))
    if kind == "delay":
        return float(profile["delay"])
    if kind in ("composed", "sequence") and depth < 20:
        return float(profile.get("repeat", 1)) * sum(_delay(each, profiles, depth + 1) for each in profile["seq"])
    raise ValueError(f"profile {name} is {kind}")
