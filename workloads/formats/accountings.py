"""Read accounting records that are no tables as tables: PBS and Torque, Philly's and Batsim's JSON."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...base import InputError, shown
from ...base.checks import MOST_PROCESSORS
from .read_log import Log, Malformed, counted
from .sacct_fields import times
from .sacct_json import json_list, parsed_json
from .table_files import Part
from .trace_files import TraceFile, decode

_PBS_RECORD = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;(\w+);([^;]*);(.*)", re.DOTALL)
_PBS_FIELD = re.compile(r"(?:^|(?<=\s))([\w.]+)=(.*?)(?=\s[\w.]+=|\s*$)", re.DOTALL)
#: Columns at the end of a job in PBS and Torque, besides those computed here.
_PBS = (
    "user",
    "group",
    "account",
    "project",
    "jobname",
    "queue",
    "ctime",
    "qtime",
    "etime",
    "start",
    "end",
    "Resource_List.walltime",
    "Resource_List.nodect",
    "Resource_List.ncpus",
    "Resource_List.ngpus",
    "Resource_List.mem",
    "resources_used.walltime",
    "Exit_status",
)
#: Kilobytes per unit of memory.
_KILOBYTES = {"b": 1 / 1024, "kb": 1, "mb": 1024, "gb": 1024**2, "tb": 1024**3}


def pbs_parts(file: TraceFile, malformed: list[Malformed], log: Log) -> Iterator[Part]:
    """Yield the ends of jobs (``;E;``) of PBS's or Torque's accounting.

    Besides its fields there are ``id`` without the server, ``cores`` and ``hosts`` (by ``exec_host``), and
    ``memory`` (kilobytes). Other records are left out, and counted.
    """
    line = others = 0
    for block in file.blocks():
        rows: list[dict[str, str]] = []
        lines: list[int] = []
        for text in decode(block).split("\n"):
            line += 1
            if not text.strip():
                continue
            record = _PBS_RECORD.fullmatch(text.rstrip("\r"))
            if record is None:
                message = f"expected a record as 'date time;E;id;key=value ...', got {shown(text)}"
                malformed.append(Malformed(line, "no record", message))
            elif record[1] == "E":
                fields = dict(_PBS_FIELD.findall(record[3]))
                cores, hosts = _hosts(fields.get("exec_host", ""), fields.get("exec_vnode", ""))
                made = {"id": record[2].partition(".")[0], "cores": cores, "hosts": hosts}
                made["memory"] = _kilobytes(fields.get("Resource_List.mem", ""))
                rows.append({name: fields.get(name, "") for name in _PBS} | made)
                lines.append(line)
            else:
                others += 1
        line -= block.endswith(b"\n")
        if rows:
            yield Part(pd.DataFrame(rows, dtype=str), np.array(lines, dtype=np.int64))
    if others:
        log.note(f"{counted(others, 'record')} left out that say no end of a job", other_records=others)


def _hosts(text: str, vnodes: str) -> tuple[str, str]:
    """Return the number of cores and hosts in ``n1/0*8+n2/0-7+n3/5``; empty if it has none."""
    parts = [part for part in text.split("+") if "/" in part]
    if not parts:
        return "", ""
    cores = sum(map(int, re.findall(r"ncpus=(\d{1,9})", vnodes)))
    for part in parts if not cores else ():
        places = part.partition("/")[2]
        factor = re.search(r"\*(\d{1,9})", places)
        ranges = [re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", each) for each in places.split(",")]
        counted = sum(int(one[2] or one[1]) - int(one[1]) + 1 for one in ranges if one)
        cores += int(factor[1]) if factor else max(counted, 1)
    return str(min(cores, MOST_PROCESSORS)), str(len({part.partition("/")[0] for part in parts}))


def _kilobytes(text: str) -> str:
    found = re.fullmatch(r"(\d{1,15})([kmgt]?b)", text.lower())
    return str(int(int(found[1]) * _KILOBYTES[found[2]])) if found else ""


def philly_part(file: TraceFile, malformed: list[Malformed]) -> Part:
    """Return the jobs of Microsoft's Philly trace, a list in JSON.

    A job starts with its first attempt. Its run time is the sum of all attempts. It has the GPUs and hosts of the
    largest.
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
    }


def _part(
    jobs: Iterable[Any], read: Callable[[Any], dict[str, Any]], malformed: list[Malformed], reason: str, expected: str
) -> Part:
    """Return the rows that `read` makes of the entries of a list in JSON, as texts."""
    rows: dict[int, dict[str, str]] = {}
    for number, job in enumerate(jobs, 1):
        try:
            rows[number] = {name: str(value) for name, value in read(job).items()}
        except (AttributeError, TypeError, KeyError, ValueError, OverflowError, RecursionError) as error:
            message = f"entry {number}{expected}, got {shown(job)} ({error!r:.60})"
            malformed.append(Malformed(number, reason, message))
    return Part(pd.DataFrame(list(rows.values()), dtype=str), np.array(list(rows), dtype=np.int64))


def _seconds(attempts: Iterable[Mapping[str, Any]], key: str) -> Any:
    return times(np.array([str(each[key]) for each in attempts], dtype=object))


def batsim_part(file: TraceFile, malformed: list[Malformed]) -> tuple[Part, int]:
    """Return the jobs of a Batsim workload in JSON, and its machine's size. The size is 0 if not given.

    The profile gives the run time. It must be a delay or a sequence of delays.
    """
    found = parsed_json(file, "a workload of Batsim")
    what = "a workload of Batsim with lists 'jobs' and 'profiles'"
    if not isinstance(found, dict) or not isinstance(found.get("profiles", {}), dict):
        raise InputError(f"{file.path}: expected {what}, got {shown(found)}")
    profiles = found.get("profiles", {})
    size = found.get("nb_res", 0)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MOST_PROCESSORS:
        raise InputError(f"{file.path}: field 'nb_res': expected a whole number, got {shown(size)}")

    def row(job: Any) -> dict[str, Any]:
        walltime = float(job.get("walltime", -1))
        times = {"walltime": walltime if walltime > 0 else "UNLIMITED", "runtime": _delay(job["profile"], profiles)}
        return {name: job[name] for name in ("id", "subtime", "res", "profile")} | times

    wanted = "id, subtime, res, walltime and a profile that is a delay or a sequence of delays"
    jobs = json_list(file, found.get("jobs"), what)
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
