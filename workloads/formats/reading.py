"""Reading traces of any known format."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from ...base import InputError
from ...base.checks import shown
from ..fetching import TRACES
from ..machine import Machine
from ..workload import Workload
from .column_maps import column_map
from .job_builder import FILLED
from .jsonl import parse_jsonl
from .memory_needs import JSON, JSONL, SACCT, SWF, TABLE, refuse_if_too_large
from .parsed_traces import ParsedTraces
from .read_log import DefaultWalltime, Log, NothingUsableError, ReadOptions, TraceWarning
from .sacct import parse_sacct, parse_sacct_json
from .swf import parse_swf
from .tables import TableParser, kind_of
from .trace_files import Bounds, TraceFile

Parser = Callable[[TraceFile, ReadOptions, Log], Workload]
#: What reads a trace, by the name of its format, and the memory that takes.
PARSERS: dict[str, tuple[Parser, tuple[float, int]]] = {
    "swf": (parse_swf, SWF),
    "sacct": (parse_sacct, SACCT),
    "sacct-json": (parse_sacct_json, JSON),
    "jsonl": (parse_jsonl, JSONL),
}
#: Lines that are read at least where only the first jobs are wanted.
LEAST_LINES = 100_000


def read(
    path: str | PathLike[str],
    machine: Machine | str | PathLike[str] | None = None,
    lenient: bool = False,
    strict: bool = False,
    default_walltime: DefaultWalltime = None,
    head: int | None = None,
    timezone: str | None = None,
    cache: str | PathLike[str] | None = None,
    memory: int | None = None,
    *,
    format: str | None = None,
    cluster: str | None = None,
    delimiter: str | None = None,
    columns: str | None = None,
    keep_zero: bool = False,
    max_size: int | None = None,
    partition_limits: Mapping[str, int | None] | None = None,
) -> Workload:
    """Read a trace: SWF, the output of Slurm's ``sacct``, a table of a public data set, or JSON lines.

    The suffix and the beginning of the file tell which, gzip or not; `format` says it otherwise.

    Whatever is left out, filled in or rounded is said in ``Workload.provenance``, as lines in `notes` and
    as numbers in `counts`. The processor count of a job is the requested one, or the allocated one where
    that is missing. Fractions of a second are rounded: submission down, run and walltime up. A run
    time beyond the walltime stays.

    Parameters
    ----------
    path
        The file; gzip is recognised by its content.
    machine
        What the jobs run on: a machine, or the path of an AccaSim system file in JSON. Each processor then
        asks for the machine's `equivalence` and, if the machine has a resource ``mem``, the memory
        requested per processor (kilobytes in SWF); the processors of a job are grouped into node slots as
        large as the nodes allow. Without it, the machine is one pool of as many cores as the header says
        (MaxProcs). JSON lines have a machine of their own and node slots as they are; another may stand for it.
    lenient
        Count, list and drop malformed records (wrong number of fields, not a number, negative or falling
        submission time, duplicate id) instead of refusing the file.
    strict
        Refuse the file for an unusable record (run time <= 0, no processor count, larger than the machine) instead
        of leaving it out; so a shape that the machine has no room for.
    default_walltime
        What stands for a missing walltime: whole seconds, or ``"runtime"`` for the job's own run
        time. Without it that is the largest of the job's queue, or of the trace if the queue has none.
    head
        Return the first jobs alone, and read no further than needed: twice as many lines, and 100,000 at least. The
        rest is as if it were not there, also for what is worked out from a trace: the largest request of a queue, and
        the size of the machine where neither `machine` nor the header says it.
    timezone
        The zone of the local times that ``sacct`` prints, such as ``"Europe/Berlin"``; without it they are taken as
        they stand, so that jobs over a change of the clocks seem an hour longer or shorter. Times as numbers
        (``SLURM_TIME_FORMAT=%s``) need none.
    cache
        A folder for what was read of large traces, to be had sooner the next time: by the content of the file, the
        options, and the code that reads. Without it nothing is written. Not used with `head`.
    memory
        Bytes that the reading may take; without it what the system, the limits of this process, and its control groups
        leave.
    format
        ``swf``, ``sacct``, ``jsonl``, the name of a built-in column map such as ``pm100``, or the path of another map
        (TOML, see :mod:`~hpcdispatch.workloads.formats.column_maps`).
    cluster
        Which cluster to read, where an accounting has the jobs of several.
    delimiter
        What stands between the fields of what ``sacct`` prints, where its header does not show it.
    columns
        The names of the columns, separated by commas, of a file of ``sacct`` without a header.
    keep_zero
        Keep jobs that ended with a recorded run time of 0, less than half a second in SWF, as one second.
    max_size
        Bytes of the largest file that is read, 4 GB without it. Greater ones raise the other bounds in proportion: 200
        times that when unpacked, 100 million records, 2 GB of memory.
    partition_limits
        The limit of each partition or queue (s, ``None`` for none), for jobs that have no other.

    Returns
    -------
    Workload
        Jobs in order of submission; `records` holds the fields of the trace a job has no room for.

    Raises
    ------
    FileNotFoundError, OSError
        If there is no such file or it cannot be read.
    InputError
        For everything else that is wrong; one line that says file, line, field, expected and received. Also if the
        trace would not fit into memory, with the estimate.

    Warns
    -----
    TraceWarning
        If walltimes were missing and had to be guessed.
    """
    if not isinstance(path, str | PathLike):
        raise InputError(f"read: expected the path of a trace, got {shown(path)}")
    path = Path(path)
    if str(path).lower() in TRACES and not path.exists():
        raise FileNotFoundError(f"{path}: no such file; hpcdispatch.fetch({str(path)!r}) gets the published trace")
    if machine is not None and not isinstance(machine, Machine):
        machine = Machine.from_file(machine)
    if head is not None and head < 1:
        raise InputError(f"{path}: head must be a whole number >= 1, got {head}")
    options = ReadOptions(
        machine, lenient, strict, default_walltime, timezone, format, cluster, delimiter, columns, keep_zero,
        Bounds.of(max_size), partition_limits or {},
    )  # fmt: skip
    kind, parser, needs = _parser(path, options)
    refuse_if_too_large(path, needs, None if head is None else max(2 * head, LEAST_LINES), memory, options.bounds)
    if head is not None:
        workload = _first_jobs(path, parser, options, head)
    else:
        parsed = None if cache is None or kind == "jsonl" else ParsedTraces(Path(cache))
        found = None if parsed is None else parsed.get(path, options)
        workload = found or parser(TraceFile(path, _packed(path), bounds=options.bounds), options, Log(path))
        if parsed is not None and found is None:
            parsed.put(path, options, workload)
    guessed = workload.provenance.counts.get(FILLED, 0)
    if guessed and default_walltime is None:
        message = next(note for note in workload.provenance.notes if "no walltime" in note)
        warnings.warn(f"{path}: {message}; default_walltime sets another", TraceWarning, stacklevel=2)
    return workload


def _packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _parser(path: Path, options: ReadOptions) -> tuple[str, Parser, tuple[float, int]]:
    """Return the name of a file's format, what reads it, and the memory that takes."""
    kind = options.format or kind_of(path, packed=_packed(path))
    if kind in PARSERS:
        return (kind, *PARSERS[kind])
    needs = JSON if column_map(kind).container in ("philly", "batsim") else TABLE
    return kind, TableParser(kind), needs


def _first_jobs(path: Path, parser: Parser, options: ReadOptions, head: int) -> Workload:
    """Read more lines until there are so many jobs."""
    lines = max(2 * head, LEAST_LINES)
    while True:
        file = TraceFile(path, _packed(path), lines, options.bounds)
        try:
            workload = parser(file, options, Log(path))
            if file.whole or len(workload) >= head:
                return workload.head(head)
        except NothingUsableError:
            if file.whole:
                raise
        lines *= 2
