"""Requests of the dispatcher itself. Examples by hand and any workload."""

from dataclasses import replace
from itertools import cycle, pairwise

import numpy as np
import pytest
from combinations import each_value
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Evict, TOptimal, create_dispatcher
from hpcdispatch.dispatchers.reservations.gaps import expected_utilization
from hpcdispatch.dispatchers.reservations.request_strategies import (
    Adaptive,
    Checkpointed,
    FirstThenBound,
    LastRuns,
    SequenceStep,
    TimeOptimal,
    UpperBound,
)
from hpcdispatch.dispatchers.reservations.reservation_sequences import ReservationSequences
from hpcdispatch.models.reservations import (
    Checkpointing,
    discretize,
    optimal_checkpointed_sequence,
    optimal_sequence,
)
from hpcdispatch.predictors import Empirical, LogNormal, RunTimeRanges, RunTimes
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records, cluster, pool, samples, stochastic, urgent
from hpcdispatch.workloads import Checkpoint, Job, Machine, Workload, generate

UNIFORM = stats.uniform(0, 100)
HOURS = stats.truncnorm(-4, 6, 8, 2)


class Fixed(UpperBound):
    """The same requests for every job."""

    def __init__(self, *requests):
        self._requests = requests

    def requests(self, law, walltime, application):
        return self._requests


def jobs(*rows):
    """Return jobs of law UNIFORM from rows of (submit, runtime, cores). Rows with a walltime have no law."""
    made = []
    for index, (submit, runtime, cores, *walltime) in enumerate(rows, 1):
        law = None if walltime else UNIFORM
        made.append(Job(str(index), submit, runtime, *(walltime or [100]), nodes=cores, law=law))
    return Workload(tuple(made), Machine.pool(4))


def attempts(workload, dispatcher, **options):
    """Simulate. Return (id, start, end, outcome) of every attempt, by start."""
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    frame = result.attempts.sort_values(["start", "id"])
    return list(frame[["id", "start", "end", "outcome"]].itertuples(index=False, name=None))


def test_a_failed_request_is_followed_by_the_next_at_the_end_of_the_queue():
    workload = jobs((0, 70, 4), (5, 30, 4))
    assert attempts(workload, ReservationSequences(Fixed(40, 100))) == [
        ("1", 0, 40, "limit"),
        ("2", 40, 70, "completed"),
        ("1", 70, 140, "completed"),
    ]


def test_a_failed_request_is_lost_work():
    workload = jobs((0, 70, 4))
    result = simulate(workload, ReservationSequences(Fixed(40, 100)))
    assert result.summary()["utilization"] == pytest.approx(70 / 110)


def test_the_request_is_what_backfilling_goes_by():
    # The first holds two cores until 80. The second waits for four. The third requests 50 of up to 100.
    workload = jobs((0, 80, 2, 80), (0, 30, 4), (0, 20, 2))
    assert ("3", 0, 20, "completed") in attempts(workload, ReservationSequences(Fixed(50, 100)))
    assert ("3", 0, 20, "completed") not in attempts(workload, "easy")


def test_above_the_last_request_the_simulation_decides():
    workload = jobs((0, 150, 4))
    dispatcher = ReservationSequences(Fixed(40, 100))
    assert attempts(workload, dispatcher) == [("1", 0, 40, "limit"), ("1", 40, 190, "completed")]
    assert attempts(workload, dispatcher, overrun="kill")[-1][1:3] == (40, 140)
    assert attempts(workload, dispatcher, overrun="resubmit:factor=2") == [
        ("1", 0, 40, "limit"),
        ("1", 40, 140, "limit"),
        ("1", 140, 290, "completed"),
    ]


def test_a_job_that_another_dispatcher_stopped_has_not_failed():
    workload = jobs((0, 90, 4))
    urgent = Job("now", 10, 20, 20, nodes=4, kind="on-demand", deadline=0)
    both = workload.with_jobs([*workload.jobs, urgent])
    assert attempts(both, Evict(over=ReservationSequences(Fixed(80, 100)), policy="kill")) == [
        ("1", 0, 10, "killed"),
        ("now", 10, 30, "completed"),
        ("1", 30, 110, "limit"),
        ("1", 110, 200, "completed"),
    ]


@pytest.mark.parametrize(
    ("name", "over", "backfill"),
    each_value(
        ["classic-hpc", "neuroscience", "toptimal", "atoptimal"],
        ["easy", "conservative", "fcfs", "lxf"],
        ["plain", "speculative"],
    ),
)
def test_without_laws_it_is_the_dispatcher_underneath(name, over, backfill):
    for workload in (pool(), cluster()):
        expected = simulate(workload, over)
        assert_same_records(expected, simulate(workload, f"{name}:over={over},backfill={backfill}"), over)


def test_a_job_is_tried_in_a_gap_that_its_request_does_not_fit():
    # Job 2 waits for 4 cores until 50. Job 3 requests 100 and would not end by then. It gets the 49 s from 1 on.
    workload = jobs((0, 50, 2, 50), (1, 10, 4), (1, 30, 2))
    assert attempts(workload, "classic-hpc:backfill=speculative") == [
        ("1", 0, 50, "completed"),
        ("3", 1, 31, "completed"),
        ("2", 50, 60, "completed"),
    ]


def test_a_job_that_failed_in_a_gap_goes_to_the_head_of_the_queue():
    workload = jobs((0, 50, 2, 50), (1, 10, 4, 10), (2, 80, 2), (3, 10, 4, 10))
    assert attempts(workload, "classic-hpc:backfill=speculative") == [
        ("1", 0, 50, "completed"),
        ("3", 2, 50, "limit"),
        ("3", 50, 130, "completed"),
        ("2", 130, 140, "completed"),
        ("4", 140, 150, "completed"),
    ]


def test_a_reservation_stands_while_the_job_is_tried_in_a_gap():
    # 2 is reserved from 100 on, in front of 3. Tried from 50 to 100, it fails and has its turn.
    workload = jobs((0, 50, 4, 100), (0, 80, 4), (60, 10, 4, 90))
    for over in ("rounds", "conservative:compress=never"):
        rows = attempts(workload, ReservationSequences(UpperBound(), over=over, backfill="speculative"))
        assert rows[:3] == [("1", 0, 50, "completed"), ("2", 50, 100, "limit"), ("2", 100, 180, "completed")]


@pytest.mark.parametrize("seed", range(5))
def test_speculation_delays_no_reservation(seed):
    """With exact requests and fixed reservations, no job starts later because of jobs in gaps."""
    rng = np.random.default_rng(seed)
    rows = [(0, run, cores, run) for run, cores in zip(rng.integers(1, 200, 12), rng.integers(1, 5, 12), strict=True)]
    tried = [(0, run, cores) for run, cores in zip(rng.integers(1, 100, 6), rng.integers(1, 4, 6), strict=True)]
    workload = jobs(*rows, *tried)
    ends = {
        backfill: simulate(workload, f"classic-hpc:over=conservative,backfill={backfill}").jobs.set_index("id")["end"]
        for backfill in ("plain", "speculative")
    }
    exact = [str(index) for index in range(1, 13)]
    assert (ends["speculative"][exact] <= ends["plain"][exact]).all()


def test_expected_utilization_of_a_gap_is_the_integral():
    law = stats.truncnorm(-3, 3, 50, 15)
    for above, seconds in ((0, 40), (0, 95), (30, 60), (70, 90)):
        mass = 1 - law.cdf(above)
        expected = integrate.quad(lambda t: t * law.pdf(t), max(above, 5), seconds)[0] / mass / seconds
        assert expected_utilization(law, 95, above, seconds) == pytest.approx(expected, rel=1e-3)


def test_a_gap_that_was_not_enough_is_worth_nothing():
    assert expected_utilization(UNIFORM, 100, 60, 60) == 0
    assert expected_utilization(UNIFORM, 100, 100, 200) == 0
    assert expected_utilization(stats.uniform(50, 10), 60, 0, 40) == 0


def test_the_most_useful_job_gets_the_gap_if_none_fits_it():
    # Jobs 3 and 4 request 100. The gap is 49 s of 2 cores. Job 4 is wider. Where 3 requests what it needs, 40, it fits.
    soon = stats.uniform(20, 20)
    workload = jobs((0, 50, 2, 50), (1, 10, 4), (1, 30, 1), (1, 30, 2))
    assert ("4", 1, 31, "completed") in attempts(workload, "classic-hpc:backfill=speculative")
    shorter = [
        Job(job.id, job.submit, job.runtime, 100, job.nodes, law=soon) if job.id == "3" else job
        for job in workload.jobs
    ]
    rows = attempts(workload.with_jobs(shorter), TOptimal(backfill="speculative"))
    assert ("3", 1, 31, "completed") in rows


def test_strategies_on_a_known_law():
    assert UpperBound().requests(UNIFORM, 200) == (100,)
    assert UpperBound().requests(UNIFORM, 60) == (60,)
    best = optimal_sequence(discretize(UNIFORM, 0, 100, 50)).values
    assert TimeOptimal(50).requests(UNIFORM, 100) == tuple(np.ceil(best))
    scaled = stats.truncnorm(-4, 6, 8 * 3600, 2 * 3600)
    hours = np.array(TimeOptimal(200).requests(scaled, 20 * 3600)) / 3600
    assert hours == pytest.approx([10.8, 13.4, 15.4, 17.1, 18.7, 20], abs=1e-3)


def test_a_quantile_or_the_mean_comes_before_the_bound():
    spread = stats.uniform(20, 60)
    assert FirstThenBound("quantile").requests(spread, 200) == (74, 80)
    assert FirstThenBound("quantile", 0.5).requests(spread, 200) == (50, 80)
    assert FirstThenBound("mean").requests(stats.expon(0, 30), 200) == (30, 200)
    assert FirstThenBound("quantile").requests(spread, 60) == (60,)
    assert FirstThenBound("bound").requests(spread, 200) == (80,)
    learnt = RunTimes([90, 10, 20], 3600)
    # One of four runs may take longer than all before.
    assert FirstThenBound("mean").requests(learnt, 3600) == (930, 3600)


def test_a_first_request_is_an_option_of_classical_requests():
    assert type(create_dispatcher("classic-hpc").strategy) is UpperBound
    assert create_dispatcher("classic-hpc:first=quantile,share=0.8").strategy.share == 0.8
    for text, message in (("first=most", "expected one of bound, quantile, mean"), ("share=1", "share must be")):
        with pytest.raises(InputError, match=message):
            create_dispatcher(f"classic-hpc:{text}")


def test_requests_that_cost_are_fewer():
    assert len(TimeOptimal(200).requests(UNIFORM, 100)) > len(TimeOptimal(200, gamma=30).requests(UNIFORM, 100))
    assert TimeOptimal(200, gamma=1e6).requests(UNIFORM, 100) == (100,)


@pytest.mark.parametrize("law", [stats.norm(50, 10), stats.expon(0, 30), stats.lognorm(1, 0, 20), stats.pareto(1.5)])
def test_a_law_without_bounds_is_cut_at_the_request(law):
    for strategy in (UpperBound(), LastRuns(), TimeOptimal(50), TimeOptimal(50, 0.5)):
        requests = strategy.requests(law, 100)
        assert requests[-1] == 100
        assert all(0 < before < after for before, after in pairwise(requests))
    assert 0 < expected_utilization(law, 100, 0, 60) < 1
    rows = jobs((0, 70, 2), (0, 20, 3), (5, 90, 4))
    workload = rows.with_jobs(replace(job, law=law) for job in rows.jobs)
    for over in ("easy", "rounds"):
        check(workload, simulate(workload, f"toptimal:over={over},backfill=speculative"))


def test_a_bound_far_below_the_law_is_the_only_request():
    assert TimeOptimal().requests(stats.norm(1e6, 10), 100) == (100,)


def test_the_last_runs_of_a_law_are_drawn_once_and_grow():
    strategy = LastRuns(history=3, growth=1.5)
    strategy.reset(Machine.pool(1), np.random.default_rng(5))
    requests = strategy.requests(UNIFORM, 100)
    assert requests == strategy.requests(UNIFORM, 100)
    assert requests[0] == np.ceil(100 * np.random.default_rng(5).random(3).max())
    assert requests[-1] == 100
    assert all(after == 100 or after == np.ceil(before * 1.5) for before, after in pairwise(requests))


@pytest.mark.parametrize("law", [RunTimeRanges((20, 60, 80), (0.25, 0.75)), LogNormal(3, 1, 80)])
def test_the_last_runs_of_a_law_without_quantiles_are_drawn_too(law):
    strategy = LastRuns(history=50)
    strategy.reset(Machine.pool(1), np.random.default_rng(5))
    longest = np.random.default_rng(5).random(50).max()
    assert float(law.cdf(strategy.requests(law, 100)[0])) == pytest.approx(longest, abs=0.03)


def test_each_application_has_its_own_last_runs():
    strategy = LastRuns(history=10)
    strategy.reset(Machine.pool(1), np.random.default_rng(5))
    asked = {strategy.requests(UNIFORM, 100, ("ada", name)) for name in "abcdefgh"}
    assert len(asked) > 3
    assert strategy.requests(UNIFORM, 100, ("ada", "a")) == strategy.requests(UNIFORM, 100, ("ada", "a"))


def test_generated_applications_have_their_own_last_runs():
    """With one past for all, all jobs of a round would request the same time. No gap would fit one of them."""
    workload = generate("stochastic", large=20, seed=1)
    starts = simulate(workload, "neuroscience:over=rounds:move=never").jobs["start"]
    assert len(set(starts.sort_values().diff().dropna())) > 10


def test_classic_requests_the_users_time_where_the_law_is_learned():
    rows = [Job(str(i), 100 * i, 50 + i, 3600, nodes=4, user="ada", name="sort") for i in range(40)]
    workload = Workload(tuple(rows), Machine.pool(4))
    mine = simulate(workload, "classic-hpc", Empirical())
    plain = simulate(workload, "easy")
    assert mine.jobs["start"].tolist() == plain.jobs["start"].tolist()
    asked = UpperBound().requests(RunTimes([90, 10, 20], 3600), 3600)
    assert asked == (3600,)


def test_a_learned_law_is_taken_as_it_is():
    law = RunTimes([60] * 9, 3600)
    assert TimeOptimal().requests(law, 3600) == (60, 3600)
    assert TimeOptimal().requests(RunTimes([60, 61, 62] * 3, 3600), 3600)[0] == 62
    assert TimeOptimal(n=2).requests(RunTimes([10, 20, 30, 40], 50), 50)[-1] == 50


@pytest.mark.parametrize("n", [4, 200])
def test_runs_beyond_the_request_need_all_of_it(n):
    """Without them, the law would end at the longest run below the request."""
    law = RunTimes([*range(1750, 1756), *range(5000, 5030)], 3600)
    for strategy in (TimeOptimal(n), TimeOptimal(n, gamma=60), TimeOptimal(n, 0.3)):
        assert strategy.requests(law, 3600) == (3600,)


def test_checkpoints_know_of_runs_beyond_the_request():
    law = RunTimes([600] * 6 + [5000] * 5, 3600)
    found = Checkpointed(200, 0.0, 30).reservations(law, 3600, 10, 0, 0)
    assert found == (SequenceStep(600, 0, 30), SequenceStep(3600, 600))


def test_values_of_a_law_keep_their_probabilities():
    assert TimeOptimal().requests(RunTimes([60, 600, 3600]), 3600) == (60, 600, 3600)
    assert TimeOptimal().requests(Weighted([60, 600, 3600]), 3600) == (60, 3600)


class Weighted(RunTimes):
    """Values of which the last is all but sure."""

    probabilities = np.array([0.02, 0.02, 0.96])


def test_the_last_runs_that_were_seen():
    assert LastRuns(2, 2.0).requests(RunTimes([90, 10, 20]), 100) == (20, 40, 80, 90)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30), st.integers(1, 600), st.sampled_from([0.0, 0.3]))
@settings(max_examples=number_of_inputs(60))
def test_any_past_gives_rising_requests_up_to_the_bound(past, walltime, rate):
    for strategy in (UpperBound(), LastRuns(), TimeOptimal(40, rate)):
        requests = strategy.requests(RunTimes(past), walltime)
        assert all(before < after for before, after in pairwise(requests))
        assert requests[-1] == min(max(past), walltime)
        assert requests[0] >= 1


def test_the_rate_of_small_jobs_is_seen():
    # One core of four is taken by jobs without a law.
    small = [(10 * index, 10, 1, 10) for index in range(40)]
    workload = jobs(*small, (399, 50, 4))
    strategy = Adaptive(50)
    simulate(workload, ReservationSequences(strategy))
    assert strategy.rate == pytest.approx(0.25)


def test_requests_are_learned_from_the_past():
    rng = np.random.default_rng(1)
    times = np.where(rng.random(40) < 0.8, 50, 1000)
    rows = [Job(str(i), 2000 * i, int(times[i]), 3600, nodes=4, user="ada", name="sort") for i in range(40)]
    workload = Workload(tuple(rows), Machine.pool(4))
    result = simulate(workload, "toptimal", predictor=Empirical(least=10))
    limits = result.attempts[result.attempts["outcome"] == "limit"]
    assert result.summary()["completed"] == 40
    # The long ones are killed at the first request. It covers the short ones. No job is killed before 10 jobs have
    # ended.
    assert limits["id"].tolist() == [str(i) for i in range(10, 40) if times[i] == 1000]
    assert ((limits["end"] - limits["start"]) < 1000).all()


@pytest.mark.parametrize(
    ("name", "overrun"), each_value(["neuroscience", "toptimal", "atoptimal:rate=0.4"], ["run", "kill", "resubmit"])
)
def test_learned_requests_on_every_sample(name, overrun):
    on_conservative = f"{name}{',' if ':' in name else ':'}over=conservative,backfill=speculative"
    for workload, spec in zip(samples(0.5), cycle((name, on_conservative)), strict=False):
        check(workload, simulate(workload, spec, Empirical(by="user", least=2), overrun=overrun))


def test_every_failed_attempt_ends_at_its_request_and_each_is_longer_than_the_last():
    workload = generate("stochastic", walltime="exponential", processors="beta", large=30, seed=2)
    result = simulate(workload, "toptimal:over=rounds")
    for _, tries in result.attempts.groupby("id"):
        lengths = (tries["end"] - tries["start"]).tolist()
        assert lengths == sorted(lengths)
        assert list(tries["outcome"][:-1]) == ["limit"] * (len(lengths) - 1)
    assert result.summary()["completed"] == 30
    assert (result.attempts["outcome"] == "limit").sum() > 5


def test_works_on_nodes():
    workload = stochastic()
    nodes = Workload(workload.jobs, Machine.homogeneous(16, core=1))
    for spec in ("toptimal:backfill=speculative", "toptimal:backfill=speculative,over=rounds"):
        on_pool = simulate(workload, spec)
        on_nodes = simulate(nodes, spec)
        check(nodes, on_nodes)
        assert on_pool.jobs["end"].tolist() == on_nodes.jobs["end"].tolist()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("toptimal:n=0", "n must be a whole number >= 1 and <= 100000, got 0"),
        ("toptimal:gamma=-1", "gamma must be a number >= 0, got -1"),
        ("atoptimal:rate=1", "rate must be a number >= 0 and < 1, got 1"),
        ("neuroscience:history=0", "history must be a whole number >= 1 and <= 100000, got 0"),
        ("neuroscience:growth=1", "growth must be a number > 1, got 1"),
        ("classic-hpc:backfill=some", "expected one of plain, speculative"),
        ("classic-hpc:over=nothing", "unknown dispatcher 'nothing'"),
    ],
)
def test_refuses(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(spec)


@pytest.mark.parametrize("over", ["conservative", "rounds", "rbs", "sejf", "hybrid", "lookahead", "fcfs"])
def test_any_dispatcher_underneath_can_live_with_jobs_tried_in_gaps(over):
    workload = stochastic(80, seed=3)
    for overrun in ("run", "kill", "resubmit"):
        check(workload, simulate(workload, f"toptimal:over={over},backfill=speculative", overrun=overrun))


@pytest.mark.parametrize(
    "over", ["toptimal:backfill=speculative", "toptimal:over=rounds", "rbs", "hybrid", "lookahead"]
)
def test_any_dispatcher_underneath_can_live_with_evictions(over):
    workload = urgent()
    law = stats.uniform(60, 7140)
    lottery = workload.with_jobs(replace(job, law=law) if job.kind == "batch" else job for job in workload.jobs)
    for one in (workload, lottery):
        check(one, simulate(one, f"evict:over={over}"))


class TestCheckpoints:
    def test_a_job_goes_on_from_the_checkpoint_at_the_end_of_its_request(self):
        law = stats.uniform(0, 1000)
        best = optimal_checkpointed_sequence(discretize(law, 0, 1000, 200), Checkpointing(20, 10))
        assert best.keeps[:2].all()
        first, second = best.reached[:2].astype(int).tolist()
        job = Job("1", 0, second - 5, 1000, 4, law=law, checkpoint=Checkpoint(restart=10))
        found = attempts(Workload((job,), Machine.pool(4)), TOptimal(checkpoint=20))
        end = first + 20
        assert found == [("1", 0, end, "limit"), ("1", end, end + 10 + second - 5 - first, "completed")]

    def test_as_many_reservations_as_expected(self):
        law = stats.expon(0, 5000)
        job = Job("1", 0, 1, 60_000, 4, law=law, checkpoint=Checkpoint(restart=100))
        runs = np.ceil(law.ppf((np.arange(200) + 0.5) / 200)).astype(int).tolist()
        several = [replace(job, id=str(index), submit=10**6 * index, runtime=run) for index, run in enumerate(runs)]
        result = simulate(Workload(tuple(several), Machine.pool(4)), TOptimal(checkpoint=200, n=400), overrun="kill")
        check(Workload(tuple(several), Machine.pool(4)), result)
        best = optimal_checkpointed_sequence(discretize(law, 0, 60_000, 400), Checkpointing(200, 100))
        jobs = result.jobs
        assert jobs["attempts"].mean() == pytest.approx(best.needed.sum(), rel=0.02)

    def test_learned_laws_go_on_from_what_is_kept(self):
        rng = np.random.default_rng(0)
        made = [
            Job(str(n), 2000 * n, int(rng.integers(50, 3000)), 4000, 2, user="u", checkpoint=Checkpoint(restart=30))
            for n in range(150)
        ]
        workload = Workload(tuple(made), Machine.pool(4))
        result = simulate(workload, TOptimal(checkpoint=60), predictor=Empirical(), overrun="kill")
        check(workload, result)
        kept = result.attempts[(result.attempts["outcome"] == "limit") & (result.attempts["useful"] > 0)]
        assert len(kept) > 10
        assert (result.jobs["status"] == "completed").all()

    def test_not_in_gaps(self):
        with pytest.raises(InputError, match="backfill must be 'plain' with checkpoints, got 'speculative'"):
            create_dispatcher("toptimal:checkpoint=60,backfill=speculative")

    def test_whole_seconds(self):
        with pytest.raises(InputError, match="checkpoint"):
            create_dispatcher("toptimal:checkpoint=-5")
