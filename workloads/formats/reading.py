"""Read traces of any supported format."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from ...base import InputError
from ...base.argument_types import names_wrong_types
from ...base.checks import MOST_PROCESSORS, check_whole
from ...base.user_warnings import warn
from ..fetching import TRACES
from ..machine import Machine
from ..sanity import FILLED, with_doubts
from ..workload import Workload
from .column_maps import column_map
from .containers import JSON_CONTAINERS
from .jsonl import parse_jsonl
from .memory_needs import JSON, JSONL, RECORDS, SACCT, SWF, TABLE, refuse_if_too_large
from .parsed_traces import ParsedTraces
from .read_log import LISTED, DefaultWalltime, NothingUsableError, ReadingLog, ReadOptions, TraceWarning
from .recognition import kind_of, unknown
from .sacct import parse_sacct, parse_sacct_json
from .swf import parse_swf
from .tables import TableParser
from .trace_files import Needs, ReadingBounds, TraceFile
from .trace_paths import trace_files

Parser = Callable[[TraceFile, ReadOptions, ReadingLog], Workload]
#: Parser and memory needs, by the name of the format.
PARSERS: dict[str, tuple[Parser, Needs]] = {
    "swf": (parse_swf, SWF),
    "sacct": (parse_sacct, SACCT),
    "sacct-json": (parse_sacct_json, JSON),
    "jsonl": (parse_jsonl, JSONL),
}
#: Least number of lines to read for the first jobs.
LEAST_LINES = 100_000


@names_wrong_types
def read(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
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
    zero_runtime: int | None = None,
    unknown_runtime: int | None = None,
    processors: int | None = None,
    max_size: int | None = None,
    partition_limits: Mapping[str, int | None] | None = None,
    components: bool = False,
) -> Workload:
    """Read a trace: SWF, the output of Slurm's ``sacct``, a table of a public data set, or JSON lines.

    The suffix and the beginning of the file decide the format, gzip or not; `format` overrides them.

    ``Workload.provenance`` records all dropped, filled-in or rounded values, as lines in `notes` and as numbers in
    `counts`. The processor count of a job is the requested one, or else the allocated one. Fractions of a second are
    rounded: submission down, run time and walltime up. A run time beyond the walltime is kept.

    Parameters
    ----------
    path
        The file; gzip, bzip2, xz, zstd and a zip with one file are recognised by their content. A folder, a pattern
        such as ``logs/2024*`` or a list of paths is read as one trace, if all files are of one format that allows it.
    machine
        The machine, or the path of an AccaSim system file in JSON. Each processor then uses the machine's
        `equivalence`. With a resource ``mem``, it also uses the memory requested per processor (kilobytes in SWF). The
        processors of a job are grouped into node slots as large as the nodes allow. Without it, the machine is one pool
        of as many cores as the header says (MaxProcs). JSON lines have their own machine and node slots. Another
        machine may replace theirs.
    lenient
        Count, list and drop malformed records instead of refusing the file. These have a wrong number of fields, an
        invalid number, a negative or falling submission time, or a duplicate id.
    strict
        Refuse the file for an unusable record instead of dropping it. This has a run time <= 0 or no processor count.
        Or it does not fit the machine. The same holds for a shape that does not fit the machine.
    default_walltime
        Replaces a missing walltime: whole seconds, or ``"runtime"`` for the job's own run time. ``"drop"`` leaves jobs
        without one out. The default is the largest of the job's queue. It is that of the trace if the queue has none.
    head
        Return only the first jobs. Read no further than needed: twice as many lines, and at least 100,000. The rest is
        ignored, also for values computed from a trace. One is the largest walltime of a queue. Another is the size of
        the machine if neither `machine` nor the header gives it.
    timezone
        The zone of the local times that ``sacct`` prints, such as ``"Europe/Berlin"``. Without it they are taken
        unchanged. Jobs over a change of the clocks then seem an hour longer or shorter. Times as numbers
        (``SLURM_TIME_FORMAT=%s``) need none.
    cache
        A folder for parsed large traces, to read them faster the next time. Its keys are the content of the file, the
        options, and the code of the readers. Without it nothing is written. Not used with `head`.
    memory
        Most bytes for reading. By default, it is what the system, this process's limits and its control groups leave.
    format
        ``swf``, ``sacct``, ``jsonl``, or the name of a built-in column map such as ``pm100``. Or the path of another
        map (TOML, see :mod:`~hpcdispatch.workloads.formats.column_maps`). ``map`` refuses the file with a map to
        complete.
    cluster
        The cluster to read, if the accounting records have jobs of several.
    delimiter
        Text between the fields of ``sacct`` output, if its header does not show it.
    columns
        Column names, separated by commas, for a file of ``sacct`` without a header.
    keep_zero
        Keep jobs with a recorded run time of 0 as one second. In SWF, 0 is less than half a second. Jobs that were
        cancelled, or have no processor count, are left out nevertheless; a note counts them.
    zero_runtime
        Run time of every job with a recorded one of 0, cancelled or not, seconds >= 0. Without it they are left out.
    unknown_runtime
        Run time of every job of which it is unknown (-1 in SWF), seconds >= 1. Without it they are left out.
    processors
        The machine is one pool of so many cores, whatever the header says. Papers often count others.
    max_size
        Bytes of the largest file to read, by default 4 GB. A larger value raises the other bounds in proportion. These
        are 200 times that when unpacked: 100 million records, 2 GB of memory.
    partition_limits
        The limit of each partition or queue (s, ``None`` for none), for jobs that have no other.
    components
        Read the components of a heterogeneous job of Slurm as jobs of their own, not as one job.

    Returns
    -------
    Workload
        Jobs in order of submission; `records` holds the fields of the trace that a job lacks.

    Raises
    ------
    FileNotFoundError, OSError
        If there is no such file or it cannot be read.
    InputError
        If the trace is invalid. One line has file, line, field, expected and received value. Also if the trace would
        not fit into memory, with the estimate.

    Warns
    -----
    TraceWarning
        If walltimes were missing and had to be guessed.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     hd.write(hd.example(), f"{folder}/trace.swf.gz")
    ...     workload = hd.read(f"{folder}/trace.swf.gz", head=100)
    >>> len(workload.jobs), workload.jobs[0].walltime
    (100, 60)
    """
    files = trace_files(path)
    path = Path(path) if isinstance(path, str | PathLike) else files[0]
    if str(path).lower() in TRACES and not path.exists():
        raise FileNotFoundError(f"{path}: no such file; hpcdispatch.fetch({str(path)!r}) gets the published trace")
    if machine is not None and not isinstance(machine, Machine):
        machine = Machine.from_file(machine)
    if processors is not None:
        machine = _pool_of(processors, machine)
    if head is not None and head < 1:
        raise InputError(f"{path}: head must be a whole number >= 1, got {head}")
    options = ReadOptions(
        machine,
        lenient,
        strict,
        default_walltime,
        timezone,
        format,
        cluster,
        delimiter,
        columns,
        keep_zero,
        zero_runtime,
        unknown_runtime,
        ReadingBounds.of(max_size),
        partition_limits or {},
        components,
    )
    kind, parser, needs = _parser(path, files, options)
    for one in files:
        refuse_if_too_large(one, needs, None if head is None else max(2 * head, LEAST_LINES), memory, options.bounds)
    several = tuple(files) if len(files) > 1 else ()

    def opened(lines: int | None) -> TraceFile:
        return TraceFile(files[0], _packed(files[0]), lines, options.bounds, needs, others=tuple(files[1:]))

    def workload_of(file: TraceFile) -> Workload:
        return parser(file, options, ReadingLog(path if several else files[0], files=several))

    if head is not None:
        workload = _first_jobs(opened, workload_of, head)
    else:
        parsed = None if cache is None or kind == "jsonl" or several else ParsedTraces(Path(cache))
        cached_workload = None if parsed is None else parsed.get(files[0], options)
        workload = cached_workload or workload_of(opened(None))
        if parsed is not None and cached_workload is None:
            parsed.put(files[0], options, workload)
    if kind != "jsonl":  # What hpcdispatch wrote comes back as it was.
        workload = with_doubts(workload)
    guessed = workload.provenance.counts.get(FILLED, 0)
    if guessed and default_walltime is None:
        message = next(note for note in workload.provenance.notes if "no walltime" in note)
        warn(f"{path}: {message}; default_walltime sets another", TraceWarning)
    return workload


def _pool_of(processors: int, machine: Machine | None) -> Machine:
    """Return a pool of so many cores."""
    if machine is not None:
        raise InputError("processors: expected it or a machine, got both")
    try:
        check_whole("processors", processors, 1, MOST_PROCESSORS)
    except ValueError as error:
        raise InputError(str(error)) from None
    return Machine.pool(processors)


def _packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _parser(path: Path, files: Sequence[Path], options: ReadOptions) -> tuple[str, Parser, Needs]:
    """Return the name of the format of files, its parser, and its memory needs."""
    if options.format == "map":
        raise unknown(files[0])
    kind = options.format or _kind_of_all(path, files, options)
    if kind in PARSERS:
        together, parser, needs = kind == "sacct", *PARSERS[kind]
    else:
        container = column_map(kind).container
        together, parser = container not in ("philly", "batsim"), TableParser(kind)
        needs = JSON if container in JSON_CONTAINERS else RECORDS if container != "table" else TABLE
    if len(files) > 1 and not together:
        raise InputError(
            f"{path}: expected one file, as {kind} has a header of its own, got {len(files):,}; read them one by one, "
            "or put them together first"
        )
    return kind, parser, needs


def _kind_of_all(path: Path, files: Sequence[Path], options: ReadOptions) -> str:
    """Return the format of files. They must be of one."""
    if len(files) == 1:
        return kind_of(files[0], options)
    what = "a trace file, got a directory" if path.is_dir() else "one trace, got files"
    kinds: dict[str, str] = {}
    for one in files:
        try:
            kinds.setdefault(kind_of(one, options), one.name)
        except InputError as error:
            said = str(error).removeprefix(str(one)).lstrip(":1 ").partition("; ")[0]
            raise InputError(f"{path}: expected {what} with {one.name}, which is no trace: {said}") from None
    if len(kinds) > 1:
        listed = ", ".join(f"{kind} ({name})" for kind, name in list(kinds.items())[:LISTED])
        raise InputError(f"{path}: expected {what} of several formats: {listed}; give those of one, or --format NAME")
    return next(iter(kinds))


def _first_jobs(
    opened: Callable[[int], TraceFile], workload_of: Callable[[TraceFile], Workload], head: int
) -> Workload:
    """Read more lines until there are enough jobs."""
    lines = max(2 * head, LEAST_LINES)
    while True:
        file = opened(lines)
        try:
            workload = workload_of(file)
            if file.whole or len(workload) >= head:
                return workload.head(head)
        except NothingUsableError:
            if file.whole:
                raise
        lines *= 2
