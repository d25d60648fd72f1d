"""On which line of a TOML text a key stands, which :mod:`tomllib` does not tell."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from functools import lru_cache
from typing import Any

KeyPath = tuple[int | str, ...]
#: What opens or closes a value, and what must be taken as a whole since it may contain such letters.
_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n', re.DOTALL
)


def line_of(text: str, path: KeyPath) -> int:
    """Return the line, from 1, on which the statement begins that sets what `path` leads to.

    An item of an array that is a text of its own is looked for within the statement. If the path leads nowhere, the
    line is the one of the longest part of it that does, or 1.

    Notes
    -----
    Every beginning of a TOML text that ends with a complete statement is TOML itself, and what one of them sets the
    longer ones set, too. So the statement is found by halving.
    """
    lines, ends = text.split("\n"), statement_ends(text)
    place = bisect_left(ends, True, key=lambda end: _leads(_beginning(text, end), path))
    if place == len(ends):
        return line_of(text, path[:-1]) if path else 1
    begun, end = ends[place - 1] if place else 0, ends[place]
    # The first line that is neither empty nor a comment.
    first = next((n for n in range(begun, end) if lines[n].strip() and not lines[n].strip().startswith("#")), begun)
    value = _value(_beginning(text, end), path)
    if isinstance(value, str) and path and isinstance(path[-1], int):
        for index in range(first, end):
            if f'"{value}"' in lines[index] or f"'{value}'" in lines[index]:
                return index + 1
    return first + 1


@lru_cache(64)
def _beginning(text: str, lines: int) -> Any:
    """Return what stands in the first lines of a text; several mistakes in one are looked for in the same."""
    return tomllib.loads("\n".join(text.split("\n")[:lines]))


def statement_ends(text: str) -> list[int]:
    """Return after how many lines a TOML text has a complete statement, rising; blank lines and comments count."""
    ends, line, depth = [], 0, 0
    for token in _TOKENS.findall(text + "\n"):
        line += token.count("\n")
        depth += (token in "[{") - (token in "]}")
        if token == "\n" and not depth:
            ends.append(line)
    return ends


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
