"""Functions that count no references."""

import numpy as np

from hpcdispatch.models.compiled import borrowing, compiled


def first_column(table):
    total = 0
    for place in range(len(table)):
        row = table[place]
        total += row[0]
    return total


def test_one_that_borrows_counts_no_references_and_answers_the_same():
    table = np.arange(12).reshape(4, 3)
    borrowed, counted = borrowing(first_column), compiled(first_column)
    assert borrowed(table) == counted(table) == 18
    # What the option does cannot be seen in code that comes from the cache; that it is handed on can.
    assert borrowed.targetoptions["_nrt"] is False
    assert "_nrt" not in counted.targetoptions
