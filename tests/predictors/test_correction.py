import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.predictors import SC15_INCREMENTS, TSAFRIR_INCREMENTS, tsafrir_correction
from hpcdispatch.workloads import Job

MIN, H = 60, 3600


def job(walltime: int) -> Job:
    return Job("1", 0, runtime=1, walltime=walltime)


def corrections(walltime: int, first: int, times: int, increments=TSAFRIR_INCREMENTS) -> list[float]:
    """Let a job overrun its prediction `times` times."""
    seen = [first]
    for misses in range(times):
        seen.append(tsafrir_correction(job(walltime), int(seen[-1]), misses, increments))
    return seen[1:]


def test_increments_are_the_published_ones():
    minutes = (1, 5, 15, 30)
    hours = (1, 2, 5, 10, 20, 50, 100)
    expected = [amount * MIN for amount in minutes] + [amount * H for amount in hours]
    assert list(TSAFRIR_INCREMENTS) == expected


@pytest.mark.parametrize(("misses", "increment"), list(enumerate(TSAFRIR_INCREMENTS)))
def test_each_miss_adds_its_increment_to_the_time_elapsed(misses, increment):
    assert tsafrir_correction(job(10**7), 1000, misses) == 1000 + increment


def test_the_last_increment_repeats():
    assert tsafrir_correction(job(10**7), 1000, 11) == 1000 + 100 * H
    assert tsafrir_correction(job(10**7), 1000, 99) == 1000 + 100 * H


def test_the_corrections_of_one_job_add_up_to_its_walltime_and_then_go_on():
    assert corrections(walltime=3000, first=100, times=6) == [
        160,
        460,
        1360,
        3000,
        3000 + 1 * H,
        3000 + 3 * H,
    ]


def test_a_job_at_its_walltime_is_not_capped():
    assert tsafrir_correction(job(100), 99, 0) == 100
    assert tsafrir_correction(job(100), 100, 0) == 160
    assert tsafrir_correction(job(100), 150, 1) == 450


def test_the_schedule_of_the_sc15_simulator_counts_from_the_first_prediction():
    assert corrections(10**7, 100, 11, SC15_INCREMENTS) == [100 + more for more in TSAFRIR_INCREMENTS]


def test_negative_misses_are_refused():
    with pytest.raises(ValueError, match=r"^job 1: misses must be a whole number >= 0, got -1$"):
        tsafrir_correction(job(10), 5, -1)


@given(
    walltime=st.integers(1, 10**6),
    elapsed=st.integers(0, 10**6),
    misses=st.integers(0, 30),
    increments=st.sampled_from([TSAFRIR_INCREMENTS, SC15_INCREMENTS]),
)
def test_a_correction_lies_ahead_and_within_the_walltime_while_that_does(walltime, elapsed, misses, increments):
    corrected = tsafrir_correction(job(walltime), elapsed, misses, increments)
    assert corrected > elapsed
    assert corrected <= walltime or elapsed >= walltime
