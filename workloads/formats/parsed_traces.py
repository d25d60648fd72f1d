"""A cache folder of parsed traces, as Parquet. Its key is the content, the options and the code of the readers."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...base import write_whole
from ...base.files import open_regular
from ..job import ResourceMap
from ..job_columns import NUMBERS, Coded, JobColumns
from ..workload import Provenance, Workload
from .jsonl import machine_fields, machine_of
from .read_log import ReadOptions

#: Traces with fewer jobs are read as fast as a cached one.
LEAST = 50_000
#: Most cached traces; the last used ones stay.
KEPT = 20
_TEXTS = ("user", "group", "name", "queue", "qos")
_RECORD = "record "
#: Bytes at the beginning of a file with the checksum of the rest.
_DIGEST = 32


class ParsedTraces:
    """The cache folder. If it or a file in it is damaged, the trace is read again.

    Several processes may share it. A file gets its name when it is complete.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, path: Path, options: ReadOptions) -> Workload | None:
        """Return the parsed file with these options, ``None`` if it is not cached."""
        try:
            kept = self._place(path, options)
            with open_regular(kept) as file:
                digest, data = file.read(_DIGEST), file.read()
            if hashlib.sha256(data).digest() != digest:
                return None
            workload = _workload(pd.read_parquet(io.BytesIO(data), use_threads=False))
            os.utime(kept)
        except Exception:  # noqa: BLE001 - missing, damaged, of another pandas: it is read again
            return None
        return workload

    def put(self, path: Path, options: ReadOptions, workload: Workload) -> None:
        """Cache a parsed file, if it is large and without dependencies. Remove the least recently used ones."""
        if len(workload) < LEAST or any(workload.columns.depends.values):
            return
        with contextlib.suppress(OSError):
            kept = self._place(path, options)
            self._folder.mkdir(parents=True, exist_ok=True)
            data = _frame(workload).to_parquet(index=False)
            write_whole(kept, hashlib.sha256(data).digest() + data)
            files = sorted(self._folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime)
            for file in files[:-KEPT]:
                file.unlink(missing_ok=True)

    def _place(self, path: Path, options: ReadOptions) -> Path:
        with open_regular(path) as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        machine = None if options.machine is None else machine_fields(options.machine)
        how = tuple(getattr(options, field.name) for field in fields(options) if field.name != "machine")
        asked = (path.name, content, machine, *how, _reader())
        return self._folder / f"{hashlib.sha256(repr(asked).encode()).hexdigest()}.parquet"


@cache
def _reader() -> str:
    """Return a hash of the code that reads traces."""
    sha = hashlib.sha256(repr((pd.__version__, np.__version__)).encode())
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        sha.update(source.read_bytes())
    return sha.hexdigest()


def _frame(workload: Workload) -> pd.DataFrame:
    """Return a table of all data from readers, with the rest in its attributes."""
    jobs = workload.columns
    amounts = [json.dumps(value) for value in jobs.per_node.values]
    columns: dict[str, Any] = {"id": jobs.ids} | {name: getattr(jobs, name) for name in NUMBERS}
    columns |= {name: _categories(getattr(jobs, name)) for name in _TEXTS}
    columns["per_node"] = _categories(Coded(jobs.per_node.codes, amounts))
    columns["priority"] = jobs.priority.numbers(int)
    if workload.records is not None:
        columns |= {f"{_RECORD}{name}": workload.records[name] for name in workload.records}
    frame = pd.DataFrame(columns, copy=False)
    machine = machine_fields(workload.machine)
    provenance = asdict(workload.provenance)
    frame.attrs = {"text": json.dumps({"machine": machine, "provenance": provenance})}
    return frame


def _workload(frame: pd.DataFrame) -> Workload:
    """Return the workload of a table."""
    said = json.loads(frame.attrs["text"])
    ids = frame["id"].to_numpy()
    columns: dict[str, Any] = {name: frame[name].to_numpy() for name in NUMBERS}
    columns |= {name: _coded(frame[name]) for name in _TEXTS}
    amounts = _coded(frame["per_node"])
    columns["per_node"] = Coded(amounts.codes, [ResourceMap(json.loads(value)) for value in amounts.values])
    columns["priority"] = Coded.of(frame["priority"].to_numpy(), int)
    provenance = said["provenance"]
    for name in ("header", "notes"):
        provenance[name] = tuple(provenance[name])
    records = frame[[name for name in frame if str(name).startswith(_RECORD)]]
    records = records.rename(columns=lambda name: name.removeprefix(_RECORD))
    records.attrs = {}
    return Workload(
        JobColumns.made(ids if ids.dtype.kind == "i" else ids.astype(object), **columns),
        machine_of(said["machine"]),
        Provenance(**provenance),
        records,
    )


def _categories(column: Coded) -> pd.Categorical:
    return pd.Categorical.from_codes(column.codes, categories=pd.Index(list(column.values), dtype=object))


def _coded(column: pd.Series[Any]) -> Coded:
    return Coded(column.cat.codes.to_numpy().astype(np.int32), [str(value) for value in column.cat.categories])
