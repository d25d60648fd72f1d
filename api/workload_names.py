"""Workloads by name, as the functions for scripts take them."""

from __future__ import annotations

from os import PathLike, fspath

from ..base import InputError
from ..base.checks import shown
from ..workloads import Workload, fetching, generate, read
from ..workloads.sources import Source, resolve

#: A workload; the path of a trace; ``NAME:key=value,...`` of a generator; or the name of a published trace.
WorkloadLike = Workload | str | PathLike[str]


def fetch(name: str) -> Workload:
    """Return a published trace, downloaded if it is not at hand; see :func:`hpcdispatch.workloads.fetch`.

    Parameters
    ----------
    name
        Such as ``"kth-sp2"``; the error for an unknown name lists all.

    Raises
    ------
    InputError
        For an unknown name, or a file that is not the published one.
    OSError
        If it cannot be downloaded.
    """
    return read(fetching.fetch(name))


def source_of(given: str | PathLike[str]) -> Source:
    """Return what a path or a name means, see :func:`.resolve`.

    Raises
    ------
    InputError
        If it means nothing.
    """
    if not isinstance(given, str | PathLike):
        names = "a path, a generator such as 'lublin:jobs=500' or a published trace such as 'kth-sp2'"
        raise InputError(f"workload: expected a Workload, {names}; got {shown(given)}")
    return resolve(fspath(given))


def workload_of(given: WorkloadLike, seed: int = 0) -> Workload:
    """Return a workload as it is, or read, generate or fetch the one of that name.

    Parameters
    ----------
    given
        A :data:`WorkloadLike`.
    seed
        Of a generator whose text fixes none.

    Raises
    ------
    InputError
        If there is no such workload, or for whatever is wrong with it.
    OSError
        If a file cannot be read or downloaded.
    """
    if isinstance(given, Workload):
        return given
    source = source_of(given)
    return read(source.file()) if source.spec is None else generate(source.spec, seed=seed)
