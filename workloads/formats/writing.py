"""Writing workloads in the formats that hold them."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ...base import InputError
from ..workload import Workload
from .jsonl import jsonl_text
from .swf_writer import swf_text
from .trace_files import save

_TEXTS: dict[str, Callable[[Workload], str]] = {".swf": swf_text, ".jsonl": jsonl_text}


def write(workload: Workload, path: str | PathLike[str]) -> None:
    """Write a workload as SWF or JSON lines; the same workload gives the same bytes.

    In ``.swf`` the fields a job has come from the jobs, the others from ``Workload.records`` where it has them, else
    -1. Header lines say which number stands for which name, and what of the jobs SWF has no field for. In ``.jsonl``
    nothing is lost: the machine and the provenance stand in the first line, then each job with all its fields.

    Parameters
    ----------
    workload
        What to write.
    path
        Where to, with ``.gz`` also packed; an existing file is replaced when the new one is complete.

    Raises
    ------
    InputError
        If the suffix is another, or the law of a job is none that JSON lines can hold.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    save(path, _TEXTS[written_suffix(path)](workload), packed=path.suffix.lower() == ".gz")


def written_suffix(path: Path) -> str:
    """Return the suffix that tells the format of a file to be written, without ``.gz``.

    Raises
    ------
    InputError
        If nothing is written in this format.
    """
    name = path.name.lower().removesuffix(".gz")
    for suffix in _TEXTS:
        if name.endswith(suffix):
            return suffix
    known = " or ".join(_TEXTS)
    raise InputError(f"{path}: expected a file name ending in {known}, or that with .gz, got suffix {path.suffix!r}")
