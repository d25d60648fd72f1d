"""Requests for runs that are put into the trace of a site."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hpcdispatch.analysis import Planning
from hpcdispatch.analysis.site_requests import BASELINE, FixedRequests, measure, wait_model
from hpcdispatch.base import InputError
from hpcdispatch.models.reservations import Checkpointing, discretize, optimal_checkpointed_sequence
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload, generate

SITE = generate("lublin", jobs=300, processors=32, load=0.8, seed=2)
RUNS = np.ceil(np.random.default_rng(1).lognormal(7, 1, 40))


def empty(jobs=60):
    """Return a site with an empty queue."""
    return Workload(tuple(Job(str(n), 10**5 * n, 60, 600) for n in range(jobs)), Machine.pool(32))


def test_on_an_empty_site_what_is_requested_last_costs_nothing():
    found = measure(empty(), RUNS)
    by_name = {row.name: row for row in found.rows}
    assert found.rows[0].name == BASELINE
    assert found.waits.alpha == found.waits.gamma == 0
    assert found.runs == 20
    assert found.unseen
    assert by_name[BASELINE].response == pytest.approx(RUNS[20:].mean())
    assert by_name[BASELINE].requests == 1
    assert by_name[BASELINE].first == RUNS.max()
    assert by_name["optimal sequence"].verdict == "worse"
    assert by_name["optimal sequence"].response > by_name[BASELINE].response


def test_checkpoints_lose_less():
    planning = Planning(checkpointing=Checkpointing(30, 10))
    rows = {row.name: row for row in measure(SITE, RUNS, planning, cores=4).rows}
    assert list(rows) == [BASELINE, "optimal sequence", "for these waits", "checkpoints", "both"]
    assert rows["checkpoints"].requests > rows["optimal sequence"].requests
    assert 0 < rows["checkpoints"].lost < rows["optimal sequence"].lost
    assert all(row.low <= row.ratio <= row.high for row in list(rows.values())[1:])


def test_few_runs_are_their_own_judge():
    found = measure(SITE, RUNS[:6])
    assert found.runs == 6
    assert not found.unseen


@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 100), (0, 70), (2, 0)])
def test_waits_are_fitted_by_request(alpha, gamma):
    workload = replace(SITE, jobs=SITE.jobs[:100])
    result = simulate(workload, "easy")
    result.jobs["wait"] = gamma + alpha * result.jobs["walltime"]
    found = wait_model(workload, result, 4)
    assert (found.alpha, found.gamma) == (pytest.approx(alpha, abs=1e-6), pytest.approx(gamma, abs=1e-2))
    assert found.jobs <= 100


def test_waits_that_fall_with_the_request_are_taken_as_even():
    result = simulate(SITE, "easy")
    result.jobs["wait"] = 10**6 - result.jobs["walltime"]
    found = wait_model(SITE, result, 4)
    assert found.alpha == 0
    assert found.gamma > 0


def test_the_reservations_are_those_of_the_sequence():
    law = discretize(stats.uniform(0, 1000), 0, 1000, 50)
    found = optimal_checkpointed_sequence(law, Checkpointing(20, 10))
    steps = FixedRequests(found, 20).reservations(None, 1000, 10, 0, 0)
    assert [step.reached for step in steps] == found.reached.tolist()
    assert [bool(step.write) for step in steps] == found.keeps.tolist()
    assert [step.length + (10 if step.kept else 0) for step in steps] == found.values.tolist()


def test_a_job_wider_than_the_machine_is_refused():
    with pytest.raises(InputError, match="cores: expected at most 32, what the machine of the site has, got 33"):
        measure(SITE, RUNS, cores=33)


def test_a_site_without_jobs_is_refused():
    with pytest.raises(InputError, match="site: expected a trace of at least 2 jobs, got 1"):
        measure(SITE.head(1), RUNS)
