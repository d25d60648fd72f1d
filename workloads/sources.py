"""From a name to a workload: a trace's file, a generator, or a published trace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..base import InputError, parse_spec
from .fetching import TRACES, fetch
from .generators import GENERATORS


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
        The file of a trace, or ``None`` where it has yet to be fetched.
    """

    name: str
    spec: str | None = None
    path: Path | None = None

    @property
    def sampled(self) -> bool:
        """Whether a seed draws another sample: a generator whose seed is not fixed in the text."""
        return self.spec is not None and "seed" not in parse_spec(self.spec)[1]

    def file(self) -> Path:
        """Return the path of a trace, a published one fetched if it is not at hand; errors as :func:`fetch`."""
        return fetch(self.name) if self.path is None else self.path


def resolve(name: str, folder: Path = Path()) -> Source:
    """Return what a name means: an existing file, seen from `folder`, else a generator, else a published trace.

    Raises
    ------
    InputError
        If it is none of these.
    """
    path = folder / name
    if path.exists() and not path.is_dir():
        return Source(name, path=path)
    if name.partition(":")[0].strip() in GENERATORS.names():
        return Source(name, spec=name)
    if name.lower() in TRACES:
        return Source(name)
    if path.is_dir():
        raise InputError(f"{name}: expected a trace file, got a directory")
    known = f"generators: {', '.join(GENERATORS.names())}; published traces: {', '.join(TRACES)}"
    raise InputError(f"{name}: no such file, and no workload of this name ({known})")
