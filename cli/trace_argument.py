"""Convert the TRACE of a command line to a workload."""

import warnings
from dataclasses import asdict
from pathlib import Path

from ..base import InputError, shown
from ..simulation import conventions
from ..workloads import TraceWarning, Workload, generate, read, sources
from ..workloads.fetching import cache_folder
from ..workloads.formats.memory_needs import half_the_memory
from ..workloads.formats.read_log import NoRequestedTimesError
from ..workloads.sanity import with_doubts
from ..workloads.sources import Source
from .command_errors import say
from .progress import spinner
from .shared_options import ReadingOptions

#: The folder of parsed traces, in the user's cache.
PARSED = "parsed"
#: The workload of commands called without one.
BUILT_IN = "lublin:jobs=1000,processors=128,load=0.6"


def resolve(*traces: str) -> Source:
    """Return the source of a TRACE. Without a TRACE it is the built-in workload, and a note says so.

    Several are files of one trace, as a shell makes of ``logs/2024*``.

    Raises
    ------
    InputError
        If it names no source, or one of several is no file.
    """
    if not traces:
        say(
            "note",
            f"no trace given, using the built-in workload {BUILT_IN}: generated, with shorter queues than real traces",
        )
        return Source(BUILT_IN, spec=BUILT_IN)
    if len(traces) == 1:
        return sources.resolve(traces[0])
    for one in traces:
        if not Path(one).exists():
            raise InputError(
                f"{shown(one)[1:-1]}: expected another file of the trace, got no such file; a list has commas and a "
                "value no blanks, as in easy,fcfs and 15m"
            )
    first, *others = map(Path, traces)
    return Source(f"{first} and {len(others):,} more", path=first, others=tuple(others))


def load(source: Source, reading: ReadingOptions, seed: int = 0, *, notes: bool = True) -> Workload:
    """Read, fetch or generate a workload. The reader's notes go to stderr, unless `notes` is false.

    Raises
    ------
    InputError
        If the trace or the specification is invalid.
    OSError
        If a file cannot be read or downloaded.
    """
    if source.spec is not None:
        refuse_for_generated(source, reading)
        with spinner(f"generating {source.name}"):
            workload = generate(source.spec, seed=seed)
            warned = list[str]()
    else:
        with spinner(f"fetching {source.name}"):
            path, given = source.file(), asdict(reading)
            paths = [path, *source.others] if source.others else path
        with warnings.catch_warnings(record=True) as caught, spinner(f"reading {source.name}"):
            warnings.simplefilter("always", TraceWarning)
            try:
                cache = None if given.pop("no_cache") else cache_folder() / PARSED
                workload = with_doubts(read(paths, **given, cache=cache, memory=half_the_memory()))
            except NoRequestedTimesError as error:  # its option has another name on the command line
                raise NoRequestedTimesError(str(error).replace("default_walltime", "--default-walltime")) from None
        warned = [str(warning.message) for warning in caught]
        for text in warned:
            say("warning", text.replace("default_walltime", "--default-walltime"))
    for note in workload.provenance.notes if notes else ():
        if not any(note in warning for warning in warned):
            say("note", f"{source.name}: {note}")
    return workload if reading.head is None else workload.head(reading.head)


def under_conventions(name: str | None, source: Source, reading: ReadingOptions) -> ReadingOptions:
    """Return the reading options under the conventions of a paper, if any, and say what they are.

    Generated jobs need no reading; there, they only decide how is simulated.
    """
    if name is None:
        return reading
    rules = conventions(name)
    say("note", f"conventions {name}, where no option says otherwise: {rules}; {rules.remark}")
    return reading if source.spec is not None else reading.under(name, source.name)


def refuse_for_generated(source: Source, reading: ReadingOptions) -> None:
    """Raise :class:`InputError` if reading options are given for a generated workload."""
    for option, given in (
        ("--machine", reading.machine),
        ("--default-walltime", reading.default_walltime),
        ("--zero-runtime", reading.zero_runtime),
        ("--unknown-runtime", reading.unknown_runtime),
        ("--processors", reading.processors),
        ("--timezone", reading.timezone),
        ("--format", reading.format),
    ):
        if given is not None:
            raise InputError(
                f"{option}: it says how to read a trace, and {source.name} is generated; "
                "'hpcdispatch workload generate' makes a trace of it"
            )
