"""Requests of time and memory for runs that vary in both.

Source: Gainaru, Goglin, Honoré and Pallez, "Profiles of upcoming HPC applications and their impact on reservation
strategies", TPDS 2021. A run that exceeds its time or memory is killed, and requested again with more of either. The
reserved memory times time is minimised.
"""

from dataclasses import dataclass

import numpy as np

from ...base import FloatArray, InputError
from .laws import log_cells, numbers

#: Largest number of distinct times and amounts for an exact search. More are rounded up on a logarithmic scale.
MOST_TIMES, MOST_AMOUNTS = 120, 80


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRequests:
    """Requests to submit in sequence until the run succeeds. The last one covers every run.

    Attributes
    ----------
    times, amounts
        Seconds and memory of each, never decreasing. Shape (requests,).
    needed
        Probability that a request is submitted at all, shape (requests,).
    expected
        Mean reserved memory x time until a run succeeds.
    """

    times: FloatArray
    amounts: FloatArray
    needed: FloatArray
    expected: float


def memory_requests(times: FloatArray, amounts: FloatArray) -> MemoryRequests:
    """Return the requests that reserve the least memory x time, for equally likely runs.

    Parameters
    ----------
    times, amounts
        Run time and memory of each run, above 0, shape (runs,).

    Raises
    ------
    InputError
        If a value is not finite and above 0, or the lengths differ.

    Notes
    -----
    Exact among the times and amounts of the runs, up to :data:`MOST_TIMES` and :data:`MOST_AMOUNTS` of them. S(i, j) is
    the share of runs that exceed t_i or m_j. E(i, j) = min over k >= i, l >= j of S(i, j) t_k m_l + E(k, l).
    """
    if len(times) != len(amounts):
        raise InputError(f"amounts: expected {len(times)}, one for each time, got {len(amounts)}")
    first = _levels("times", times, MOST_TIMES)
    second = _levels("amounts", amounts, MOST_AMOUNTS)
    held = np.zeros((len(first), len(second)))
    np.add.at(held, (np.searchsorted(first, times), np.searchsorted(second, amounts)), 1)
    left = 1 - held.cumsum(axis=0).cumsum(axis=1) / len(times)
    prices = np.outer(first, second)
    costs = np.zeros_like(held)
    following = np.full(held.shape, held.size - 1)
    for row in range(len(first) - 1, -1, -1):
        for column in range(len(second) - 1, -1, -1):
            if left[row, column] <= 0:
                continue
            # Repeating the same request is useless. Its own cost is still 0 here.
            choices = left[row, column] * prices[row:, column:] + costs[row:, column:]
            choices[0, 0] = np.inf
            best = int(choices.argmin())
            down, right = divmod(best, choices.shape[1])
            costs[row, column] = choices[down, right]
            following[row, column] = (row + down) * len(second) + column + right
    whole = prices + costs
    path = [int(whole.argmin())]
    while left.flat[path[-1]] > 0:
        path.append(int(following.flat[path[-1]]))
    rows, columns = np.unravel_index(path, held.shape)
    needed = np.concatenate(([1.0], left[rows, columns][:-1]))
    return MemoryRequests(first[rows], second[columns], needed, float(whole.flat[path[0]]))


def _levels(name: str, given: FloatArray, most: int) -> FloatArray:
    """Return the distinct values. If too many, the largest of each of `most` logarithmic classes."""
    values = np.unique(numbers(name, given))
    if not values[0] > 0:
        raise InputError(f"{name}: must be > 0, got {values[0]:g}")
    if len(values) <= most:
        return values
    return values[log_cells(values, most)[1]]
