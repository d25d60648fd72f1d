"""Remaining run times against sums over all values. The Gittins index against optimal stopping."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import optimize, stats

from hpcdispatch.base import InputError
from hpcdispatch.models.onthefly import RemainingTimes
from hpcdispatch.models.reservations import ESDD
from hpcdispatch.predictors import RunTimeRanges, RunTimes


def laws(count, most, seed=0):
    """Return laws on up to four whole seconds."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        values = np.sort(rng.choice(np.arange(1, most + 1), rng.integers(1, 5), replace=False))
        yield ESDD(values.astype(float), rng.dirichlet(np.ones(len(values))))


def left(law, done):
    """Return values and probabilities of what is left."""
    later = law.values > done
    return law.values[later] - done, law.probabilities[later] / law.probabilities[later].sum()


def stopped(law, done, reward):
    """Return the best expected reward less seconds, for a run second by second from `done` or giving up at any."""
    worth = 0.0
    for second in range(int(law.values[-1]) - 1, done - 1, -1):
        alive = law.probabilities[law.values > second].sum()
        ends = law.probabilities[law.values == second + 1].sum() / alive
        worth = max(0.0, ends * reward + (1 - ends) * worth - 1)
    return worth


def test_the_index_is_the_least_reward_for_which_it_pays_to_begin():
    for law in laws(25, 9):
        for done in (0, 1, 3):
            if done >= law.values[-1]:
                assert RemainingTimes(law).gittins(done) is None
                continue
            found = RemainingTimes(law).gittins(done)
            least = optimize.bisect(lambda reward, law=law, at=done: stopped(law, at, reward) or -1e-9, 0, 1e5)
            assert found == pytest.approx(least, rel=1e-5)


def test_mean_and_quantile_are_those_of_what_is_left():
    for law in laws(40, 30, seed=1):
        remaining = RemainingTimes(law)
        for done in (0, 2, 11):
            if done >= law.values[-1]:
                assert remaining.mean(done) is None
                assert remaining.quantile(0.5, done) is None
                continue
            values, chances = left(law, done)
            assert remaining.mean(done) == pytest.approx(values @ chances)
            for level in (0.1, 0.5, 0.9):
                first = values[np.searchsorted(np.cumsum(chances), level - 1e-12)]
                assert remaining.quantile(level, done) == pytest.approx(first)


def cost(order, jobs):
    """Return the expected sum of completion times of jobs in sequence."""
    total = 0.0
    for drawn in product(*(zip(law.values, law.probabilities, strict=True) for law in jobs)):
        chance = np.prod([probability for _, probability in drawn])
        total += chance * np.cumsum([drawn[place][0] for place in order]).sum()
    return total


def test_by_the_mean_no_order_of_whole_jobs_is_better():
    drawn = list(laws(12, 20, seed=2))
    for jobs in zip(drawn[::3], drawn[1::3], drawn[2::3], strict=True):
        by_mean = sorted(range(3), key=lambda place, jobs=jobs: RemainingTimes(jobs[place]).mean())
        assert cost(by_mean, jobs) == pytest.approx(min(cost(order, jobs) for order in permutations(range(3))))


def index_cost(jobs, key):
    """Return the expected sum of completion times. Each second goes to the job of the least key."""
    total = 0.0
    for drawn in product(*(zip(law.values, law.probabilities, strict=True) for law in jobs)):
        done = [0] * len(jobs)
        clock = 0
        ended = 0.0
        alive = set(range(len(jobs)))
        while alive:
            place = min(alive, key=lambda at: (key(at, done[at]), at))
            done[place] += 1
            clock += 1
            if done[place] == drawn[place][0]:
                alive.remove(place)
                ended += clock
        total += np.prod([probability for _, probability in drawn]) * ended
    return total


def test_where_jobs_may_be_interrupted_the_index_is_as_good_as_any_rule_by_age():
    rng = np.random.default_rng(3)
    for one, other in zip(laws(8, 5, seed=4), laws(8, 5, seed=5), strict=True):
        jobs = (one, other)
        remaining = [RemainingTimes(law) for law in jobs]
        found = index_cost(jobs, lambda at, done, remaining=remaining: remaining[at].gittins(done))
        for _ in range(30):
            keys = rng.random((2, 6))
            assert found <= index_cost(jobs, lambda at, done, keys=keys: keys[at, done]) + 1e-9


def test_values_that_were_seen_may_repeat_and_be_nothing():
    assert RemainingTimes(RunTimes((10, 10, 40))).mean() == pytest.approx(20)
    assert RemainingTimes(RunTimes((10, 10, 40))).gittins() == pytest.approx(
        15
    )  # given up at 10 s: 10 s for two thirds of a job
    assert RemainingTimes(RunTimes((10, 10, 40))).gittins(10) == pytest.approx(30)
    assert RemainingTimes(RunTimes((0, 9))).gittins() == 0
    assert RemainingTimes(RunTimes((0, 9))).mean(0) == 4.5


@pytest.mark.parametrize(
    "law",
    [
        stats.gamma(3, scale=1000),
        stats.weibull_min(0.7, scale=5000),
        stats.expon(scale=900),
        stats.uniform(300, 50_000),
        stats.truncnorm(-3, 3, loc=28_800, scale=9000),
    ],
)
def test_continuous_laws_come_close(law):
    remaining = RemainingTimes(law)
    assert remaining.mean() == pytest.approx(law.mean(), rel=2e-3)
    done = float(law.ppf(0.5))
    expected = law.expect(lambda x: x - done, lb=done, conditional=True)
    assert remaining.mean(done) == pytest.approx(expected, rel=0.02)
    assert remaining.quantile(0.5, done) == pytest.approx(law.ppf(0.75) - done, rel=0.01)


def test_the_index_of_an_exponential_never_changes_and_of_rising_hazards_is_the_mean():
    remaining = RemainingTimes(stats.expon(scale=900))
    assert remaining.gittins() == pytest.approx(900, rel=0.01)
    assert remaining.gittins(2000) == pytest.approx(900, rel=0.01)
    rising = RemainingTimes(stats.gamma(4, scale=100))
    assert rising.gittins() == pytest.approx(rising.mean(), rel=1e-3)
    falling = RemainingTimes(stats.weibull_min(0.5, scale=100))
    assert falling.gittins() < 0.2 * falling.mean()
    assert falling.gittins() < falling.gittins(50) < falling.gittins(500)


def test_two_ranges_are_worth_a_try_for_the_shorter():
    remaining = RemainingTimes(RunTimeRanges([0, 600, 3600, 7200], [0.5, 0, 0.5]))
    assert remaining.mean() == pytest.approx((300 + 5400) / 2, rel=1e-4)
    assert remaining.gittins() == pytest.approx((0.5 * 300 + 0.5 * 600) / 0.5, rel=0.01)


class Bare:
    """A law with no more than it must have."""

    def __init__(self, law, support):
        self.cdf = law.cdf
        self.support = lambda: support


def test_a_law_of_a_cdf_and_a_support_is_enough():
    assert RemainingTimes(Bare(stats.uniform(10, 20), (10, 30))).mean() == pytest.approx(20)
    with pytest.raises(InputError, match=r"law: must have ppf\(q\), or a support that has ends, got \[0, inf\]"):
        RemainingTimes(Bare(stats.expon(), (0, np.inf)))


@pytest.mark.parametrize("law", [stats.pareto(0.9), stats.halfcauchy()])
def test_a_law_without_a_finite_mean_has_quantiles_alone(law):
    remaining = RemainingTimes(law)
    for asked in (remaining.mean, remaining.gittins):
        with pytest.raises(InputError, match="law: must have a finite mean, got inf"):
            asked()
    assert remaining.quantile(0.9) == pytest.approx(law.ppf(0.9), rel=0.01)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (3, r"law: expected an object with cdf\(x\) and support\(\), or with values, got 3"),
        (stats.uniform(30, -20), "law: its lower end must not be above its upper"),
    ],
)
def test_what_is_no_law_is_refused(law, message):
    with pytest.raises(InputError, match=message):
        RemainingTimes(law)
