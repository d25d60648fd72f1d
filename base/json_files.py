"""Reading JSON that anybody may have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .bounded_files import read_bounded
from .errors import InputError

#: Bytes of JSON that is read: that of the largest clusters has a tenth.
MOST_BYTES = 1 << 28


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
