"""Outside text is printed as one bounded line without terminal commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.base.printed import MOST_LETTERS, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ä 漢字", "plain text, ä 漢字"),
        ("\x1b]0;pwn\x07\x1b[2J", r"\x1b]0;pwn\x07\x1b[2J"),
        ("a\nb\r\tc\x9b31m\x7f", r"a\nb\r c\x9b31m\x7f"),
        ("abc\u202edef\u2066\ufeff", r"abc\u202edef\u2066\ufeff"),
        ("1\u00a0000\u2009x\udcff", r"1 000 x\udcff"),
    ],
)
def test_nothing_that_a_terminal_obeys(text, shown):
    assert plain(text) == shown
    assert str(InputError(text)) == shown


@pytest.mark.nightly
@given(st.text(max_size=2000), st.integers(20, 400))
def test_it_is_bounded_and_printable(text, most):
    shown = plain(text, most)
    assert shown.isprintable()
    assert len(shown) <= 10 * most
    assert shown == text or not text.isprintable() or len(text) > most


def test_beginning_and_end_of_a_long_text_stay():
    shown = plain("begin" + "x" * 80_000 + "end")
    assert shown.startswith("beginx")
    assert shown.endswith("xend")
    assert len(shown) == MOST_LETTERS
    assert len(str(InputError("x" * 80_000))) == 1000
