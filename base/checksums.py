"""Checksums of the files of a folder, in the form of ``sha256sum``, and of a record in JSON."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from .files import digest_of, read_bounded

#: The only file of a result that differs in every run: how long the decisions took.
TIMINGS = "timings.parquet"
#: SHA-256 of the other files, and of that one.
SUMS, TIMINGS_SUM = "SHA256SUMS", "timings.sha256"
#: Most bytes of a file of checksums, which has a line per file of a folder.
_MOST_SUMS = 1 << 16


def sums_of(files: Mapping[str, bytes | Path]) -> dict[str, bytes]:
    """Return the files of checksums for other files by their names. Each is given by its content or by its path."""
    lines = {name: f"{_sum(file)}  {name}\n".encode() for name, file in sorted(files.items())}
    timings = lines.pop(TIMINGS)
    return {SUMS: b"".join(lines.values()), TIMINGS_SUM: timings}


def sums_in(folder: Path) -> dict[str, str]:
    """Return file name to checksum, of all files of checksums in a folder.

    Raises
    ------
    OSError
        If one is missing or cannot be read.
    ValueError
        If one is not in the form of ``sha256sum``.
    """
    texts = (read_bounded(folder / name, "checksums", _MOST_SUMS) for name in (SUMS, TIMINGS_SUM))
    return {name: value for text in texts for name, value in _parsed(text).items()}


def with_sum(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record for JSON with a further entry ``sha256``, the checksum of the others."""
    return {**record, "sha256": _sum_of(record)}


def has_its_sum(record: Mapping[str, Any]) -> bool:
    """Return whether a record of :func:`with_sum` is what was written."""
    rest = {name: value for name, value in record.items() if name != "sha256"}
    return record.get("sha256") == _sum_of(rest)


def damage_of_files(folder: Path, needed: Iterable[str], read: Collection[str] | None = None) -> str | None:
    """Return what is wrong with the files of a folder, ``None`` if all are what was written.

    Parameters
    ----------
    folder
        The folder.
    needed
        Names of files that must have a checksum. A shortened file of checksums is damaged, too.
    read
        Names of the files to compare; ``None`` for all with a checksum.
    """
    try:
        sums = sums_in(folder)
        for name in needed:
            if name not in sums:
                return f"{name} has no checksum"
        for name in sums if read is None else read:
            if digest_of(folder / name) != sums[name]:
                return f"{name} is not what was written"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (ValueError, OSError) as error:
        return " ".join(str(error).split())
    return None


def _sum_of(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _sum(file: bytes | Path) -> str:
    return digest_of(file) if isinstance(file, Path) else hashlib.sha256(file).hexdigest()


def _parsed(sums: bytes) -> dict[str, str]:
    """Return file name to checksum."""
    checksums = {}
    for line in sums.decode("utf-8", "replace").splitlines():
        value, gap, name = line.partition("  ")
        if len(value) != 64 or not gap or not name or "/" in name:
            raise ValueError("the checksums cannot be read")
        checksums[name] = value
    if not checksums:
        raise ValueError("the checksums are empty")
    return checksums
