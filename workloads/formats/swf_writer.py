"""Write the Standard Workload Format."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from operator import ne

from ..job import REACT, Job
from ..job_columns import OTHERS, JobColumns
from ..workload import Workload
from .slots import MEMORY
from .swf import FIELDS, header_number

_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")
_NAMED = {"user": "user", "group": "group", "executable": "name", "queue": "queue"}


def swf_text(workload: Workload) -> str:
    """Return a workload in the Standard Workload Format.

    The fields of a job come from the jobs, the others from ``Workload.records`` if it has them, else they are -1. A
    walltime that was missing in the source and guessed by the reader is written as -1. The header is that of the
    source. A workload without one gets a new header (MaxJobs, MaxNodes, MaxProcs, UnixStartTime, ...).

    SWF has only numbers. Job ids are unchanged if all are whole numbers. Otherwise the jobs are numbered from 1. Users,
    groups, executables and queues are unchanged if all values of the field are whole numbers (empty as -1). Otherwise
    they are numbered from 1 in order of appearance. Header lines list the numbers with their names. They also hold the
    data of jobs that SWF has no field for.
    """
    notes: list[str] = []
    columns = _columns(workload, notes)
    header = _header(workload, notes)
    lines = [*header, *map(" ".join, zip(*columns, strict=True))]
    return "\n".join(lines) + "\n"


def _columns(workload: Workload, notes: list[str]) -> list[Sequence[str]]:
    """Return the 18 fields, each with one text per job. Remarks are added to `notes`."""
    jobs = workload.columns
    known: dict[str, Sequence[str]] = {
        "job number": _ids(jobs.texts(), notes),
        "submit time": list(map(str, jobs.submit.tolist())),
        "run time": list(map(str, jobs.runtime.tolist())),
        "walltime": list(map(str, jobs.walltime.tolist())),
        "requested processors": [],
        "requested memory": [],
    }
    for field, attribute in _NAMED.items():
        known[field] = _numbered(field, list(getattr(jobs, attribute).each()), notes)
    if workload.records is None:
        known["requested processors"], known["requested memory"] = _request(workload, notes)
    lost = lost_fields(jobs)
    if workload.records is not None and "preceding_job" in workload.records:
        lost.pop("depends", None)
    elif "depends" in lost:
        known["preceding job"], known["think time"] = _preceding(jobs, known["job number"])
        lost["depends"] -= len(jobs) - list(known["preceding job"]).count("-1")
        lost = {name: count for name, count in lost.items() if count}
    notes += [f"SWF has no field for {name}, left out of {count} jobs" for name, count in lost.items()]
    return [_column(workload, field.name, field.column, known) for field in FIELDS]


def _preceding(jobs: JobColumns, numbers: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the preceding job and the think time of jobs with one dependency on an end, -1 for others."""
    number = dict(zip(jobs.texts(), numbers, strict=True))
    preceding, think = [], []
    for listed in jobs.depends.each():
        id_, condition, *delay = listed[0] if len(listed) == 1 else ("", "")
        plain = condition in ("afterany", REACT) and id_ in number
        preceding.append(number[id_] if plain else "-1")
        think.append(str(sum(delay)) if plain else "-1")
    return preceding, think


def _column(workload: Workload, field: str, column: str | None, known: dict[str, Sequence[str]]) -> Sequence[str]:
    unknown = ["-1"] * len(workload)
    if column is None or workload.records is None or column not in workload.records:
        return known.get(field) or unknown
    values = [_number(value) for value in workload.records[column].tolist()]
    if field == "walltime":
        return [
            was if was.startswith("-") or was == "0" else now for was, now in zip(values, known[field], strict=True)
        ]
    return values


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _ids(ids: list[str], notes: list[str]) -> list[str]:
    if all(map(_WHOLE.fullmatch, ids)):
        return ids
    notes.append("job ids were no whole numbers; the jobs are numbered from 1")
    return [str(number) for number in range(1, len(ids) + 1)]


def _numbered(field: str, texts: list[str], notes: list[str]) -> list[str]:
    """Return texts as whole numbers, -1 for the empty one."""
    different = [text for text in dict.fromkeys(texts) if text]
    if all(_WHOLE.fullmatch(text) and text != "-1" for text in different):
        numbers = {text: text for text in different}
    else:
        numbers = {text: str(number) for number, text in enumerate(different, 1)}
        notes += [f"{field} {number} is {' '.join(text.split())}" for text, number in numbers.items()]
    numbers[""] = "-1"
    return [numbers[text] for text in texts]


def _request(workload: Workload, notes: list[str]) -> tuple[list[str], list[str]]:
    """Return requested processors and memory per processor of jobs without a trace."""
    resource, unit = next(iter(workload.machine.equivalence.items()))
    processors: list[str] = []
    memory: list[str] = []
    jobs = workload.columns
    unequal = jobs.slots.numbers(lambda slots: int(slots is not None)) > 0
    totals = jobs.amounts(resource) // unit
    for row, (nodes, per_node) in enumerate(zip(jobs.nodes.tolist(), jobs.per_node.each(), strict=True)):
        count = per_node.get(resource, 0) // unit
        processors.append(str(totals[row] if unequal[row] else count * nodes) if count else "-1")
        amount = per_node.get(MEMORY, 0) if resource != MEMORY else 0
        memory.append(_number(amount / count) if amount and count else "-1")
    if "-1" in processors:
        notes.append(f"{processors.count('-1')} jobs ask for no {resource}; SWF has no field for what they ask for")
    return processors, memory


def lost_fields(jobs: JobColumns) -> dict[str, int]:
    """Return the fields of jobs that SWF lacks, with the number of jobs."""
    usual = {each.name: each.default for each in fields(Job)}
    counts = {
        "kind on-demand" if name == "kind" else name: int(getattr(jobs, name).numbers(partial(ne, usual[name])).sum())
        for name in ("kind", *OTHERS)
        if name != "per_node"
    }
    return {name: count for name, count in counts.items() if count}


def _header(workload: Workload, notes: Iterable[str]) -> list[str]:
    given = [line if line.lstrip().startswith(";") else f"; {line}" for line in workload.provenance.header]
    processors = _processors(workload)
    source = " ".join(workload.provenance.source.split()) or "jobs made in memory"
    if not given:
        given = [
            "; Version: 2.2",
            f"; Computer: {workload.machine.name or 'simulated'}",
            f"; Note: written by hpcdispatch from {source}",
            f"; MaxJobs: {len(workload)}",
            f"; MaxRecords: {len(workload)}",
            "; Preemption: No",
            "; UnixStartTime: 0",
            f"; MaxNodes: {workload.machine.nodes}",
            f"; MaxProcs: {processors}",
            f"; MaxRuntime: {workload.columns.runtime.max(initial=0)}",
        ]
    elif header_number(given, "MaxProcs") is None and header_number(given, "MaxNodes") is None:
        given.append(f"; MaxProcs: {processors}")
    said = (f"; Note: {note}" for note in notes)
    lines = given + [line for line in said if line not in given]
    return [_CONTROL.sub(" ", line) for line in lines]  # a line end in a name would turn the rest into a record


def _processors(workload: Workload) -> int:
    """Return the number of processors of the machine."""
    machine = workload.machine
    resource, unit = next(iter(machine.equivalence.items()))
    if resource not in machine.resources:
        return int(machine.capacity[:, machine.primary].sum())
    return int((machine.capacity[:, machine.resources.index(resource)] // unit).sum())
