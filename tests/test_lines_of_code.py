"""The product and the studies keep to their sizes."""

from lines_of_code import LIMITS, by_package, lines_of_code, totals


def test_product_and_studies_keep_to_their_sizes():
    lines = totals(by_package())
    assert {name: count for name, count in lines.items() if count > LIMITS[name]} == {}


def test_only_code_counts():
    source = '''"""A module.

Of which much is said.
"""

# A comment.
import math  # counts once


class Thing:
    """A thing."""

    size = "# no comment"
    """What follows an attribute."""


def of(first,
       second):
    """Return a text.

    # No comment either.
    """
    text = """
    # Code, as it is a value.

    Its blank lines are none.
    """
    return (
        f"{text}"
        # Within an expression.
        "a docstring?"
    )
'''
    assert lines_of_code(source) == 1 + 2 + 2 + 4 + 4


def test_what_stands_beside_a_docstring_is_code():
    assert lines_of_code('def one(): "Say it."\n') == 1
    assert lines_of_code('"Say it."; one = "1"\n') == 1
