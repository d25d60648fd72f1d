"""Orders of waiting jobs in compiled code, beyond those that the queue has an index for."""

import math

import numpy as np

from ...base import FloatArray, IntArray
from ..backfilling.easy import SUBMISSION
from ..backfilling.job_queue import EXPANSION, LONGEST, SHORTEST
from ..compiled import borrowing

#: Orders after :data:`SHORTEST`, :data:`LONGEST` and :data:`EXPANSION`, with the sources in
#: ``dispatchers/backfilling/orders.py``. `GIVEN`: by numbers from outside.
WFP3, UNICEP, F1, F2, F3, F4, GIVEN = range(3, 10)
#: Orders by the names under which they are registered.
ORDERS = {
    "submission": SUBMISSION,
    "sjf": SHORTEST,
    "ljf": LONGEST,
    "lxf": EXPANSION,
    "wfp3": WFP3,
    "unicep": UNICEP,
    "f1": F1,
    "f2": F2,
    "f3": F3,
    "f4": F4,
}


@borrowing
def rank(order: int, submit: float, predicted: float, cores: float, now: float) -> float:
    """Return the rank of a job, least first.

    Parameters
    ----------
    order
        See :data:`ORDERS`.
    submit, predicted, now
        Submission, predicted run time and the time, seconds.
    cores
        Units of the primary resource, at least 1.
    """
    if order == SHORTEST:
        return predicted
    if order == LONGEST:
        return -predicted
    if order == EXPANSION:
        return (submit - now) / predicted
    if order == WFP3:
        return -(math.pow((now - submit) / predicted, 3.0)) * cores
    if order == UNICEP:
        return float(-(now - submit) / (np.log2(max(cores, 2.0)) * predicted))
    logarithm = np.log10(max(submit, 1.0))
    if order == F1:
        return float(np.log10(predicted) * cores + 870.0 * logarithm)
    if order == F2:
        return float(np.sqrt(predicted) * cores + 2.56e4 * logarithm)
    if order == F3:
        return float(predicted * cores + 6.86e6 * logarithm)
    if order == F4:
        return float(predicted * np.sqrt(cores) + 5.3e5 * logarithm)
    return 0.0


@borrowing
def insert_ranked(keys: FloatArray, rows: IntArray, first: int, count: int, row: int, key: float) -> int:
    """Insert a row among the rows from `first` to `count` in order of their keys. Return the new count.

    Ties keep the order of insertion. If there is no room, the last row is dropped.
    """
    at = count
    if count == len(rows):
        if count == first or not key < keys[count - 1]:
            return count
        at = count - 1
    while at > first and key < keys[at - 1]:
        keys[at], rows[at] = keys[at - 1], rows[at - 1]
        at -= 1
    keys[at], rows[at] = key, row
    return min(count + 1, len(rows))
