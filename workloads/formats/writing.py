"""Write workloads in the formats that can hold them."""

import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import pandas as pd

from ...base import InputError, shown
from ...base.argument_types import names_wrong_types
from ..workload import Workload
from .jsonl import jsonl_text
from .slots import GPU
from .swf_writer import lost_fields, swf_text
from .trace_files import save


def table_of(workload: Workload) -> pd.DataFrame:
    """Return one row per job with the columns of the map ``jobs``: times, all cores and GPUs, texts.

    Raises
    ------
    InputError
        If a job has other resources, shapes, a checkpoint, or another field without a column.
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
    ".swf": swf_text,
    ".jsonl": jsonl_text,
    ".csv": _csv,
    ".parquet": _parquet,
}


@names_wrong_types
def write(workload: Workload, path: str | PathLike[str]) -> None:
    """Write a workload as SWF, JSON lines, CSV or Parquet. The same workload gives the same bytes.

    In ``.swf`` the fields of a job come from the jobs, the others from ``Workload.records`` if it has them, else they
    are -1. Header lines list the numbers with their names. They also hold the data of jobs that SWF has no field for.
    In ``.jsonl`` nothing is lost. The machine and the provenance are in the first line. Each job follows with all its
    fields. ``.csv`` and ``.parquet`` are a table of jobs that request cores and GPUs.

    Parameters
    ----------
    workload
        The workload to write.
    path
        The file, compressed with ``.gz``. An existing file is replaced when the new one is complete.

    Raises
    ------
    InputError
        If the suffix is unknown, or JSON lines cannot hold the law of a job. Also if a table lacks a column for a field
        of a job.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     hd.write(hd.example(), f"{folder}/jobs.jsonl.gz")
    ...     copy = hd.read(f"{folder}/jobs.jsonl.gz")
    >>> copy.digest() == hd.example().digest()
    True
    """
    if not isinstance(workload, Workload):
        raise InputError(f"write: expected a workload and a path, got {shown(workload)}; Result.to_swf writes results")
    path = Path(path)
    save(path, _WRITERS[written_suffix(path)](workload), packed=path.suffix.lower() == ".gz")


def written_suffix(path: Path) -> str:
    """Return the suffix of a file to write, without ``.gz``.

    Raises
    ------
    InputError
        If no format has this suffix.
    """
    name = path.name.lower().removesuffix(".gz")
    for suffix in _WRITERS:
        if name.endswith(suffix):
            return suffix
    known = " or ".join(_WRITERS)
    raise InputError(f"{path}: expected a file name ending in {known}, or that with .gz, got suffix {path.suffix!r}")
