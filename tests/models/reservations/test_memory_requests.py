"""Requests of time and memory against a search through all of them."""

import itertools

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.models.reservations import memory_requests


def cost(requests, runs):
    """Return what is reserved per run."""
    total = 0.0
    for time, amount in runs:
        for reserved, held in requests:
            total += reserved * held
            if time <= reserved and amount <= held:
                break
    return total / len(runs)


def chains(pairs, before=(0, 0)):
    """Yield all sequences of requests without a decrease of either amount."""
    yield []
    for pair in pairs:
        if pair != before and pair[0] >= before[0] and pair[1] >= before[1]:
            for rest in chains(pairs, pair):
                yield [pair, *rest]


@pytest.mark.parametrize("seed", range(25))
def test_reserves_the_least(seed):
    rng = np.random.default_rng(seed)
    times, amounts = rng.integers(1, 6, (2, rng.integers(1, 5))).astype(float)
    runs = list(zip(times, amounts, strict=True))
    top = (times.max(), amounts.max())
    pairs = [pair for pair in itertools.product(set(times), set(amounts)) if pair != top]
    best = min(cost([*chain, top], runs) for chain in chains(pairs))
    found = memory_requests(times, amounts)
    assert found.expected == pytest.approx(best)
    requests = list(zip(found.times, found.amounts, strict=True))
    assert cost(requests, runs) == pytest.approx(best)
    left = [np.mean([time > t or amount > m for time, amount in runs]) for t, m in requests]
    assert found.needed.tolist() == pytest.approx([1, *left[:-1]])
    assert left[-1] == 0


def test_many_runs_are_rounded_up():
    rng = np.random.default_rng(1)
    times = rng.lognormal(8, 1, 5000)
    amounts = rng.lognormal(3, 0.5, 5000)
    found = memory_requests(times, amounts)
    assert (found.times[-1], found.amounts[-1]) == (times.max(), amounts.max())
    requests, runs = (list(zip(*both, strict=True)) for both in ((found.times, found.amounts), (times, amounts)))
    assert cost(requests, runs) == pytest.approx(found.expected)


@pytest.mark.parametrize(
    ("times", "amounts", "message"),
    [
        ([1.0], [1.0, 2.0], "amounts: expected 1, one for each time, got 2"),
        ([0.0], [1.0], "times: must be > 0, got 0"),
        ([1.0], [np.nan], r"amounts\[0\]: must be a finite number"),
        ([], [], "times: expected at least one"),
    ],
)
def test_refuses(times, amounts, message):
    with pytest.raises(InputError, match=message):
        memory_requests(np.array(times), np.array(amounts))
