"""A folder of finished cells that stay complete: each is written under another name and then renamed."""

import errno
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import asdict
from os import PathLike
from pathlib import Path

from ...base import InputError, write_whole
from ...base.argument_types import names_wrong_types
from ...base.checksums import SUMS, TIMINGS, TIMINGS_SUM, damage_of_files, sums_of
from ...base.files import digest_of, read_json
from ...base.unfinished_files import named, remove, remove_abandoned, sync_folder, unfinished_path, write_new
from ...simulation import Result
from ...simulation.result import TABLES
from ...simulation.schema import SCHEMA, schema_of
from .cells import DESCRIPTION, Cell, CellError, Files

#: The folder of the campaigns' names for their cells.
CAMPAIGNS = "campaigns"
#: The folder of parsed large traces, see :func:`hpcdispatch.workloads.read`.
TRACES = "traces"
#: Errors of the system for a read-only folder.
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


class Store:
    """The results of cells by their keys, and the errors of failed ones.

    ``cells/KE/KEY...`` is the folder of a finished cell. ``failed/KEY.json`` has the error of a failed one.
    ``campaigns/NAME.json`` has a campaign's names for its cells. A cell is in the store with all its files or not at
    all. Several campaigns may share a store, also at the same time.

    Parameters
    ----------
    folder
        The folder.

    Attributes
    ----------
    refusal
        Why the store cannot be written to, ``None`` if it can. Complete results can still be read.
    """

    @names_wrong_types
    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self._cells = self.folder / "cells"
        self._failed = self.folder / "failed"
        self._campaigns = self.folder / CAMPAIGNS
        self.refusal: OSError | None = None

    def check_schema(self) -> None:
        """Refuse a store of another schema than that of this version. The first intact cell decides.

        Raises
        ------
        InputError
            In one line that says what to do.
        """
        for key in self.finished():
            if self.damage(key) is not None:
                continue
            description = read_json(self.path(key) / DESCRIPTION, "a description of a cell")
            if schema_of(description, self.folder) < SCHEMA:
                raise InputError(
                    f"{self.folder}: written by hpcdispatch 0.1.0, so nothing can be added to it; choose another "
                    f"folder (hpcdispatch report {self.folder} still reads this one)"
                )
            return

    def open(self) -> None:
        """Make the folders, check that they can be written to, and remove unfinished files of killed processes.

        Raises
        ------
        InputError
            If the folder is a file, or a store of another schema.
        OSError
            If it cannot be written to.
        """
        self.check_schema()
        others = self._failed, self._campaigns
        for folder in (self._cells, *others):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                raise InputError(f"{self.folder}: expected a folder for the store, got a file") from None
            except OSError as error:
                raise named(error, folder) from None
        for folder in (self.folder, *others, self._cells, *(path for path in self._cells.iterdir() if path.is_dir())):
            remove_abandoned(folder)
        probe = unfinished_path(self._cells)
        try:
            write_new(probe, b"")
            remove(probe)
        except OSError as error:
            if error.errno not in _READ_ONLY:
                raise named(error, self._cells) from None
            self.refusal = named(error, self._cells)

    def path(self, key: str) -> Path:
        """Return the folder of a cell, which need not exist."""
        return self._cells / key[:2] / key

    def has(self, key: str) -> bool:
        """Return whether a cell is finished, intact or damaged."""
        return os.path.lexists(self.path(key))

    def finished(self) -> Iterator[str]:
        """Yield the key of every finished cell, sorted."""
        for folder in sorted(path for path in self._cells.glob("??") if path.is_dir()):
            yield from sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))

    def result(self, cell: Cell, only: Collection[str] = TABLES) -> Result:
        """Return the result of a finished cell, with all its tables or some, see :meth:`.Result.load`.

        Raises
        ------
        InputError
            If a file is missing or changed.
        """
        damage = self.damage(cell.key)
        if damage is not None:
            raise InputError(f"{self.path(cell.key)}: expected what was written, got a damaged cell: {damage}")
        return Result.load(self.path(cell.key), only, compare=False)

    def put(self, key: str, files: Files) -> None:
        """Write a cell, completely or not at all. An existing cell is kept.

        Raises
        ------
        OSError
            If it cannot be written; the store is then unchanged.
        """
        final = self.path(key)
        try:
            if not final.parent.is_dir():
                final.parent.unlink(missing_ok=True)  # a file is no cell
                final.parent.mkdir(exist_ok=True)
                sync_folder(self._cells)
            made = unfinished_path(final.parent)
            try:
                _write_all(made, files)
                try:
                    os.rename(made, final)
                except OSError as error:  # unless another process has just finished the same cell
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not final.is_dir():
                        raise
                    remove(made)
            except BaseException:
                remove(made)
                raise
            sync_folder(final.parent)
            self._failure(key).unlink(missing_ok=True)
        except OSError as error:
            raise named(error, final) from None

    def damage(self, key: str) -> str | None:
        """Return the damage of a finished cell, ``None`` if every file is intact."""
        return damage_of(self.path(key))

    def discard(self, key: str) -> None:
        """Remove a cell, in one step as seen from outside."""
        folder = self.path(key)
        gone = unfinished_path(folder.parent)
        try:
            os.rename(folder, gone)
        except FileNotFoundError:
            return
        sync_folder(folder.parent)
        remove(gone)

    def fail(self, cell: Cell, error: CellError) -> None:
        """Write the error of a cell.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        record = {"label": cell.label, "error": asdict(error), "cell": json.loads(cell.text)}
        write_whole(self._failure(cell.key), json.dumps(record, indent=2) + "\n")

    def note(self, campaign: str, text: str) -> None:
        """Write a campaign's names for its cells.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        write_whole(self._campaigns / f"{campaign}.json", text)

    def failure(self, key: str) -> CellError | None:
        """Return the error of a cell, ``None`` if it did not fail, or the record cannot be read."""
        try:
            return CellError(**read_json(self._failure(key), "a failure")["error"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _failure(self, key: str) -> Path:
        return self._failed / f"{key}.json"


def damage_of(folder: Path) -> str | None:
    """Return the damage in the folder of a finished cell, ``None`` if every file is intact.

    Every file there must have a checksum, so that a list of checksums which has lost lines is damage.
    """
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    damage = damage_of_files(folder, (DESCRIPTION, TIMINGS, *sorted(there - {SUMS, TIMINGS_SUM})))
    if damage is None and digest_of(folder / DESCRIPTION) != folder.name:
        return f"{DESCRIPTION} is of another cell"
    return damage


def _write_all(folder: Path, files: Files) -> None:
    """Write the files of a cell and their checksums, and flush them to the disk."""
    folder.mkdir()
    for name, data in {**files, **sums_of(files)}.items():
        write_new(folder / name, data)
    sync_folder(folder)
