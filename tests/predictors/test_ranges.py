"""Ranges of run times as laws. An oracle that tells only a range."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.predictors import Ranges, RunTimeRanges, create
from hpcdispatch.workloads import Job


def job(runtime, id_="1"):
    return Job(id_, 0, runtime=runtime, walltime=10 * runtime)


def test_a_range_is_uniform():
    law = RunTimeRanges([10, 30])
    assert law.cdf([5, 10, 20, 30, 40]).tolist() == [0, 0, 0.5, 1, 1]
    assert law.support() == (10, 30)
    assert law.mean() == 20


def test_several_ranges_have_their_chances():
    law = RunTimeRanges([0, 10, 20, 40], [0, 0.25, 0.75])
    assert law.cdf([10, 20, 30]).tolist() == [0, 0.25, 0.625]
    assert law.support() == (10, 40)
    assert law.mean() == 0.25 * 15 + 0.75 * 30


@pytest.mark.parametrize(
    ("edges", "shares", "message"),
    [
        ([30, 10], (1,), "range: its lower end must be below its upper end, got 30 to 10 s"),
        ([0, 5, 5], (0.5, 0.5), "got 5 to 5 s"),
        ([-1, 5], (1,), "an end of a range must be a number >= 0"),
        ([0, float("inf")], (1,), "an end of a range must be a number >= 0 and <= 10000000000, got inf"),
        ([0, 5], (0.5,), "shares must be 1 numbers >= 0 with a sum of 1"),
        ([0, 5, 6], (1.5, -0.5), "shares must be 2 numbers >= 0"),
        ([7], (), "shares must be 1 numbers"),
    ],
)
def test_what_is_no_range_is_refused(edges, shares, message):
    with pytest.raises(ValueError, match=message):
        RunTimeRanges(edges, shares)


def test_the_oracle_tells_the_range_and_its_law():
    predictor = Ranges(count=4, accuracy=1, longest=400)
    assert [predictor.distribution(job(seconds)).support() for seconds in (1, 100, 101, 5000)] == [
        (0, 100),
        (0, 100),
        (100, 200),
        (300, 400),
    ]
    assert predictor.predict(job(250), 0) == 250


def test_it_errs_in_the_share_that_it_is_told_and_gives_that_chance():
    predictor = Ranges(count=5, accuracy=0.7, longest=500)
    told = [np.diff(predictor.distribution(job(250, str(number))).shares) for number in range(2000)]
    right = np.mean([int(np.argmax(shares)) == 2 for shares in told])
    assert abs(right - 0.7) < 0.04
    assert {tuple(np.sort(shares).round(9)) for shares in told} == {(0.075,) * 4 + (0.7,)}
    assert {int(np.argmax(shares)) for shares in told} == {0, 1, 2, 3, 4}


def test_errors_go_by_the_job_and_the_seed():
    jobs = [job(250, str(number)) for number in range(50)]
    one, other, again = (
        [predictor.distribution(each).shares.tolist() for each in jobs]
        for predictor in (Ranges(seed=1, longest=500), Ranges(seed=2, longest=500), Ranges(seed=1, longest=500))
    )
    assert one == again != other


def test_one_range_tells_all_jobs_the_same():
    predictor = Ranges(count=1, accuracy=0.2, longest=500)
    assert {predictor.predict(job(seconds), 0) for seconds in (1, 250, 499)} == {250}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ranges:shortest=900,longest=300", "shortest must be below longest.*got 900.0 and 300"),
        ("ranges:count=0", "count must be a whole number >= 1"),
        ("ranges:accuracy=1.2", "accuracy must be a number >= 0 and <= 1, got 1.2"),
        ("ranges:seed=-1", "seed must be a whole number >= 0"),
    ],
)
def test_bad_options_are_named(spec, message):
    with pytest.raises(InputError, match=message):
        create(spec)
