"""Laws that are given by their values alone."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers.reservations.value_laws import with_cdf
from hpcdispatch.predictors import Walltime
from hpcdispatch.simulation import SimulationError, check, simulate
from hpcdispatch.workloads import generate

VALUES = [20_000, 25_000, 28_000, 57_600]
SHARES = [0.4, 0.3, 0.2, 0.1]


class OfValues:
    """A law with nothing but values."""

    def __init__(self, values, probabilities=None):
        self.values = values
        if probabilities is not None:
            self.probabilities = probabilities


class Whole(OfValues):
    """The same law with all that a law can have."""

    def cdf(self, x):
        below = np.concatenate(([0.0], np.cumsum(self.probabilities)))
        return below[np.searchsorted(self.values, x, side="right")]

    def support(self):
        return float(self.values[0]), float(self.values[-1])


class Believing(Walltime):
    """Takes all jobs to have one law."""

    def __init__(self, law):
        self.law = law

    def distribution(self, job):
        return self.law


@pytest.mark.parametrize("shares", [None, SHARES])
@pytest.mark.parametrize(
    "dispatcher",
    [
        "classic-hpc",
        "neuroscience",
        "toptimal",
        "atoptimal",
        "soft-toptimal:quantile=0",
        "toptimal:checkpoint=300",
        "toptimal:backfill=speculative",
        "toptimal:over=rounds:batch=9/move=never,backfill=speculative",
    ],
)
def test_values_are_enough_for_every_strategy(dispatcher, shares):
    workload = generate("stochastic", large=20, processors="beta", seed=1)
    found, expected = (
        simulate(workload, dispatcher, predictor=Believing(law), overrun="kill")
        for law in (OfValues(VALUES, shares), Whole(VALUES, shares or [0.25] * 4))
    )
    check(workload, found)
    assert found.jobs["start"].tolist() == expected.jobs["start"].tolist()
    assert found.attempts["walltime"].tolist() == expected.attempts["walltime"].tolist()


def test_a_law_of_values_has_what_a_distribution_has():
    law = with_cdf(OfValues(VALUES, SHARES))
    assert law.support() == (20_000, 57_600)
    assert law.cdf(np.array([19_999, 20_000, 26_000, 57_600])) == pytest.approx([0, 0.4, 0.7, 1])
    whole = Whole(VALUES, SHARES)
    assert with_cdf(whole) is whole


@pytest.mark.parametrize("values", [[], [1, float("nan")], [-1.0]])
def test_values_that_are_none_are_refused(values):
    with pytest.raises(InputError, match=r"law: values must be finite numbers >= 0, each with its probability"):
        with_cdf(OfValues(values))


def test_a_distribution_needs_its_support_or_values():
    class Endless:
        def cdf(self, x):
            return 1.0

    with pytest.raises(SimulationError, match=r"a distribution must have cdf\(x\) and support\(\), or values, got"):
        simulate(generate("stochastic", large=3, seed=1), "toptimal", predictor=Believing(Endless()))


def test_classic_requests_the_users_time_though_a_learned_law_ends_before():
    workload = generate("lublin", jobs=60, processors=16, seed=1)
    mine, plain = (
        simulate(workload, name, predictor=belief)
        for name, belief in (
            ("classic-hpc", Believing(OfValues([1, 2, 3]))),
            ("easy", Walltime()),
        )
    )
    assert mine.jobs["start"].tolist() == plain.jobs["start"].tolist()
    assert mine.attempts["walltime"].tolist() == plain.attempts["walltime"].tolist()
