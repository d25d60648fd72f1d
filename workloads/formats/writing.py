"""Writing workloads in the formats that hold them."""

from __future__ import annotations

import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import pandas as pd

from ...base import InputError
from ...base.checks import shown
from ..workload import Workload
from .jsonl import jsonl_text
from .slots import GPU
from .swf_writer import lost_fields, swf_text
from .trace_files import save


def table_of(workload: Workload) -> pd.DataFrame:
    """Return a row per job with what the column map ``jobs`` reads: times, all cores and GPUs, texts.

    Raises
    ------
    InputError
        If a job asks for something else, or has shapes, a checkpoint or another field that has no column.
    """
    jobs = workload.columns
    unit = workload.machine.resources[workload.machine.primary]
    other = {name for amounts in jobs.per_node.values for name, amount in amounts.items() if amount} - {unit, GPU}
    own = {"priority": jobs.priority, "qos": jobs.qos}
    lost = [*sorted(other), *(name for name in lost_fields(jobs) if name not in own)]
    if lost:
        raise InputError(f"a table of jobs has no column for {', '.join(lost)}; JSON lines (.jsonl) hold all")
    frame = workload.frame().drop(columns=["nodes", "kind"])
    frame.insert(4, "cores", jobs.amounts(unit))
    if jobs.amounts(GPU).any():
        frame.insert(5, "gpus", jobs.amounts(GPU))
    if workload.records is not None and "wait" in workload.records:
        frame.insert(2, "wait", workload.records["wait"].to_numpy())
    for name, column in own.items():
        if any(column.values):
            frame[name] = list(column.each())
    return frame


def _csv(workload: Workload) -> str:
    text: str = table_of(workload).to_csv(index=False, lineterminator="\n")
    return text


def _parquet(workload: Workload) -> bytes:
    buffer = io.BytesIO()
    table_of(workload).to_parquet(buffer, index=False)
    return buffer.getvalue()


_WRITERS: dict[str, Callable[[Workload], str | bytes]] = {
    ".swf": swf_text, ".jsonl": jsonl_text, ".csv": _csv, ".parquet": _parquet,
}  # fmt: skip


def write(workload: Workload, path: str | PathLike[str]) -> None:
    """Write a workload as SWF, JSON lines, CSV or Parquet; the same workload gives the same bytes.

    In ``.swf`` the fields a job has come from the jobs, the others from ``Workload.records`` where it has them, else
    -1. Header lines say which number stands for which name, and what of the jobs SWF has no field for. In ``.jsonl``
    nothing is lost: the machine and the provenance stand in the first line, then each job with all its fields. ``.csv``
    and ``.parquet`` are a table of jobs that ask for cores and GPUs.

    Parameters
    ----------
    workload
        What to write.
    path
        Where to, with ``.gz`` also packed; an existing file is replaced when the new one is complete.

    Raises
    ------
    InputError
        If the suffix is another, the law of a job is none that JSON lines can hold, or a table has no column for a
        field of a job.
    OSError
        If the file cannot be written.
    """
    if not isinstance(workload, Workload):
        raise InputError(f"write: expected a workload and a path, got {shown(workload)}; Result.to_swf writes results")
    path = Path(path)
    save(path, _WRITERS[written_suffix(path)](workload), packed=path.suffix.lower() == ".gz")


def written_suffix(path: Path) -> str:
    """Return the suffix that tells the format of a file to be written, without ``.gz``.

    Raises
    ------
    InputError
        If nothing is written in this format.
    """
    name = path.name.lower().removesuffix(".gz")
    for suffix in _WRITERS:
        if name.endswith(suffix):
            return suffix
    known = " or ".join(_WRITERS)
    raise InputError(f"{path}: expected a file name ending in {known}, or that with .gz, got suffix {path.suffix!r}")
