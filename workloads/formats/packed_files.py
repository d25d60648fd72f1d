"""Unpack files: gzip, bzip2, xz, zstd, and zip with one file in it."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ...base import InputError, shown

#: Suffixes of packed files, which do not tell the format.
SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")
#: First bytes of packed files, and the name of the packing.
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"(\xb5/\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"]\x00\x00": "xz",  # its older form, .lzma
}
_UNPACK, _EXPORT = "unpack it, or pack it with gzip", "save it as CSV or Parquet"
#: First bytes of files that are not read, what they are, and what to do.
_FOREIGN = {
    b"7z\xbc\xaf\x27\x1c": ("a file packed with 7-Zip", _UNPACK),
    b"Rar!": ("a file packed with RAR", _UNPACK),
    b"\x1f\x9d": ("a file packed with compress", _UNPACK),
    b"\x04\x22\x4d\x18": ("a file packed with LZ4", _UNPACK),
    b"\xff\x06\x00\x00sN": ("a file packed with Snappy", _UNPACK),
    b"PK\x05\x06": ("an empty zip archive", "pack it again"),
    b"ARROW1": ("a table of Arrow (Feather)", _EXPORT),
    b"ORC": ("a table in ORC", _EXPORT),
    b"SQLite": ("a database of SQLite", _EXPORT),
    b"\x89HDF": ("a file in HDF5", _EXPORT),
    b"\x80\x04\x95": ("a pickle of Python", _EXPORT),
    b"\x80\x05\x95": ("a pickle of Python", _EXPORT),
    b"\xd0\xcf\x11\xe0": ("a document such as a workbook of Excel", "save it as CSV"),
}
_LONGEST = max(map(len, (*_MAGIC, *_FOREIGN)))
#: The place and the text that tell a tar archive.
_TAR, _TAR_AT = b"ustar", 257


def plain_path(path: Path) -> Path:
    """Return a path without the suffix of a packing."""
    return path.with_suffix("") if path.suffix.lower() in SUFFIXES else path


def packing_of(file: BinaryIO, path: Path) -> str:
    """Return the packing of a file by its first bytes, empty for none. The file is at its beginning afterwards.

    Raises
    ------
    InputError
        For a packing that is not read, with advice.
    """
    begin = file.read(_LONGEST)
    file.seek(0)
    for magic, (what, advice) in _FOREIGN.items():
        if begin.startswith(magic):
            raise InputError(f"{path}: expected a trace, got {what}; {advice}")
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), "")


def unpacked(file: BinaryIO, path: Path, packing: str, size: int, stored: int) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file, at most `size` at a time.

    Parameters
    ----------
    file, path
        The file, and its path for messages.
    packing
        As :func:`packing_of` returns it.
    size
        Bytes of a part.
    stored
        Bytes of the packed file.

    Raises
    ------
    InputError
        If it is truncated or damaged, or a zip with other than one file.
    """
    try:
        with _OPEN[packing](file, path) as stream:
            while part := stream.read(size):
                yield bytes(part)
    except EOFError:
        message = f"expected a whole {packing} file, got a truncated one ({stored} bytes)"
        raise InputError(f"{path}: {message}") from None
    except InputError:
        raise
    except (OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        first = (str(error).splitlines() or [""])[0][:80]
        raise InputError(f"{path}: expected a sound {packing} file, got a damaged one ({first})") from None


def refuse_archive(path: Path, begin: bytes) -> None:
    """Refuse the first bytes of a tar archive, which may have been packed, and of what is packed twice."""
    twice = next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), "")
    if twice:
        raise InputError(f"{path}: expected a trace, got a file that is packed twice; unpack the outer {twice} first")
    if begin[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise InputError(
            f"{path}: expected a trace, got a tar archive; unpack it (tar -xf), and give the file or the folder"
        )


def _zstd(file: BinaryIO, path: Path) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - takes a tenth of a second

    del path
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


def _zip(file: BinaryIO, path: Path) -> Any:
    archive = zipfile.ZipFile(file)
    names = [one.filename for one in archive.infolist() if not one.is_dir()]
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if "[Content_Types].xml" in names:
        raise InputError(f"{path}: expected a trace, got a document such as a workbook of Excel; save it as CSV")
    if len(names) != 1:
        listed = shown(", ".join(names[:5]))[1:-1]
        raise InputError(
            f"{path}: expected a zip with one file, got {len(names)} ({listed}); unpack it, and give the folder"
        )
    return archive.open(names[0])


_OPEN: dict[str, Callable[[BinaryIO, Path], Any]] = {
    "gzip": lambda file, _: gzip.GzipFile(fileobj=file),
    "bzip2": lambda file, _: bz2.BZ2File(file),
    "xz": lambda file, _: lzma.LZMAFile(file),  # noqa: SIM115 - its user closes it
    "zstd": _zstd,
    "zip": _zip,
}
