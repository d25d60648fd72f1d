"""Printing of external text: no control characters, and a bounded length."""

import difflib
import unicodedata
from collections.abc import Iterable, Sequence

#: Most letters of an external text, such as a name in a table, and of a whole message.
MOST_LETTERS, MOST_OF_MESSAGE = 300, 1000
#: Letters kept of the end of a shortened text.
_END = 100


def plain(text: str, most: int = MOST_LETTERS) -> str:
    r"""Return a text as one printable line.

    All kinds of blanks become spaces. Other unprintable characters become Python escapes: ``\x1b``, ``\u202e``.
    Examples are terminal control sequences and marks of the writing direction. A text of more than `most` letters loses
    its middle.
    """
    if len(text) > most:
        end = min(_END, most // 3)
        text = f"{plain(text[: most - end - 5], most)} ... {plain(text[-end:], most)}"
    return text if text.isprintable() else "".join(map(_printable, text))


def near_name(name: str, known: Iterable[str], told: str = " (did you mean {}?)") -> str:
    """Return `told` with the known name that is most like `name`. Nothing if none is like it."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return told.format(close[0]) if close else ""


def first_of(names: Sequence[str], most: int = 3) -> str:
    """Return the first names in one line, with ``...`` if there are more."""
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    if letter == "\t" or unicodedata.category(letter) == "Zs":
        return " "
    return ascii(letter)[1:-1]
