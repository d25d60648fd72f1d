"""Find the line of a key in a TOML text; :mod:`tomllib` does not tell it."""

import re
import tomllib
from bisect import bisect_left
from functools import lru_cache
from typing import Any

KeyPath = tuple[int | str, ...]
#: Tokens that open or close a value, and tokens that may contain such characters.
_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n', re.DOTALL
)


def line_of(text: str, path: KeyPath) -> int:
    """Return the line, from 1, at which the statement begins that sets `path`.

    A text in an array is searched within the statement. If the path is missing, the line is that of its longest
    existing part, or 1.

    Notes
    -----
    Every beginning of a TOML text that ends with a complete statement is TOML itself. Longer beginnings set everything
    that shorter ones set. Therefore a binary search finds the statement.
    """
    lines = text.split("\n")
    ends = statement_ends(text)
    place = bisect_left(ends, True, key=lambda end: _leads(_beginning(text, end), path))
    if place == len(ends):
        return line_of(text, path[:-1]) if path else 1
    begun = ends[place - 1] if place else 0
    end = ends[place]
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
    """Return the parsed first lines of a text, cached for several errors in one text."""
    return tomllib.loads("\n".join(text.split("\n")[:lines]))


def statement_ends(text: str) -> list[int]:
    """Return the numbers of lines, rising, after which a TOML text has a complete statement.

    Blank lines and comments count.
    """
    ends = []
    line = 0
    depth = 0
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
