"""Each fault at every possible place, one after the other, as SQLite tests its out-of-memory.

Afterwards the new content is there whole, or the old one is. Nothing unfinished is left. The error names a file. A loss
of power is simulated by a record of writes and renames since each sync. Any part of them may be lost. A cell of a store
is then whole, damaged by its checksums, or absent.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO
from pathlib import Path

import pytest
from combinations import each_value

from hpcdispatch.analysis.eviction_scenario import checked_scenario, write_scenario
from hpcdispatch.base import InputError
from hpcdispatch.base import files as reading
from hpcdispatch.base import unfinished_files as writing
from hpcdispatch.bench.campaigns.cells import Cell
from hpcdispatch.bench.campaigns.store import Store
from hpcdispatch.bench.reports import html_page, tables
from hpcdispatch.bench.reports.html_page import Page, PagePart, Section, write_page
from hpcdispatch.simulation import simulate
from hpcdispatch.simulation.result import FILES as RESULT_FILES
from hpcdispatch.workloads import Job, Machine, Workload, read, write

CELL = Cell("small", 3, "d" * 64, None, 0, "fcfs", "walltime", "run", "batch")
FILES = {
    **{name: name.encode() for name in RESULT_FILES},
    "cell.json": CELL.text.encode(),
    "jobs.parquet": b"jobs" * 1000,
}
WORKLOAD = Workload([Job("1", 0, 100, 100)], Machine.pool(4))


class Written:
    """A file with counted writes. A full disk takes the first half of the failing one."""

    def __init__(self, file, fail: Callable[[str], None]) -> None:
        self.file, self.fail = file, fail

    def write(self, data: bytes) -> int:
        try:
            self.fail("write")
        except OSError:
            self.file.write(data[: len(data) // 2])
            raise
        return self.file.write(data)

    def __enter__(self):
        return self

    def __exit__(self, *how):
        self.file.close()

    def __getattr__(self, name: str):
        return getattr(self.file, name)


@contextmanager
def failing(monkeypatch, kind: str, number: int, error: int | type[BaseException]) -> Iterator[list[int]]:
    """Let the call of one kind with this number fail, from 1 on. Yields the number of calls."""
    calls = [0]

    def fail(name: str, *about: object) -> None:
        if name == kind:
            calls[0] += 1
            if calls[0] == number:
                raise OSError(error, os.strerror(error), *about) if isinstance(error, int) else error("injected")

    def hooked(name: str, real: Callable) -> Callable:
        def call(*args, **how):
            fail(name, *(str(arg) for arg in args[:1] if name != "fsync"))  # as the system names what it is about
            return real(*args, **how)

        return call

    with monkeypatch.context() as patch:
        for name in ("fsync", "replace", "rename", "mkdir", "open"):
            patch.setattr(os, name, hooked(name, getattr(os, name)))
        patch.setattr(writing, "open", lambda file, mode: Written(os.fdopen(file, mode), fail), raising=False)
        yield calls


def put_a_cell(folder: Path) -> None:
    store = Store(folder / "store")
    store.open()
    store.put(CELL.key, FILES)


def note_a_campaign(folder: Path) -> None:
    store = Store(folder / "store")
    store.open()
    store.note("name", json.dumps({"cells": []}))


def write_a_trace(folder: Path) -> None:
    write(WORKLOAD, folder / "trace.swf.gz")


def write_a_page(folder: Path) -> None:
    writing.write_whole(folder / "page.html", "<html>" * 100)


TABLE = tables.Table("Waits", ["name", "wait (s)"], [["easy", tables.PrintedCell("5", "", 5.0)]])
PAGE = Page("Report", "It waits.", (), (), [Section("Waits", "", [PagePart("waits", TABLE)])], ())
RESULT = simulate(WORKLOAD, "fcfs")
SCENARIO = checked_scenario({"machine": {"nodes": 4}, "jobs": [{"id": "a", "nodes": 2, "loss": 1.5}]}, "a state")


def write_a_report(folder: Path) -> None:
    write_page(PAGE, folder / "report.html")


def save_a_result(folder: Path) -> None:
    RESULT.save(folder / "result")


def write_a_state(folder: Path) -> None:
    write_scenario(SCENARIO, folder / "state.json")


TASKS = [put_a_cell, note_a_campaign, write_a_trace, write_a_page, write_a_report, save_a_result, write_a_state]
FAULTS = [
    ("write", errno.ENOSPC),
    ("write", MemoryError),
    ("fsync", errno.EIO),
    ("replace", errno.EACCES),
    ("rename", errno.EIO),
    ("mkdir", errno.ENOSPC),
    ("open", errno.EMFILE),
    ("fsync", KeyboardInterrupt),
]


@pytest.mark.parametrize(("task", "kind", "error"), each_value(TASKS, FAULTS))
def test_what_is_written_is_whole_or_as_before_at_every_fault(task, kind, error, tmp_path, monkeypatch):
    monkeypatch.setattr(html_page, "rendered", lambda page, folder, pictures: "<html>" * 100)
    (tmp_path / "good").mkdir()
    task(tmp_path / "good")
    good = content(tmp_path / "good")
    for number in itertools.count(1):
        assert number < 60
        folder = tmp_path / str(number)
        folder.mkdir()
        with failing(monkeypatch, kind, number, error) as calls:
            caught = raised(task, folder)
        if isinstance(caught, OSError):
            assert str(folder) in str(caught), caught
        else:
            assert caught is None or isinstance(caught, InputError) or type(caught) is error, caught
        assert not list(folder.rglob(f"{writing.UNFINISHED}*"))
        found = content(folder)
        for name, data in found.items():
            assert data == good[name], name
        if (folder / "store" / "cells").exists() and Store(folder / "store").has(CELL.key):
            assert Store(folder / "store").damage(CELL.key) is None
        task(folder)  # what comes after finds nothing in its way
        assert content(folder) == good
        if calls[0] < number:
            return


def raised(task, folder: Path) -> BaseException | None:
    try:
        task(folder)
    except BaseException as error:  # noqa: BLE001 - the faults are of any kind
        return error
    return None


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_short_reads_are_read_on(tmp_path, monkeypatch):
    """A read may return less than requested: by a signal, or on a network file system."""
    write(WORKLOAD, tmp_path / "trace.swf.gz")
    whole = read(tmp_path / "trace.swf.gz")
    (tmp_path / "some.json").write_text(json.dumps({"a": list(range(5000))}))
    most = 7

    class Short(BufferedReader):
        def __init__(self, path: Path) -> None:
            super().__init__(Raw(path, "rb"))

    class Raw(FileIO):
        def readinto(self, buffer) -> int:
            return super().readinto(memoryview(buffer)[:most])

    for module in ("hpcdispatch.base.files", "hpcdispatch.workloads.formats.trace_files"):
        monkeypatch.setattr(f"{module}.open_regular", Short)
    assert reading.read_json(tmp_path / "some.json", "numbers") == {"a": list(range(5000))}
    assert read(tmp_path / "trace.swf.gz").digest() == whole.digest()


@pytest.mark.parametrize("lost", ["files", "names", "both", "halves"])
def test_after_a_loss_of_power_a_cell_is_whole_or_seen_as_damaged(lost, tmp_path, monkeypatch):
    """A loss of power at each call of the store. All unsynced data is lost."""
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        disk = Disk(folder)
        with disk.until(monkeypatch, number) as reached, suppress(PowerLossError):
            put_a_cell(folder)
        disk.lose(lost)
        store = Store(folder / "store")
        store.open()
        acknowledged = not reached[0]
        if acknowledged:
            assert store.damage(CELL.key) is None  # what was acknowledged is there
            return
        assert not store.has(CELL.key) or store.damage(CELL.key) is None or lost != "names"
        if store.has(CELL.key) and store.damage(CELL.key) is not None:
            store.discard(CELL.key)
        store.put(CELL.key, FILES)
        assert store.damage(CELL.key) is None
        assert number < 100


class PowerLossError(BaseException):
    """The power is gone."""


class Disk:
    """The part of a folder on the disk: contents of synced files, and names in synced folders."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.synced: set[int] = set()
        self.renamed: list[tuple[Path, Path]] = []

    @contextmanager
    def until(self, monkeypatch, number: int) -> Iterator[list[bool]]:
        """Let the power go at the call of this number."""
        reached, calls = [False], [0]

        def count() -> None:
            calls[0] += 1
            if calls[0] >= number:
                reached[0] = True
                raise PowerLossError

        real_sync, real_rename = os.fsync, os.rename

        def fsync(descriptor: int) -> None:
            count()
            real_sync(descriptor)
            self.synced.add(os.fstat(descriptor).st_ino)
            self.renamed = [pair for pair in self.renamed if pair[1].parent.stat().st_ino not in self.synced]

        def rename(source, target) -> None:
            count()
            real_rename(source, target)
            self.synced.discard(Path(target).parent.stat().st_ino)
            self.renamed.append((Path(source), Path(target)))

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            patch.setattr(os, "rename", rename)
            yield reached

    def lose(self, what: str) -> None:
        """Forget unsynced data: contents of files, new names of folders, both, or half of each content."""
        if what in ("names", "both"):
            for source, target in reversed(self.renamed):
                if target.exists():
                    shutil.move(target, source)
        if what in ("files", "both", "halves"):
            for path in self.folder.rglob("*"):
                if path.is_file() and path.stat().st_ino not in self.synced:
                    os.truncate(path, path.stat().st_size // 2 if what == "halves" else 0)
