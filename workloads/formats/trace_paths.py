"""The files of a trace: one, those of a folder, those of a pattern, or several."""

import glob
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from ...base import InputError, shown

#: Names in a folder that are no traces.
_NO_TRACES = (".md", ".toml", ".md5", ".sha256", ".sha1", ".html", ".pdf")
_BEGIN = ("readme", "license", "licence", "checksums")
#: Most files that are read as one trace.
MOST_FILES = 10_000
_PATTERN = "*?["


def trace_files(given: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """Return the files of a trace in order of their names, or one path that may not exist.

    A folder has all its files but hidden ones, descriptions and maps. A pattern such as ``logs/2024*`` has the files
    that fit, if there is no file of this name.

    Raises
    ------
    InputError, IsADirectoryError
        If it is no path, or has no file or too many.
    """
    if isinstance(given, str | PathLike):
        return _of_path(Path(given))
    if not isinstance(given, list | tuple) or not all(isinstance(one, str | PathLike) for one in given):
        raise InputError(f"read: expected the path of a trace, got {shown(given)}")
    if not given:
        raise InputError("read: expected at least one path of a trace, got an empty list")
    return [path for one in given for path in _of_path(Path(one))]


def _of_path(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file() and not _is_description(one))
    elif any(letter in fspath(path) for letter in _PATTERN) and not path.exists():
        files = sorted(Path(one) for one in glob.glob(fspath(path)) if Path(one).is_file())
    else:
        return [path]
    if not files and path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file, got a directory without any")
    if not files:
        raise InputError(f"{path}: expected a pattern that fits files, got one that fits none")
    if len(files) > MOST_FILES:
        raise InputError(f"{path}: expected at most {MOST_FILES:,} files, got {len(files):,}")
    return files


def _is_description(path: Path) -> bool:
    name = path.name.lower()
    return name.startswith((".", *_BEGIN)) or name.endswith(_NO_TRACES)
