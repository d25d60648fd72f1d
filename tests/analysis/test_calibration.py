"""Forecasts of starts, calibrated on past ones."""

import math

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.analysis.calibration import LEAST, Calibration, PastForecast, past_forecasts
from hpcdispatch.analysis.start_forecasts import LEARNED, StartForecast
from hpcdispatch.predictors import create
from hpcdispatch.workloads import Job, Machine, Workload


def drawn(seed, count, partition="", spread=1.0):
    """Return past forecasts of 60 to 120 s whose starts vary more than that."""
    starts = 90 * np.exp(np.random.default_rng(seed).normal(0, spread, count))
    return [PastForecast(60, 120, start, partition) for start in starts.tolist()]


def applied(calibration, partition=""):
    made = calibration.applied(StartForecast("1", 1060, 1090, 1120), 1000, partition)
    return made.low - 1000, made.high - 1000


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.5])
def test_new_starts_fall_into_eight_of_ten(spread):
    """Coverage of new starts is near 80%, whether the plain intervals were too wide or too narrow."""
    low, high = applied(Calibration.of(drawn(1, 400, spread=spread)))
    inside = [low <= each.start <= high for each in drawn(2, 2000, spread=spread)]
    assert 0.7 < np.mean(inside) < 0.9


def test_partitions_with_enough_starts_have_their_own():
    """A partition with few past starts takes the pooled factor."""
    past = [*drawn(1, 100, "fast", 0.1), *drawn(2, 100, "slow", 1.5), *drawn(3, LEAST - 1, "few", 0.1)]
    found = Calibration.of(past)
    assert set(found.stretch) == {"fast", "slow"}
    widths = [high - low for low, high in (applied(found, each) for each in ("fast", "few", "slow"))]
    assert widths == sorted(widths)
    assert applied(found, "few") == applied(found, "unknown")


def test_few_past_starts_change_nothing():
    """Without enough of them, the interval stays as it was forecast."""
    for past in ([], drawn(1, LEAST - 1)):
        assert applied(Calibration.of(past)) == (60, 120)


def test_the_median_stays_inside_and_no_end_is_before_now():
    """Intervals that shrink keep the median; those that grow do not begin in the past."""
    exact = Calibration.of([PastForecast(0, 10**6, 1000.0)] * 50)
    wide = Calibration.of([PastForecast(60, 61, 10**7)] * 50)
    assert applied(exact)[0] <= 90 <= applied(exact)[1]
    assert applied(wide)[0] == 0
    assert all(math.isfinite(each) for each in applied(wide))


def test_past_moments_of_the_accounting():
    """Past forecasts use what was known then, and have the starts that came."""
    rng = np.random.default_rng(4)
    jobs, waits, free = [], [], 0
    for number, submit in enumerate(np.sort(rng.integers(0, 20_000, 80)).tolist()):
        runtime = int(rng.integers(50, 500))
        start = max(submit, free)
        free = start + runtime
        jobs.append(Job(str(number), submit, runtime, 600, user="a", queue="p"))
        waits.append(float(start - submit))
    trace = Workload(jobs, Machine.pool(1), records=pd.DataFrame({"wait": waits}))
    found = past_forecasts(trace, "fcfs", create(LEARNED), 30_000, moments=4, draws=4)
    assert found
    assert {each.partition for each in found} == {"p"}
    assert all(0 < each.start < 30_000 and each.low <= each.high for each in found)
    assert found == past_forecasts(trace, "fcfs", create(LEARNED), 30_000, moments=4, draws=4)
    assert past_forecasts(trace.head(1), "fcfs", create(LEARNED), 30_000) == []
