"""Laws, their best sequences of reservations, and the cost of any sequence."""

import itertools
import math

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles.sequences import LAWS, PUBLISHED, all_pairs, as_written, normal
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.models.reservations import (
    ESDD,
    Cost,
    discretize,
    evaluate,
    expected_makespan,
    fit,
    from_samples,
    optimal_sequence,
)

RATES = (0.0, 0.1, 0.5, 0.9)
TWO = ESDD([1.0, 2.0], [0.5, 0.5])


class Step:
    """The law of one run time without scipy's checks, for single numbers."""

    def __init__(self, at):
        self.at = at

    def cdf(self, x):
        return 0.0 if x < self.at else 1.0


class Table:
    """Any `cdf`."""

    def __init__(self, cdf):
        self.cdf = cdf


def outcomes(lengths, law):
    """The outcome of each run time: probability, run time, failed reservations, and the successful one."""
    for run_time, chance in zip(law.values.tolist(), law.probabilities.tolist(), strict=True):
        count = next(index for index, length in enumerate(lengths) if length * (1 + 1e-12) >= run_time)
        yield chance, run_time, lengths[:count], lengths[count]


def makespan(lengths, law, rate):
    return math.fsum(
        chance * max(sum(failed) + last, (sum(failed) + run_time) / (1 - rate))
        for chance, run_time, failed, last in outcomes(lengths, law)
    )


def price(lengths, law, cost):
    return math.fsum(
        chance * sum(cost.alpha * length + cost.beta * min(run_time, length) + cost.gamma for length in [*failed, last])
        for chance, run_time, failed, last in outcomes(lengths, law)
    )


def subsets(law):
    *others, last = law.values.tolist()
    for count in range(len(others) + 1):
        for chosen in itertools.combinations(others, count):
            yield [*chosen, last]


@st.composite
def laws(draw, most=8):
    n = draw(st.integers(1, most))
    weights = np.array(draw(st.lists(st.just(0.0) | st.floats(1e-6, 1), min_size=n, max_size=n)))
    assume(weights.sum() > 0)
    start = draw(st.sampled_from([0.0, 0.3, 7.0]))
    width = draw(st.sampled_from([0.5, 3.0, 20.0]))
    return ESDD(start + np.arange(1, n + 1) * width / n, weights / weights.sum(), start)


rates = st.sampled_from([0.0, 1e-9, 0.01, 0.1, 0.5, 0.9, 0.999]) | st.floats(0, 0.99)


@pytest.mark.parametrize(("rate", "n", "published"), PUBLISHED)
def test_table_1(rate, n, published):
    digits = max(len(text.partition(".")[2]) for text in published.split())
    found = optimal_sequence(normal(n), rate).values
    assert [math.floor(value * 10**digits + 1e-9) / 10**digits for value in found] == [
        float(text) for text in published.split()
    ]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", LAWS)
def test_the_papers_laws_by_brute_force(name, rate):
    law = discretize(*LAWS[name], 10)
    best = min(makespan(lengths, law, rate) for lengths in subsets(law))
    found = optimal_sequence(law, rate)
    assert found.expected_makespan == pytest.approx(best, rel=1e-12)
    assert makespan(found.values.tolist(), law, rate) == pytest.approx(best, rel=1e-12)
    assert as_written(law, rate) == pytest.approx(best, rel=1e-12)


@given(laws(), rates)
@settings(max_examples=number_of_inputs(120))
def test_any_law_by_brute_force(law, rate):
    best = min(makespan(lengths, law, rate) for lengths in subsets(law))
    assert optimal_sequence(law, rate).expected_makespan == pytest.approx(best, rel=1e-12)


@given(laws(most=7), st.tuples(*[st.sampled_from([0.0, 0.1, 1.0, 3.0])] * 3).filter(any))
@settings(max_examples=number_of_inputs(80))
def test_any_cost_by_brute_force(law, weights):
    cost = Cost(*weights)
    best = min(price(lengths, law, cost) for lengths in subsets(law))
    found = optimal_sequence(law, cost=cost)
    assert found.expected_makespan == pytest.approx(best, rel=1e-12)
    assert expected_makespan(found.values, law, cost=cost) == found.expected_makespan


@pytest.mark.parametrize("name", LAWS)
def test_many_values_against_slower_computations(name):
    law = discretize(*LAWS[name], 700)
    assert optimal_sequence(law).expected_makespan == pytest.approx(all_pairs(law), rel=1e-12)
    law = discretize(*LAWS[name], 22)
    for rate in (0.03, 0.3, 0.7):
        assert optimal_sequence(law, rate).expected_makespan == pytest.approx(as_written(law, rate), rel=1e-12)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", LAWS)
def test_the_makespan_is_that_of_a_simulation(name, rate):
    law = discretize(*LAWS[name], 200)
    found = optimal_sequence(law, rate)
    run_times = np.random.default_rng(7).choice(law.values, 40_000, p=law.probabilities)
    times = np.zeros(len(run_times))
    waiting = np.ones(len(run_times), dtype=bool)
    for length in found.values:
        ends = waiting & (run_times <= length)
        work = (times + run_times)[ends]
        backfilled = arrived = rate * work
        while arrived.max(initial=0) > 1e-9:
            arrived = rate * arrived
            backfilled = backfilled + arrived
        times[ends] = np.maximum(times[ends] + length, work + backfilled)
        waiting &= ~ends
        times[waiting] += length
    assert not waiting.any()
    error = times.std() / math.sqrt(len(times))
    assert found.expected_makespan == pytest.approx(times.mean(), abs=4 * error + 1e-9)


@given(laws(most=30), rates, st.data())
@settings(max_examples=number_of_inputs(100))
def test_no_sequence_is_better(law, rate, data):
    lengths = data.draw(st.lists(st.floats(0.01, 30), max_size=5, unique=True).map(sorted))
    lengths = [length for length in lengths if length < law.end] + [law.end]
    other = expected_makespan(lengths, law, rate)
    assert other == pytest.approx(makespan(lengths, law, rate), rel=1e-12)
    assert optimal_sequence(law, rate).expected_makespan <= other * (1 + 1e-12)


@given(laws(most=40), rates, rates)
@settings(max_examples=number_of_inputs(100))
def test_the_makespan_does_not_fall_as_the_rate_grows(law, one, other):
    low, high = (optimal_sequence(law, rate).expected_makespan for rate in sorted((one, other)))
    assert low <= high * (1 + 1e-12)


@given(laws(most=40), rates)
@settings(max_examples=number_of_inputs(100))
def test_sequences_rise_to_the_largest_value(law, rate):
    found = optimal_sequence(law, rate)
    assert (np.diff(found.values) > 0).all()
    assert found.values[-1] == law.end
    assert set(found.values) <= set(law.values)
    assert found.values.tolist() == optimal_sequence(law, rate).values.tolist()


@given(laws(), rates)
@settings(max_examples=number_of_inputs(60))
def test_need_and_waste_are_those_of_the_outcomes(law, rate):
    found = optimal_sequence(law, rate)
    lengths = found.values.tolist()
    needed = [0.0] * len(lengths)
    wasted = [0.0] * len(lengths)
    for chance, run_time, failed, last in outcomes(lengths, law):
        for index, length in enumerate(failed):
            needed[index] += chance
            wasted[index] += chance * length
        needed[len(failed)] += chance
        wasted[len(failed)] += chance * (last - run_time)
    assert found.needed.tolist() == pytest.approx(needed)
    assert found.wasted.tolist() == pytest.approx(wasted, abs=1e-12)
    assert found.expected_waste == pytest.approx(price(lengths, law, Cost()) - law.mean, abs=1e-9)


def test_a_high_rate_makes_one_reservation_best():
    assert optimal_sequence(discretize(*LAWS["Beta(2, 2), 0 to 1"], 200), 0.99).values.tolist() == [1.0]


def test_fixed_charges_make_fewer_requests():
    law = normal(200)
    requests = [optimal_sequence(law, cost=Cost(gamma=gamma)).needed.sum() for gamma in (0, 10, 1000)]
    assert requests[0] > requests[1] > requests[2] > 1
    assert optimal_sequence(law, cost=Cost(gamma=1e12)).values.tolist() == [20]


def test_paying_for_use_alone_makes_one_reservation_best():
    found = optimal_sequence(TWO, cost=Cost(alpha=0, beta=1))
    assert found.values.tolist() == [2.0]
    assert found.expected_makespan == TWO.mean == 1.5


class TestDegenerateLaws:
    @pytest.mark.parametrize("rate", RATES)
    def test_point_mass_at_a_value(self, rate):
        found = optimal_sequence(discretize(Step(5), 0, 10, 10), rate)
        assert found.expected_makespan == pytest.approx(5 / (1 - rate) if rate > 0.5 else max(5, 5 / (1 - rate)))
        assert found.values[-1] == 10

    @pytest.mark.parametrize(
        "law", [Step(5), stats.uniform(0, 9), stats.randint(5, 6)], ids=["step", "flat", "integer"]
    )
    def test_bounds_that_meet(self, law):
        law = discretize(law, 5, 5, 8)
        assert (law.values.tolist(), law.probabilities.tolist(), law.start) == ([5.0], [1.0], 5.0)
        assert optimal_sequence(law).expected_makespan == 5
        assert optimal_sequence(law, 0.5).expected_makespan == 10

    def test_an_atom_at_the_lower_bound_keeps_its_value(self):
        law = discretize(Step(5), 5, 10, 5)
        assert law.values.tolist() == [5, 6, 7, 8, 9, 10]
        assert law.probabilities.tolist() == [1, 0, 0, 0, 0, 0]
        assert optimal_sequence(law).expected_makespan == 5

    def test_an_atom_at_0_needs_the_first_value(self):
        law = discretize(stats.bernoulli(0.25), 0, 1, 4)
        assert law.values.tolist() == [0.25, 0.5, 0.75, 1]
        assert law.probabilities.tolist() == [0.75, 0, 0, 0.25]

    def test_two_points(self):
        law = from_samples([60] * 9 + [3600], 10)
        assert optimal_sequence(law).values.tolist() == [60, 3600]
        assert optimal_sequence(law).expected_makespan == pytest.approx(60 + 0.1 * 3600)
        assert optimal_sequence(law).expected_waste == pytest.approx(0.1 * 60)

    def test_heavy_tail(self):
        law = discretize(stats.pareto(0.3), 1, 1e6, 300)
        found = optimal_sequence(law)
        assert found.expected_makespan == pytest.approx(all_pairs(law), rel=1e-12)
        assert found.expected_makespan < law.end

    @pytest.mark.parametrize("rate", RATES)
    def test_nothing_is_reserved_in_a_gap(self, rate):
        mass = np.where(np.abs(np.arange(1, 41) - 20) < 10, 0.0, 1.0)
        law = ESDD(np.arange(1, 41) / 4, mass / mass.sum())
        found = optimal_sequence(law, rate)
        assert not [value for value in found.values if 2.5 < value < 7.5]
        assert found.expected_makespan <= min(makespan([2.5, 10], law, rate), makespan([10], law, rate))

    def test_no_mass_at_the_end(self):
        law = ESDD([1, 2, 3], [0.9, 0.1, 0])
        assert optimal_sequence(law).values.tolist() == [1, 2, 3]
        assert optimal_sequence(law).needed[-1] == 0
        assert optimal_sequence(law, 0.9).values.tolist() == [3]
        assert expected_makespan([1, 2], law) == optimal_sequence(law).expected_makespan == pytest.approx(1.2)


class TestLaws:
    def test_discretized_law_is_that_within_the_bounds(self):
        law = discretize(stats.norm(8, 2), 6, 16, 50)
        truncated = stats.truncnorm(-1, 4, 8, 2)
        assert np.cumsum(law.probabilities) == pytest.approx(truncated.cdf(law.values), abs=1e-14)
        assert law.values.tolist() == [6 + i * 10 / 50 for i in range(1, 51)]
        assert (law.start, law.end) == (6, 16)

    def test_the_tail_is_precise(self):
        law = discretize(stats.expon(), 20, 26, 6)
        expected = np.exp(-np.arange(6)) * (1 - np.exp(-1)) / (1 - np.exp(-6))
        assert law.probabilities == pytest.approx(expected, rel=1e-12)

    def test_the_mean_converges(self):
        errors = [discretize(*LAWS["Beta(2, 2), 0 to 1"], n).mean - 0.5 for n in (10, 100, 1000)]
        assert errors == pytest.approx([0.05, 0.005, 0.0005], rel=1e-3)

    def test_scalar_and_vector_functions_are_alike(self):
        frozen = stats.gamma(3)
        scalar = discretize(Table(lambda x: float(frozen.cdf(float(x)))), 0, 9, 30)
        assert scalar.probabilities == pytest.approx(discretize(frozen, 0, 9, 30).probabilities, abs=1e-14)

    @given(st.lists(st.integers(0, 500), min_size=1, max_size=60).filter(any), st.integers(1, 30))
    def test_samples_are_rounded_up_by_less_than_a_step(self, run_times, n):
        law = from_samples(run_times, n)
        assert law.end == max(run_times)
        assert len(law.values) == (1 if min(run_times) == max(run_times) else n)
        assert math.fsum(law.probabilities) == pytest.approx(1)
        step = law.end if len(law.values) == 1 else law.values[1] - law.values[0]
        assert -1e-9 <= law.mean - np.mean(run_times) <= step + 1e-9
        for value, chance in zip(law.values, np.cumsum(law.probabilities), strict=True):
            assert chance == pytest.approx(np.mean(np.array(run_times) <= value + 1e-9))

    def test_a_failed_reservation_leaves_the_longer_run_times(self):
        law = discretize(stats.expon(), 0, 10, 10)
        left = law.condition(4)
        assert left.values.tolist() == [5, 6, 7, 8, 9, 10]
        assert left.start == 4
        assert left.probabilities == pytest.approx(discretize(stats.expon(), 4, 10, 6).probabilities)
        assert law.condition(0).values.tolist() == law.values.tolist()

    def test_the_rest_of_a_best_sequence_is_best_for_what_is_left(self):
        first, *rest = optimal_sequence(law := normal(100)).values.tolist()
        assert optimal_sequence(law.condition(first)).values.tolist() == rest

    def test_it_cannot_be_changed(self):
        with pytest.raises(ValueError, match="read-only"):
            TWO.probabilities[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            optimal_sequence(TWO).values[0] = 1

    def test_rounding_does_not_fail_a_reservation(self):
        law = ESDD([0.1 + 0.2, 1], [0.5, 0.5])
        assert expected_makespan([0.3, 1], law) == pytest.approx(0.3 + 0.5)
        assert law.condition(0.3).values.tolist() == [1]


class TestFits:
    @pytest.mark.parametrize(
        "law",
        [
            stats.lognorm(0.5, scale=3000),
            stats.gamma(3, scale=500),
            stats.weibull_min(1.7, scale=100),
            stats.norm(8, 1),
            stats.uniform(10, 50),
            stats.loguniform(1, 1000),
            stats.pareto(2.1, scale=3),
        ],
        ids=lambda law: law.dist.name,
    )
    def test_the_family_of_the_sample_is_best(self, law):
        found = fit(law.rvs(2000, random_state=np.random.default_rng(3)))
        assert found[0].name == law.dist.name
        assert found[0].ks < 0.03
        assert found[0].distribution.mean() == pytest.approx(law.mean(), rel=0.1)
        assert [one.aic for one in found] == sorted(one.aic for one in found)

    def test_figures_are_those_of_the_distribution(self):
        run_times = np.array([3.0, 5.0, 8.0, 20.0])
        [found] = [one for one in fit(run_times) if one.name == "expon"]
        assert found.distribution.mean() == pytest.approx(9)
        assert found.log_likelihood == pytest.approx(stats.expon(scale=9).logpdf(run_times).sum())
        assert found.aic == pytest.approx(2 - 2 * found.log_likelihood)
        assert found.ks == pytest.approx(stats.kstest(run_times, stats.expon(scale=9).cdf).statistic)

    def test_families_that_cannot_be_are_left_out(self):
        names = {one.name for one in fit([0, 1, 2, 5])}
        assert names & {"lognorm", "pareto", "loguniform"} == set()
        assert {"expon", "norm", "uniform"} <= names


WRONG = {
    "no run time": (lambda: from_samples([], 5), r"^run_times: expected at least one, got none$"),
    "negative": (lambda: from_samples([3, -1], 5), r"^run_times\[1\]: must be a finite number >= 0, got -1\.0$"),
    "not a number": (lambda: from_samples([3, math.nan], 5), r"^run_times\[1\]: .* >= 0, got nan$"),
    "infinite": (lambda: from_samples([math.inf], 5), r"^run_times\[0\]: .* >= 0, got inf$"),
    "text": (lambda: from_samples([3, "long"], 5), r"^run_times\[1\]: .* >= 0, got 'long'$"),
    "digits": (lambda: from_samples(np.array(["3"]), 5), r"^run_times\[0\]: .* >= 0, got '3'$"),
    "missing": (lambda: from_samples([None, 3], 5), r"^run_times\[0\]: .* >= 0, got None$"),
    "nested": (lambda: from_samples([[3], [4, 5]], 5), r"^run_times: expected a sequence of numbers, got \[\[3\]"),
    "one number": (lambda: from_samples(3, 5), r"^run_times: expected a sequence of numbers, got 3$"),
    "zeros": (lambda: from_samples([0, 0], 5), r"^run_times: at least one must be > 0, got 0 only$"),
    "equal": (lambda: fit([3, 3]), r"^run_times: at least two must differ .* got 3 only$"),
    "no fit": (lambda: fit([]), r"^run_times: expected at least one, got none$"),
    "n = 0": (lambda: from_samples([3], 0), r"^n: must be an integer >= 1, got 0$"),
    "n = -1": (lambda: discretize(stats.expon(), 0, 1, -1), r"^n: must be an integer >= 1, got -1$"),
    "n = 2.5": (lambda: discretize(stats.expon(), 0, 1, 2.5), r"^n: must be an integer >= 1, got 2\.5$"),
    "no upper bound": (lambda: discretize(stats.expon(), 0, math.inf, 5), r"^b: must be a finite .* got inf$"),
    "negative start": (lambda: discretize(stats.norm(), -1, 1, 5), r"^a: must be a finite number >= 0, got -1\.0$"),
    "bounds swapped": (lambda: discretize(stats.expon(), 3, 1, 5), r"^b: must be > 0 and >= a = 3, got 1$"),
    "zero length": (lambda: discretize(stats.expon(), 0, 0, 5), r"^b: must be > 0 and >= a = 0, got 0$"),
    "law outside": (lambda: discretize(stats.uniform(), 2, 3, 5), r"must have mass in \[2, 3\], got 0 of it there$"),
    "law far off": (lambda: discretize(stats.norm(8, 2), 40, 50, 5), r"mass in \[40, 50\], got .*e-58 of it there$"),
    "law off a point": (lambda: discretize(stats.uniform(), 2, 2, 5), r"^distribution: has no mass at 2, .* \[2, 2\]$"),
    "no law": (lambda: discretize("norm", 0, 1, 5), r"^distribution: expected an object with cdf\(x\), got 'norm'$"),
    "falling": (lambda: discretize(Table(lambda x: -x), 0, 5, 5), r"^distribution: cdf must rise .* got -1 at 1$"),
    "undefined": (lambda: discretize(Table(lambda x: x * math.nan), 0, 5, 5), r"cdf must rise .* got nan at 0$"),
    "rate 1": (lambda: optimal_sequence(TWO, 1), r"^backfill_rate: must be a number in \[0, 1\), got 1\.0$"),
    "rate < 0": (lambda: expected_makespan([2], TWO, -0.1), r"^backfill_rate: .* in \[0, 1\), got -0\.1$"),
    "rate nan": (lambda: optimal_sequence(TWO, math.nan), r"^backfill_rate: .* in \[0, 1\), got nan$"),
    "cost at a rate": (lambda: optimal_sequence(TWO, 0.1, cost=Cost()), r"^cost: .* 0 only, got 0\.1$"),
    "negative cost": (lambda: Cost(beta=-1), r"^cost\.beta: must be a finite number >= 0, got -1\.0$"),
    "no cost": (lambda: Cost(0), r"^cost: one of alpha, beta, gamma must be > 0, got 0 for all$"),
    "too short": (lambda: evaluate([1], TWO), r"^values: the last must be >= 2, the longest run time, got 1$"),
    "not rising": (lambda: evaluate([1, 1, 2], TWO), r"^values\[1\]: must be > 1\.0, the one before, got 1\.0$"),
    "no length": (lambda: evaluate([0, 2], TWO), r"^values\[0\]: must be > 0, got 0$"),
    "no reservation": (lambda: evaluate([], TWO), r"^values: expected at least one, got none$"),
    "past the end": (lambda: TWO.condition(2), r"^above: must be in \[0, 2\), .* got 2$"),
    "below 0": (lambda: TWO.condition(-1), r"^above: must be a finite number >= 0, got -1\.0$"),
    "sum": (lambda: ESDD([1, 2], [0.5, 0.6]), r"^probabilities: must sum to 1, got 1\.1$"),
    "lengths": (lambda: ESDD([1, 2], [1]), r"^probabilities: expected 2, one for each value, got 1$"),
    "start": (lambda: ESDD([1, 2], [0.5, 0.5], 1.5), r"^start: must be in \[0, 1\], .* got 1\.5$"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_told_in_one_line(name):
    call, message = WRONG[name]
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_search_that_would_take_too_long_is_refused_with_an_estimate():
    law = discretize(stats.loguniform(1, 1000), 1, 1000, 400)
    best = optimal_sequence(law, 0.1)
    assert optimal_sequence(law, 0.1, most_steps=200_000).expected_makespan == best.expected_makespan
    with pytest.raises(InputError, match=r"400 values takes about [\d,]+ steps, expected at most 1,000; take"):
        optimal_sequence(law, 0.1, most_steps=1000)
    assert optimal_sequence(law, most_steps=1).expected_makespan < best.expected_makespan
