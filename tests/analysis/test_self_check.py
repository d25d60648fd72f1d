"""Which groups of a site's jobs the model is not trusted on."""

import math

import numpy as np
import pytest

from hpcdispatch.analysis.what_if import FAR, FEW, WhatIf, self_check
from hpcdispatch.workloads import Job, Machine, Workload

JOBS = 12


def fared(waits, repeated=None):
    waits = np.asarray(waits, dtype=float)
    runs = np.empty((0, len(waits))) if repeated is None else np.asarray(repeated, dtype=float)
    return WhatIf("", 0, 0, 0, {}, 0, 0, 0, 0, (math.nan, math.nan), waits, runs)


def checked(recorded, model, repeated=None, cores=2):
    jobs = [Job(str(number), 10 * number, 60, 60, cores, {"core": 1}, group="g") for number in range(len(recorded))]
    found = self_check(Workload(jobs, Machine.pool(64)), [fared(recorded), fared(model, repeated)])
    return {(each.kind, each.jobs_of): each for each in found}


@pytest.mark.parametrize(
    ("model", "runs", "reason"),
    [
        (1040, (1000, 1060), ""),  # 4% is near, whatever the spread
        (1500, (1450, 1550), FAR),  # 500 s are more than a spread of 100 s
        (1500, (900, 1700), ""),  # and less than one of 800 s
        (1500, None, FAR),  # no repeated runs: no spread
    ],
)
def test_a_group_is_far_off_beyond_the_spread_of_the_model(model, runs, reason):
    repeated = None if runs is None else [[each] * JOBS for each in runs]
    found = checked([1000] * JOBS, [model] * JOBS, repeated)
    for group in (("account", "g"), ("size", "2-4 cores")):
        assert found[group].reason == reason
        assert found[group].trusted == (not reason)


def test_few_seconds_and_few_jobs_are_no_fault_of_the_model():
    assert checked([10] * JOBS, [25] * JOBS)["account", "g"].trusted
    assert checked([1000] * 3, [5000] * 3)["account", "g"].reason == FEW


def test_runs_in_which_no_job_of_a_group_starts_say_nothing():
    found = checked([1000] * JOBS, [1010] * JOBS, [[math.nan] * JOBS, [1030] * JOBS])["account", "g"]
    assert (found.spread, found.trusted) == (20.0, True)
