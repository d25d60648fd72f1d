"""On which line of a TOML text a key stands, which :mod:`tomllib` does not tell."""

from __future__ import annotations

import tomllib
from typing import Any

KeyPath = tuple[int | str, ...]


def line_of(text: str, path: KeyPath) -> int:
    """Return the line, from 1, on which the statement begins that sets what `path` leads to.

    An item of an array that is a text of its own is looked for within the statement. If the path leads nowhere, the
    line is the one of the longest part of it that does, or 1.

    Notes
    -----
    Every beginning of a TOML text that ends with a complete statement is TOML itself. The statement that sets a key is
    the one after the longest beginning without it.
    """
    lines = text.split("\n")
    begun = 0
    for end in range(1, len(lines) + 1):
        try:
            read = tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if _leads(read, path):
            return _item(lines, _first_statement(lines, begun, end), end, read, path)
        begun = end
    return line_of(text, path[:-1]) if path else 1


def _first_statement(lines: list[str], begun: int, end: int) -> int:
    """Return the index of the first line that is neither empty nor a comment."""
    filled = (index for index in range(begun, end) if lines[index].strip() and not lines[index].strip().startswith("#"))
    return next(filled, begun)


def _item(lines: list[str], first: int, end: int, read: Any, path: KeyPath) -> int:
    """Return the line of an item of an array, else of its statement."""
    value = _value(read, path)
    if isinstance(value, str) and path and isinstance(path[-1], int):
        for index in range(first, end):
            if f'"{value}"' in lines[index] or f"'{value}'" in lines[index]:
                return index + 1
    return first + 1


def _leads(read: Any, path: KeyPath) -> bool:
    try:
        _value(read, path)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _value(read: Any, path: KeyPath) -> Any:
    for part in path:
        read = read[part]
    return read
