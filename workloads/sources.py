"""Convert a name to a workload. It names a trace's file, a generator, a published trace, or the sample trace."""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from ..base import InputError, check_whole, parse_spec, shown
from ..base.printed import near_name
from .fetching import TRACES, fetch
from .formats import read
from .generators.generator import GENERATORS, generate
from .workload import Workload

#: The name of the sample trace that every installation has, and its file.
EXAMPLE = "example"
EXAMPLE_FILE = Path(__file__).parents[1] / "examples" / "trace.swf.gz"
#: A workload; the path of a trace; ``NAME:key=value,...`` of a generator; a published trace's name; or ``example``.
WorkloadLike = Workload | str | PathLike[str]


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a workload.

    Attributes
    ----------
    name
        As the user gave it.
    spec
        The generator's, or ``None`` for a trace.
    path
        The file of a trace, or ``None`` if it is not fetched yet.
    others
        Further files of the trace.
    """

    name: str
    spec: str | None = None
    path: Path | None = None
    others: tuple[Path, ...] = ()

    @property
    def sampled(self) -> bool:
        """Whether a seed gives another sample. It does for a generator without a fixed seed."""
        return self.spec is not None and "seed" not in parse_spec(self.spec)[1]

    def file(self) -> Path:
        """Return the path of a trace. Fetch a published one if it is missing; errors as :func:`fetch`."""
        return fetch(self.name) if self.path is None else self.path


def resolve(name: str, folder: Path = Path()) -> Source:
    """Return the source of a name: a file or folder in `folder`, else a generator, a published trace or the sample.

    Raises
    ------
    InputError
        If it is none of these.
    """
    path = folder / name
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        return Source(name, path=path)
    if name.partition(":")[0].strip() in GENERATORS.names():
        return Source(name, spec=name)
    if name.lower() in TRACES:
        return Source(name)
    if name == EXAMPLE:
        return Source(name, path=EXAMPLE_FILE)
    if path.is_dir():
        raise InputError(f"{name}: expected a trace file, got a directory")
    if any(letter in name for letter in "*?["):  # a pattern of the names of files
        return Source(name, path=path)
    known = f"generators: {', '.join(GENERATORS.names())}; published traces: {', '.join(TRACES)}; the sample: {EXAMPLE}"
    near = near_name(path.name, [file.name for file in path.parent.glob("*")], "{}")
    hint = f"did you mean {shown(fspath(Path(name).with_name(near)))}? " if near else ""
    raise InputError(f"{name}: no such file, and no workload of this name ({hint}{known})")


def source_of(given: str | PathLike[str]) -> Source:
    """Return the source of a path or a name, see :func:`resolve`.

    Raises
    ------
    InputError
        If there is no such source.
    """
    if isinstance(given, str | PathLike):
        return resolve(fspath(given))
    names = "a path, a generator such as 'lublin:jobs=500' or a published trace such as 'kth-sp2'"
    raise InputError(f"workload: expected a Workload, {names}; got {shown(given)}")


def workload_of(given: WorkloadLike, seed: int = 0) -> Workload:
    """Return a workload unchanged, or read, fetch or generate the one with a name.

    Parameters
    ----------
    given
        A :data:`WorkloadLike`.
    seed
        Of a generator without a fixed seed in its text, at least 0.

    Raises
    ------
    InputError
        If there is no such workload, or it is invalid.
    OSError
        If a file cannot be read or downloaded.
    """
    try:
        check_whole("seed", seed, 0)
    except ValueError as error:
        raise InputError(str(error)) from None
    if isinstance(given, Workload):
        return given
    source = source_of(given)
    return read(source.file()) if source.spec is None else generate(source.spec, seed=seed)
