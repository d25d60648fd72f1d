"""Files that are written whole or not at all, and read within bounds, as anybody may have written them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .errors import InputError

#: Bytes of JSON that is read: that of the largest clusters has a tenth.
MOST_BYTES = 1 << 28


def write_whole(path: Path, text: str) -> None:
    """Write a file under another name in its folder, and then give it its own."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_bounded(path: Path, what: str, most: int) -> bytes:
    """Return what a file holds.

    Parameters
    ----------
    path
        The file; one without an end, as of a device, is read no further than its bound.
    what
        What it should be, for messages.
    most
        Bytes that it may have.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it has more bytes.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: expected {what} of at most {most:,} bytes, got more")
    return data


def read_json(path: Path, what: str) -> Any:
    """Return what a file of JSON in UTF-8 holds.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for messages.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it is larger than :data:`MOST_BYTES`, no JSON, or nested or with numbers so long that Python does not read
        them; one line with file and line.
    """
    data = read_bounded(path, what, MOST_BYTES)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected {what} in UTF-8, got byte {error.object[error.start]:#x}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: expected JSON, got {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise InputError(f"{path}: expected {what}, got JSON nested too deeply") from None
    except ValueError:
        raise InputError(f"{path}: expected {what}, got a number of too many digits") from None
