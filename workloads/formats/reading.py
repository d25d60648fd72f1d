"""Reading traces of any known format."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ...base import InputError
from ..machine import Machine
from ..workload import Workload
from .job_builder import FILLED
from .jsonl import parse_jsonl
from .memory_needs import JSONL, SACCT, SWF, refuse_if_too_large
from .parsed_traces import ParsedTraces
from .read_log import DefaultWalltime, Log, NothingUsableError, ReadOptions, TraceWarning
from .sacct import parse_sacct
from .swf import parse_swf
from .trace_files import load

Parser = Callable[[bytes, ReadOptions, Log], Workload]
#: What reads a trace, by its suffix, and the memory that takes.
PARSERS: dict[str, tuple[Parser, tuple[float, int]]] = {
    ".swf": (parse_swf, SWF),
    ".sacct": (parse_sacct, SACCT),
    ".txt": (parse_sacct, SACCT),
    ".csv": (parse_sacct, SACCT),
    ".jsonl": (parse_jsonl, JSONL),
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
) -> Workload:
    """Read a trace: SWF, the output of Slurm's ``sacct -P``, or a workload written as JSON lines.

    The suffix tells which: ``.swf``; ``.sacct``, ``.txt``, ``.csv``; ``.jsonl``; each with ``.gz`` as well.

    Whatever is left out, filled in or rounded is said in ``Workload.provenance``, as lines in `notes` and
    as numbers in `counts`. The processor count of a job is the requested one, or the allocated one where
    that is missing. Fractions of a second are rounded: submission down, run and requested time up. A run
    time beyond the requested time stays.

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
        What stands for a missing requested time: whole seconds, or ``"runtime"`` for the job's own run
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
        If requested times were missing and had to be guessed.
    """
    path = Path(path)
    packed = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if suffix not in PARSERS:
        known = ", ".join(PARSERS)
        raise InputError(f"{path}: expected a suffix among {known} (each with .gz as well), got {path.suffix!r}")
    if machine is not None and not isinstance(machine, Machine):
        machine = Machine.from_file(machine)
    if head is not None and head < 1:
        raise InputError(f"{path}: head must be a whole number >= 1, got {head}")
    options = ReadOptions(machine, lenient, strict, default_walltime, timezone)
    parser, needs = PARSERS[suffix]
    refuse_if_too_large(path, needs, None if head is None else max(2 * head, LEAST_LINES), memory)
    if head is not None:
        workload = _first_jobs(path, packed, parser, options, head)
    else:
        parsed = None if cache is None or suffix == ".jsonl" else ParsedTraces(Path(cache))
        found = None if parsed is None else parsed.get(path, options)
        workload = found or parser(load(path, packed=packed), options, Log(path))
        if parsed is not None and found is None:
            parsed.put(path, options, workload)
    guessed = workload.provenance.counts.get(FILLED, 0)
    if guessed and default_walltime is None:
        message = next(note for note in workload.provenance.notes if "no requested time" in note)
        warnings.warn(f"{path}: {message}; default_walltime sets another", TraceWarning, stacklevel=2)
    return workload


def _first_jobs(path: Path, packed: bool, parser: Parser, options: ReadOptions, head: int) -> Workload:
    """Read more lines until there are so many jobs."""
    lines = max(2 * head, LEAST_LINES)
    while True:
        data = load(path, packed=packed, lines=lines)
        whole = data.count(b"\n") < lines
        try:
            workload = parser(data, options, Log(path))
            if whole or len(workload) >= head:
                return workload.head(head)
        except NothingUsableError:
            if whole:
                raise
        lines *= 2
