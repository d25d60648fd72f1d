"""Plans with a quantile. They kill no job. The quantile is learned."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import SoftTOptimal, create_dispatcher
from hpcdispatch.dispatchers.reservations import soft_sequences
from hpcdispatch.dispatchers.reservations.request_strategies import TimeOptimal
from hpcdispatch.dispatchers.reservations.soft_sequences import PLANS, PlanTrials, planned
from hpcdispatch.models.reservations import ESDD
from hpcdispatch.predictors import Empirical, Ranges, RunTimeRanges, RunTimes
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

UNIFORM = stats.uniform(0, 100)
SEEN = RunTimes([10, 20, 30, 40], bound=100)


@pytest.mark.parametrize(
    ("law", "quantile", "above", "seconds"),
    [
        (UNIFORM, 0.5, 0, 50),
        (UNIFORM, 0.5, 50, 75),
        (UNIFORM, 1, 50, 100),
        (UNIFORM, 0.5, 120, 121),
        (UNIFORM, 0, 120, 121),
        (SEEN, 0.5, 0, 30),
        (SEEN, 0.5, 10, 30),
        (SEEN, 0.5, 40, 100),
        (SEEN, 0.2, 0, 10),
        (SEEN, 1, 0, 100),
        (RunTimeRanges([0, 50, 100], [0.75, 0.25]), 0.75, 0, 50),
        (RunTimeRanges([0, 50, 100], [0.75, 0.25]), 0.5, 50, 75),
        (ESDD(np.array([10.0, 20.0, 90.0]), np.array([0.1, 0.1, 0.8])), 0.5, 0, 90),
    ],
)
def test_a_plan_is_a_quantile_of_what_is_left(law, quantile, above, seconds):
    assert planned(law, quantile, 100, above) == seconds


def test_a_plan_of_0_is_the_sequence_of_least_expected_time():
    first, second, *_ = TimeOptimal().requests(UNIFORM, 100)
    assert planned(UNIFORM, 0, 100) == first
    assert planned(UNIFORM, 0, 100, first) == second


@pytest.mark.parametrize("quantile", [0, 0.25, 0.9])
def test_what_outlives_its_law_is_planned_with_its_request(quantile):
    assert planned(UNIFORM, quantile, 200, 120) == 200
    rows = jobs((0, 150, 4), (1, 20, 2))
    workload = rows.with_jobs(replace(job, walltime=200) for job in rows.jobs)
    found = simulate(workload, SoftTOptimal(quantile=quantile))
    assert found.jobs["start"].tolist() == [0, 150]


def jobs(*rows):
    """Return jobs of law UNIFORM on 4 cores from rows of (submit, runtime, cores)."""
    made = [Job(str(n), submit, run, 100, nodes=cores, law=UNIFORM) for n, (submit, run, cores) in enumerate(rows, 1)]
    return Workload(tuple(made), Machine.pool(4))


def test_the_quantile_is_what_backfilling_goes_by_and_the_request_what_kills():
    # The first is planned to end at 50. At 0 the third can end by then, and starts. At 20 it cannot, and waits.
    workload = jobs((0, 90, 2), (0, 30, 4), (0, 20, 2))
    found = simulate(workload, "soft-toptimal:quantile=0.5", overrun="kill")
    check(workload, found)
    assert found.jobs["start"].tolist() == [0, 90, 0]
    assert (found.jobs["status"] == "completed").all()
    assert (found.attempts["outcome"] == "completed").all()
    later = jobs((0, 90, 2), (0, 30, 4), (20, 20, 2))
    assert simulate(later, "soft-toptimal:quantile=0.5").jobs["start"].tolist() == [0, 90, 120]
    assert simulate(later, "soft-toptimal:quantile=1").jobs["start"].tolist() == [0, 90, 120]


def test_what_outlives_its_plan_is_planned_anew():
    # At 60 the first is past 50. It is planned to end at 80. Plans of 20 fit, plans of 30 do not.
    ends = RunTimes([20], bound=20)
    workload = jobs((0, 95, 2), (0, 30, 4), (60, 18, 2))
    short = replace(workload.jobs[2], law=stats.uniform(0, 20), walltime=20)
    workload = replace(workload, jobs=(*workload.jobs[:2], short))
    assert planned(ends, 0.5, 20) == 20
    assert simulate(workload, "soft-toptimal:quantile=0.5").jobs["start"].tolist() == [0, 95, 60]


def drawn(jobs=300, seed=3, every=220):
    """Return jobs on a full machine. Most users request ten times what they need."""
    rng = np.random.default_rng(seed)
    runs = np.ceil(rng.lognormal(6, 1, jobs)).astype(int)
    submit = np.sort(rng.integers(0, every * jobs, jobs))
    return Workload(
        tuple(
            Job(str(n), int(when), int(min(run, 20_000)), 20_000, int(rng.integers(1, 9)), user=f"u{n % 3}")
            for n, (when, run) in enumerate(zip(submit, runs, strict=True))
        ),
        Machine.pool(16),
    )


def test_the_quantile_is_learned_and_no_job_is_killed():
    workload = drawn()
    found = simulate(workload, "soft-toptimal", predictor=Empirical(), overrun="kill")
    check(workload, found)
    assert set(found.decisions["quantile"]) > {1.0}
    assert set(found.decisions["quantile"]) <= set(PLANS)
    assert (found.jobs["attempts"] == 1).all()


def test_plans_are_judged_by_what_easy_makes_of_them(monkeypatch):
    monkeypatch.setattr(soft_sequences, "LEAST", 20)
    workload = drawn(200, every=60)
    trials = PlanTrials(workload.machine, 0, 2)

    class Watched:
        """EASY, with trials of a plan at the request and of one of a second."""

        def dispatch(self, state):
            for entry in trials.see(state):
                trials.add(entry, state.now, [entry.job.walltime, 1])
            best.append(trials.best(state.now))
            actions = easy.dispatch(state)
            trials.start([action.job.id for action in actions], state)
            return actions

    easy, best = create_dispatcher("easy"), []
    found = simulate(workload, Watched())
    replayed = trials.starts()
    known = (replayed >= 0).all(axis=0)
    assert known.sum() > 40
    assert replayed[0][known].tolist() == found.jobs["start"].to_numpy()[: len(known)][known].tolist()
    assert {None, int(np.argmin(replayed[:, known].sum(axis=1)))} <= set(best)


def test_one_that_plans_with_requests_is_easy():
    workload = drawn(200)
    found = simulate(workload, "soft-toptimal:quantile=1", predictor=Empirical())
    assert found.jobs["start"].tolist() == simulate(workload, "easy").jobs["start"].tolist()


@pytest.mark.parametrize("over", ["conservative", "lookahead", "evict:over=easy"])
def test_over_any_other(over):
    workload = drawn(120)
    check(workload, simulate(workload, SoftTOptimal(over=over), predictor=Empirical()))


@pytest.mark.parametrize("quantile", [None, 0.5, 0])
def test_laws_without_quantiles_are_planned_with_too(quantile):
    workload = drawn(150)
    result = simulate(workload, SoftTOptimal(quantile=quantile), predictor=Ranges())
    check(workload, result)
    assert (result.jobs["attempts"] == 1).all()


def test_refuses_what_is_no_quantile():
    with pytest.raises(InputError, match="quantile must be a number >= 0 and <= 1 or none, got 2"):
        create_dispatcher("soft-toptimal:quantile=2")
