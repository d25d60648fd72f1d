"""Text from outside as it is printed: without characters that a terminal obeys, and not longer than a bound."""

from __future__ import annotations

import unicodedata

#: Letters of a text from outside, such as a name in a table, and of a whole message.
MOST_LETTERS, MOST_OF_MESSAGE = 300, 1000
#: Letters that stay of the end of a text that is cut.
_END = 100


def plain(text: str, most: int = MOST_LETTERS) -> str:
    r"""Return a text as one line to be printed.

    Blanks of any kind become spaces. What else is not printable, such as the beginning of a sequence that a terminal
    obeys or a mark that turns the direction of writing, becomes its escape in Python: ``\x1b``, ``\u202e``. Of a text
    of more than `most` letters the middle is left out.
    """
    if len(text) > most:
        end = min(_END, most // 3)
        text = f"{plain(text[: most - end - 5], most)} ... {plain(text[-end:], most)}"
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    if letter == "\t" or unicodedata.category(letter) == "Zs":
        return " "
    return ascii(letter)[1:-1]
