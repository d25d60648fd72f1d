"""Read tables of jobs by a column map, and other accounting records as such tables."""

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...base import InputError, shown
from ..machine import Machine
from ..workload import Workload
from .accountings import batsim_part, philly_part
from .column_maps import column_map, fitting_map
from .mapped_columns import Guesses, check_columns, jobs_of, wanted_rows
from .pbs import pbs_parts
from .read_log import Log, Malformed, ReadOptions, counted
from .recorded_jobs import gathered, text, workload_of
from .sacct_lines import Layout
from .table_files import Part, is_parquet, parquet_columns, parts, separator_of
from .trace_files import TraceFile, decode

#: Lines of a file that decide its format.
_BEGINNING = 250
#: Texts at the begin of a JSON file, and their formats.
_JSON = (('"hpcdispatch-workload"', "jsonl"), ('"attempts"', "philly"), ('"subtime"', "batsim-json"))


class UnknownTableError(InputError):
    """A table that no built-in map fits; `columns` has its names."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        super().__init__(
            f"{path}: expected a known table, got the columns {shown(', '.join(columns))[1:-1]}; --format MAP.toml "
            f"reads it by a column map, which 'hpcdispatch workload describe {path}' suggests"
        )
        self.columns = columns


def kind_of(path: Path, *, packed: bool) -> str:
    """Return the format of a file, by its suffix and its beginning.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If no format fits.
    """
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if suffix in (".swf", ".jsonl", ".sacct", ".gwf"):
        return suffix[1:]
    if is_parquet(path):
        return _fitting(path, parquet_columns(path))
    lines = decode(next(TraceFile(path, packed, _BEGINNING).blocks())).splitlines()
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "").lstrip("\ufeff ")
    if first[:1] in ("{", "["):
        head = "".join(lines)[: 1 << 20]
        return next((kind for mark, kind in _JSON if mark in head), "sacct-json")
    if re.match(r"(?:[^;\s]*:)?\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;\w;", first):
        return "pbs"
    if re.match(r'"?JOB_[A-Z]+"?\s', first):
        return "lsf"
    if any(line.startswith("# GWF") for line in lines):
        return "gwf"
    if first.startswith(";"):
        return "swf"
    names = [name.strip().strip('"') for name in first.split(separator_of(first))]
    if fitting_map(names) is not None:
        return _fitting(path, names)
    looks_like_one = len(names) > 2 and all(re.fullmatch(r"[A-Za-z_][\w .%()/-]*", name) for name in names)
    if looks_like_one and not any(Layout.of(line, ReadOptions()) for line in lines):
        raise UnknownTableError(path, names)
    return "sacct"


def _fitting(path: Path, names: list[str]) -> str:
    found = fitting_map(names)
    if found is None:
        raise UnknownTableError(path, names)
    return found.name


@dataclass(frozen=True, slots=True)
class TableParser:
    """Reads files of a format: that of a built-in map, or of a map in a file."""

    kind: str

    def __call__(self, file: TraceFile, options: ReadOptions, log: Log) -> Workload:
        """Convert a file to a workload; errors as :func:`hpcdispatch.workloads.read`."""
        malformed: list[Malformed] = []
        described = column_map(self.kind)
        machine = None
        if options.format is None:
            log.note(f"read as {described.name} (--format): {described.about}")
        if described.container == "batsim":
            part, cores = batsim_part(file, malformed)
            source = iter([part])
            machine = Machine.pool(cores, name=log.path.name) if cores else None
        elif described.container == "philly":
            source = iter([philly_part(file, malformed)])
        elif described.container == "pbs":
            source = pbs_parts(file, malformed, log)
        else:
            source = parts(
                file,
                malformed,
                wanted=described.sources,
                separator=described.separator,
                header=described.header,
                comment=described.comment or None,
            )
        found: list[pd.DataFrame] = []
        filtered = 0
        guesses = Guesses(str(log.path))
        for part in source:
            if part.frame.empty:
                continue
            check_columns(list(part.frame.columns), described, log)
            kept = wanted_rows(part.frame, described)
            filtered += len(kept) - int(kept.sum())
            if kept.any():
                chosen = Part(part.frame[kept].reset_index(drop=True), part.lines[kept])
                zone = options.timezone or described.zone or None
                found.append(jobs_of(chosen.frame, chosen.lines, described, zone, malformed, guesses))
        if filtered:
            log.note(f"{counted(filtered, 'row')} left out by the filter of the column map", filtered_out=filtered)
        log.joined(file.joined)
        guesses.say(log)
        jobs = gathered(found, malformed, options, log, described)
        more = {"account": text(jobs, "account")} if "account" in jobs else {}
        return workload_of(jobs, more, options, log, machine, relative=described.clock == "relative")
