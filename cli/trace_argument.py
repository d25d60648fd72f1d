"""From the TRACE of a command line to a workload."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from ..base import InputError, parse_spec
from ..workloads import GENERATORS, TraceWarning, Workload, fetch, generate, read
from ..workloads.fetching import TRACES
from .command_errors import say
from .progress import spinner
from .shared_options import ReadingOptions

#: The workload of commands called without one.
BUILT_IN = "lublin:jobs=1500,processors=128,load=0.8"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a workload comes from.

    Attributes
    ----------
    name
        As it was asked for.
    spec
        The generator's, or ``None`` for a trace.
    path
        The file of a trace, or ``None`` where it has yet to be fetched by `name`.
    """

    name: str
    spec: str | None = None
    path: Path | None = None

    @property
    def sampled(self) -> bool:
        """Whether a seed draws another sample: a generator whose seed is not fixed in the text."""
        return self.spec is not None and "seed" not in parse_spec(self.spec)[1]


def resolve(trace: str | None) -> Source:
    """Return what a TRACE means: an existing file, else a generator, else a published trace.

    Without one it is the built-in workload, which is said on stderr.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if trace is None:
        say("note", f"no trace given, using the built-in workload {BUILT_IN}")
        return Source(BUILT_IN, spec=BUILT_IN)
    path = Path(trace)
    if path.exists() and not path.is_dir():
        return Source(trace, path=path)
    if trace.partition(":")[0].strip() in GENERATORS.names():
        return Source(trace, spec=trace)
    if trace.lower() in TRACES:
        return Source(trace)
    if path.is_dir():
        raise InputError(f"{trace}: expected a trace file, got a directory")
    known = f"generators: {', '.join(GENERATORS.names())}; published traces: {', '.join(TRACES)}"
    raise InputError(f"{trace}: no such file, and no workload of this name ({known})")


def load(source: Source, reading: ReadingOptions, seed: int = 0, *, notes: bool = True) -> Workload:
    """Read, fetch or generate a workload; what the reader has to say goes to stderr, unless `notes` is false.

    Raises
    ------
    InputError
        For whatever is wrong with the trace or the specification.
    OSError
        If a file cannot be read or downloaded.
    """
    if source.spec is not None:
        refuse_for_generated(source, reading)
        with spinner(f"generating {source.name}"):
            workload, warned = generate(source.spec, seed=seed), list[str]()
    else:
        workload, warned = _read(source, reading)
    for note in workload.provenance.notes if notes else ():
        if not any(note in warning for warning in warned):
            say("note", f"{source.name}: {note}")
    return workload if reading.head is None else workload.head(reading.head)


def refuse_for_generated(source: Source, reading: ReadingOptions) -> None:
    """Raise :class:`InputError` for options that say how to read a trace, given a workload that is not read."""
    for option, given in (("--machine", reading.machine), ("--default-walltime", reading.default_walltime)):
        if given is not None:
            raise InputError(
                f"{option}: it says how to read a trace, and {source.name} is generated; "
                "'hpcdispatch workload generate' makes a trace of it"
            )


def _read(source: Source, reading: ReadingOptions) -> tuple[Workload, list[str]]:
    """Return the workload and what was warned of, which has been said."""
    path = source.path
    if path is None:
        with spinner(f"fetching {source.name}"):
            path = fetch(source.name)
    with warnings.catch_warnings(record=True) as caught, spinner(f"reading {source.name}"):
        warnings.simplefilter("always", TraceWarning)
        workload = read(
            path, reading.machine, reading.lenient, reading.strict, default_walltime=reading.default_walltime
        )
    warned = [str(warning.message) for warning in caught]
    for text in warned:
        say("warning", text.replace("default_walltime", "--default-walltime"))
    return workload, warned
