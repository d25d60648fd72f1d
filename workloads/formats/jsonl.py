"""Complete workloads as JSON lines.

First come the machine and the provenance, then one job per line with all its fields.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, fields, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import scipy

from ...base import InputError, shown
from ...base.checks import check_types
from ..dependencies import without_missing
from ..fitting_requests import as_request, fitting_requests, why_it_cannot_run
from ..job import Checkpoint, Job, Shape
from ..levels import level_texts
from ..machine import Machine, with_rules
from ..machine_rules import MachineRules, given_fields
from ..workload import Provenance, Workload
from .read_log import Malformed, NothingUsableError, ReadingLog, ReadOptions, counted
from .trace_files import TraceFile, decode

FORMAT = "hpcdispatch-workload"
VERSION = 1
#: The fields of the provenance.
_PROVENANCE = {"source": str, "options": dict, "header": [str], "notes": [str], "counts": dict, "examples": dict}
_HEADER = ("format", "version", "machine", "provenance", "records")
_MACHINE = (
    "resources",
    "capacity",
    "name",
    "equivalence",
    "reservations",
    "outages",
    "licences",
    "limits",
    "power",
    "levels",
)
_LAW = ("name", "args", "kwds")
_TEXTS = ("user", "group", "name", "queue", "array", "reservation", "qos")
_RECORD = "record"
_KINDS: dict[type[Any], str] = {dict: "an object", list: "a list"}
PartT = TypeVar("PartT", Shape, Checkpoint, Job)


class _WrongLineError(ValueError):
    """An error in a line: field, expected, received."""


# Writing.


def jsonl_text(workload: Workload) -> str:
    """Return a workload as JSON lines; :func:`parse_jsonl` reads it back.

    Fields with default values are left out.

    Raises
    ------
    InputError
        If the law of a job is no scipy distribution with numbers as parameters.
    """
    records = workload.records
    header = {
        "format": FORMAT,
        "version": VERSION,
        "machine": machine_fields(workload.machine),
        "provenance": asdict(workload.provenance),
        "records": None if records is None else {str(name): str(records[name].dtype) for name in records},
    }
    rows: list[Any] = [None] * len(workload)
    if records is not None:
        texts = records.astype(object).where(records.notna(), None).to_numpy().tolist()
        rows = [[value.item() if isinstance(value, np.generic) else value for value in row] for row in texts]
    lines = [_line(header), *(_line(_job_fields(job, row)) for job, row in zip(workload.jobs, rows, strict=True))]
    return "\n".join(lines) + "\n"


def machine_fields(machine: Machine) -> dict[str, Any]:
    """Return the JSON fields of a machine; :func:`machine_of` reads them back."""
    return {
        "resources": list(machine.resources),
        "capacity": machine.capacity.tolist(),
        "name": machine.name,
        "equivalence": dict(machine.equivalence),
        **machine.rules.fields(),
        **({"levels": level_texts(machine.levels)} if machine.levels else {}),
    }


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _job_fields(job: Job, row: list[Any] | None) -> dict[str, Any]:
    job_fields = given_fields(job)
    if job.shapes:
        job_fields["shapes"] = [given_fields(shape) for shape in job.shapes]
    if job.checkpoint is not None:
        job_fields["checkpoint"] = given_fields(job.checkpoint)
    if job.law is not None:
        job_fields["law"] = _law_fields(job)
    return job_fields if row is None else {**job_fields, _RECORD: row}


def _law_fields(job: Job) -> dict[str, Any]:
    law = job.law
    name = getattr(getattr(law, "dist", None), "name", None)
    args = getattr(law, "args", ())
    kwds = getattr(law, "kwds", {})
    if not isinstance(
        getattr(scipy.stats, str(name), None), scipy.stats.rv_continuous | scipy.stats.rv_discrete
    ) or not all(np.isscalar(value) and np.isreal(value) for value in (*args, *kwds.values())):
        raise InputError(
            f"job {job.id}: law: expected a distribution of scipy.stats with numbers as parameters, got {shown(law)}"
        )
    plain = {key: np.asarray(kwds[key]).item() for key in sorted(kwds)}
    return {"name": name, "args": [np.asarray(value).item() for value in args], "kwds": plain}


# Reading.


def parse_jsonl(file: TraceFile, options: ReadOptions, log: ReadingLog) -> Workload:
    """Convert a file of JSON lines to a workload.

    Shapes that do not fit the machine are dropped, with a note and a count.

    Raises
    ------
    InputError
        For a wrong header, or a file without usable jobs. Unless lenient for malformed lines. If strict for jobs and
        shapes that do not fit the machine.
    """
    lines = _lines(file)
    number, first = next(lines, (1, ""))
    try:
        machine, provenance, columns = _header(first)
    except _WrongLineError as error:
        raise InputError(f"{log.path}:{number}: {error}") from None
    machine = options.machine or machine
    jobs, whole = _well_formed(lines, columns, options, log)
    if not jobs:
        raise NothingUsableError(f"{log.path}: expected jobs, a JSON object a line after the header, got none")
    kept = _usable(jobs, machine, options, log)
    usable = [job for _, job, _ in kept]
    if not whole or len(kept) < len(jobs):  # No job may depend on a dropped one.
        before = usable
        usable = without_missing(usable)
        missing = sum(len(job.depends) - len(less.depends) for job, less in zip(before, usable, strict=True))
        if missing:
            log.note(
                f"{counted(missing, 'link')} to jobs that are not there left out: no job waits for them",
                links_to_missing_jobs=missing,
            )
    provenance = replace(
        provenance,
        notes=(*provenance.notes, *log.notes),
        counts=provenance.counts | log.counts,
        examples=provenance.examples | log.examples,
    )
    frame = None if columns is None else _frame([row for _, _, row in kept], columns)
    try:
        return Workload(usable, machine, provenance, frame)
    except InputError as error:
        where = next((f":{line}" for line, job, _ in kept if str(error).startswith(f"job {job.id}: ")), "")
        raise InputError(f"{log.path}{where}: {error}") from None


def _lines(file: TraceFile) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, each with its number."""
    number = 0
    for block in file.blocks():
        for line in decode(block).removesuffix("\n").split("\n"):
            number += 1
            if line.strip():
                yield number, line


#: The line of a job, the job, and the other fields of its trace.
_Read = tuple[int, Job, list[Any]]


def _header(line: str) -> tuple[Machine, Provenance, dict[str, str] | None]:
    header = _object(line)
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        asked = {name: header.get(name) for name in ("format", "version")}
        raise _WrongLineError(
            f"expected a header with format {FORMAT!r} and version {VERSION}, got {shown(asked)}; --format MAP.toml "
            "reads other JSON lines by a column map, which 'workload describe FILE --format map' prints to complete"
        )
    _known(header, _HEADER)
    said = _sub(header, "provenance", {})
    try:
        check_types("field 'provenance'", said, _PROVENANCE, tuple(_PROVENANCE))
        for name, kind in (("counts", int), ("examples", str)):
            inner = said.get(name, {})
            check_types(f"field 'provenance': {name}", inner, dict.fromkeys(inner, kind))
    except ValueError as error:
        raise _WrongLineError(str(error)) from None
    try:
        provenance = Provenance(**{**said, **{name: tuple(said.get(name, ())) for name in ("header", "notes")}})
    except TypeError:
        names = ", ".join(field.name for field in fields(Provenance))
        raise _WrongLineError(f"field 'provenance': expected an object with {names}, got {', '.join(said)}") from None
    records = header.get("records")
    return machine_of(_sub(header, "machine")), provenance, None if records is None else _sub(header, "records")


def machine_of(found: dict[str, Any]) -> Machine:
    """Return the machine of :func:`machine_fields`.

    Raises
    ------
    ValueError
        If the fields are invalid.
    """
    _known(found, _MACHINE, "machine: ")
    try:
        capacity = np.array(found.get("capacity"))
        equivalence = found.get("equivalence") or {"core": 1}
        machine = Machine(
            tuple(found.get("resources", ())),
            capacity,
            found.get("name", ""),
            equivalence,
            levels=found.get("levels") or {},
        )
        return with_rules(machine, MachineRules.read(found))
    except (TypeError, ValueError) as error:
        raise _WrongLineError(f"field 'machine': {error}") from None


def _well_formed(
    lines: Iterable[tuple[int, str]], columns: dict[str, str] | None, options: ReadOptions, log: ReadingLog
) -> tuple[list[_Read], bool]:
    """Return the jobs of the lines, and whether all are well-formed. Refuse the first other one unless lenient."""
    kept: list[_Read] = []
    malformed: list[Malformed] = []
    seen: set[str] = set()
    laws: dict[str, Any] = {}
    for number, line in lines:
        try:
            job, row = _job(_object(line), columns, laws)
        except ValueError as error:
            malformed.append(Malformed(number, "no job", str(error)))
            continue
        if job.id in seen:
            malformed.append(
                Malformed(number, "duplicate id", f"field 'id': expected one of its own, got {shown(job.id)}")
            )
        elif kept and job.submit < kept[-1][1].submit:
            wrong = f"field 'submit': expected >= {kept[-1][1].submit}, as the job before, got {job.submit}"
            malformed.append(Malformed(number, "falling submission time", wrong))
        else:
            seen.add(job.id)
            kept.append((number, job, row))
    log.settle(malformed, lenient=options.lenient)
    return kept, not malformed


def _usable(jobs: Sequence[_Read], machine: Machine, options: ReadOptions, log: ReadingLog) -> list[_Read]:
    """Drop the jobs and shapes that do not fit the machine. If strict, refuse the first one."""
    kept: list[_Read] = []
    shapes = 0
    for number, job, row in jobs:
        fitting = fitting_requests(job, machine)
        dropped = len(job.shapes) - sum(place >= 0 for place in fitting)
        if options.strict and (dropped or not fitting):
            wrong = "one that " + why_it_cannot_run(job, machine) if not fitting else f"{dropped} that do not"
            what = "shapes that fit" if fitting else "a job that fits"
            raise InputError(f"{log.path}:{number}: job {job.id}: expected {what} the machine, got {wrong}")
        if fitting:
            shapes += dropped
            fewer = (-1, *(place for place in fitting if place >= 0))
            kept.append((number, as_request(job, fewer) if dropped else job, row))
    if not kept:
        raise NothingUsableError(f"{log.path}: expected jobs that fit the machine, got none among {len(jobs):,}")
    if len(kept) < len(jobs):
        left = len(jobs) - len(kept)
        log.note(
            f"{left:,} of {len(jobs):,} records left out as unusable: {left:,} larger than the machine",
            larger_than_the_machine=left,
        )
    if shapes:
        log.note(f"{shapes:,} shapes dropped: the machine has no room for them", shapes_larger_than_the_machine=shapes)
    return kept


def _job(job_fields: dict[str, Any], columns: dict[str, str] | None, laws: dict[str, Any]) -> tuple[Job, list[Any]]:
    """Return the job of a line, and the other fields of its trace."""
    row = job_fields.pop(_RECORD, [])
    if not isinstance(row, list) or len(row) != len(columns or ()):
        raise _WrongLineError(f"field {_RECORD!r}: expected a list of {len(columns or ())} values, got {shown(row)}")
    for name in _TEXTS:
        if not isinstance(job_fields.get(name, ""), str):
            raise _WrongLineError(f"field {name!r}: expected a text, got {shown(job_fields[name])}")
    if "shapes" in job_fields:
        job_fields["shapes"] = tuple(_part(Shape, shape, "shapes: ") for shape in _sub(job_fields, "shapes", kind=list))
    if job_fields.get("checkpoint") is not None:
        job_fields["checkpoint"] = _part(Checkpoint, _sub(job_fields, "checkpoint"), "checkpoint: ")
    if job_fields.get("law") is not None:
        job_fields["law"] = _law(_sub(job_fields, "law"), laws)
    return _part(Job, job_fields, ""), row


def _part(kind: Callable[..., PartT], values: Any, where: str) -> PartT:
    """Return a job, a shape or a checkpoint from its fields."""
    if not isinstance(values, dict):
        raise _WrongLineError(f"{where}expected an object, got {shown(values)}")
    parts = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    _known(values, tuple(parts), where)
    for name, field in parts.items():
        if field.default is MISSING and field.default_factory is MISSING and name not in values:
            raise _WrongLineError(f"{where}field {name!r}: expected it, got none")
    if "per_node" in values and (kind is Job or values["per_node"] is not None):
        _sub(values, "per_node")
    return kind(**values)


def _law(law_fields: dict[str, Any], laws: dict[str, Any]) -> Any:
    """Return the distribution. Equal ones are one object."""
    _known(law_fields, _LAW, "law: ")
    text = json.dumps(law_fields, sort_keys=True)
    if text not in laws:
        name = law_fields.get("name")
        family = getattr(scipy.stats, str(name), None)
        if not isinstance(family, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
            raise _WrongLineError(f"field 'law': name: expected a distribution of scipy.stats, got {shown(name)}")
        try:
            laws[text] = family(*law_fields.get("args", ()), **law_fields.get("kwds", {}))
        except (TypeError, ValueError) as error:
            raise _WrongLineError(f"field 'law': expected parameters of {name}, got {error}") from None
    return laws[text]


def _object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _WrongLineError(f"expected a JSON object, got {line[:40]!r} ({error})") from None
    if not isinstance(record, dict):
        raise _WrongLineError(f"expected a JSON object, got {line[:40]!r}")
    return record


def _sub(record: dict[str, Any], name: str, otherwise: Any = None, kind: type[Any] = dict) -> Any:
    inner = record.get(name, otherwise)
    if not isinstance(inner, kind):
        raise _WrongLineError(f"field {name!r}: expected {_KINDS[kind]}, got {shown(inner)}")
    return inner


def _known(record: dict[str, Any], names: Sequence[str], where: str = "") -> None:
    for name in record:
        if name not in names:
            raise _WrongLineError(f"{where}unknown field {shown(name)}; known: {', '.join(names)}")


def _frame(rows: list[list[Any]], columns: dict[str, str]) -> pd.DataFrame:
    """Return the other fields of the trace in their types. A value that does not fit leaves its column unconverted."""
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    for name, dtype in columns.items():
        try:
            with warnings.catch_warnings(record=True, action="always") as deprecated:  # pandas shows them in any case
                converted = frame[name].astype(pd.api.types.pandas_dtype(dtype))
        except (TypeError, ValueError, OverflowError):
            converted = frame[name].infer_objects()
        frame[name] = converted if not deprecated else frame[name].infer_objects()
    return frame
