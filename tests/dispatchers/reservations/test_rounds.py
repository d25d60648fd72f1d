"""Round-based greedy scheduling on examples worked out by hand."""

import numpy as np
import pytest
from combinations import each_value
from oracles.batch_rounds import BatchRounds
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import ReservationSequences, State, create_dispatcher
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload, generate


def run(rows, machine=None, **options):
    """Simulate rows of (submit, runtime, walltime, cores) on four cores. Return the starts."""
    jobs = [
        Job(str(i), submit, runtime, walltime, nodes=cores)
        for i, (submit, runtime, walltime, cores) in enumerate(rows, 1)
    ]
    workload = Workload(tuple(jobs), machine or Machine.pool(4))
    result = simulate(workload, "rounds", **options)
    check(workload, result)
    return result.jobs["start"].tolist()


@pytest.fixture(params=["pool", "nodes"])
def machine(request):
    return Machine.pool(4) if request.param == "pool" else Machine.homogeneous(4, core=1)


def test_the_largest_area_first(machine):
    # The areas are 40, 120, 50, 60. Job 2 starts at 0, 4 at 30. Job 3 does not fit beside it. It follows at 50, 1 at
    # 75.
    assert run([(0, 10, 10, 4), (0, 30, 30, 4), (0, 25, 25, 2), (0, 20, 20, 3)], machine) == [75, 0, 50, 30]


def test_reservations_stand_when_a_job_ends_early(machine):
    assert run([(0, 5, 100, 4), (0, 50, 96, 4)], machine) == [0, 100]


def test_a_job_of_the_round_moves_into_a_gap_only_as_a_whole(machine):
    # After 5 there is a gap of 95 s. Job 3 (80) fits, 2 (96) does not. What 3 leaves behind stays empty.
    assert run([(0, 5, 100, 4), (0, 50, 96, 4), (0, 80, 80, 4)], machine) == [0, 100, 5]


def test_later_jobs_fill_gaps_or_wait_for_the_next_round(machine):
    rows = [(0, 5, 100, 4), (0, 50, 96, 4), (1, 60, 95, 4), (1, 60, 96, 4), (1, 20, 37, 4), (1, 9, 35, 4)]
    # Job 3 fits the gap from 5 to 100. Job 6 fits the rest from 65 on. The round is over when 2 has ended, at 150. Then
    # 4 and 5, by area.
    assert run(rows, machine) == [0, 100, 5, 150, 246, 65]


def test_a_later_job_must_end_within_the_round(machine):
    # Beside 1 there is room for ever, but the round ends at 100.
    assert run([(0, 100, 100, 1), (10, 20, 91, 1), (10, 20, 90, 1)], machine) == [0, 100, 10]


def test_the_next_round_waits_for_all_of_this_one(machine):
    assert run([(0, 10, 10, 1), (0, 50, 50, 1), (5, 40, 60, 4)], machine) == [0, 0, 50]


def test_a_job_that_overruns_delays_the_others(machine):
    assert run([(0, 150, 100, 4), (0, 50, 90, 4)], machine) == [0, 150]
    assert run([(0, 150, 100, 4), (0, 50, 90, 4)], machine, overrun="kill") == [0, 100]


# Batches with fixed reservations.


def never(rows, batch, machine, **options):
    jobs = [Job(str(i), submit, ran, asked, nodes=cores) for i, (submit, ran, asked, cores) in enumerate(rows, 1)]
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, f"rounds:batch={batch},move=never", **options)
    check(workload, result)
    return result.jobs["start"].tolist()


def test_what_is_reserved_does_not_move(machine):
    # In the example 3 moves into the gap from 5 to 100. Here it keeps its time, behind 2.
    assert never([(0, 5, 100, 4), (0, 50, 96, 4), (0, 80, 80, 4)], 3, machine) == [0, 100, 196]


def test_only_jobs_beyond_the_batch_fill_gaps(machine):
    # A batch of two. Job 3 has no reservation and gets the gap from 5 to 100.
    assert never([(0, 5, 100, 4), (0, 50, 96, 4), (0, 80, 80, 4)], 2, machine) == [0, 100, 5]


def test_a_gap_later_in_the_round_is_reserved_at_once(machine):
    # Beside 2, from 100 on, there is one core until 200. Job 3 gets it when the round begins.
    assert never([(0, 100, 100, 4), (0, 100, 100, 3), (0, 40, 90, 1)], 2, machine) == [0, 100, 100]


def test_a_batch_takes_the_largest_of_those_that_came_together(machine):
    # The areas are 40, 80, 120, 160. Jobs 4 and 3 are first. The others end no earlier than the round.
    assert never([(0, 10, 10, 4), (0, 20, 20, 4), (0, 30, 30, 4), (0, 40, 40, 4)], 2, machine) == [90, 70, 40, 0]


def test_the_round_is_over_when_nothing_is_reserved_or_runs(machine):
    # Job 2 would outlast the reservation of 1. It waits for the end of that. Job 3 fits beside it.
    assert never([(0, 60, 100, 2), (10, 50, 101, 2), (20, 20, 60, 2)], 1, machine) == [0, 60, 20]
    # Both end early, and with them the round.
    assert never([(0, 60, 100, 2), (0, 50, 90, 2), (10, 50, 101, 4)], 2, machine) == [0, 0, 60]


def drawn(seed, count=25, cores=4):
    rng = np.random.default_rng(seed)
    jobs = []
    for _ in range(count):
        requests = np.sort(rng.choice(np.arange(5, 400), 3, replace=False)).tolist()
        jobs.append((int(rng.integers(1, cores + 1)), int(rng.integers(1, requests[-1])), requests))
    return jobs


class Given:
    """The requests of a table, by the application."""

    def __init__(self, jobs):
        self.jobs = jobs

    def reset(self, machine, rng):
        """Do nothing."""

    def observe(self, state):
        """Do nothing."""

    def requests(self, law, walltime, application):
        return self.jobs[int(application[1]) - 1][2]


@pytest.mark.parametrize("batch", [1, 3, 10, 100])
@pytest.mark.parametrize("seed", range(6))
def test_batches_as_by_trying_every_start(seed, batch):
    jobs = drawn(seed)
    rows = [
        Job(str(i), 0, ran, asked[-1], nodes=cores, name=str(i), law=stats.uniform(0, asked[-1]))
        for i, (cores, ran, asked) in enumerate(jobs, 1)
    ]
    workload = Workload(tuple(rows), Machine.pool(4))
    over = f"rounds:batch={batch}/move=never"
    result = simulate(workload, ReservationSequences(Given(jobs), over=over), overrun="kill")
    check(workload, result)
    attempts = result.attempts.sort_values("start").groupby("id")[["start", "end"]]
    found = {id_: frame.to_numpy().tolist() for id_, frame in attempts}
    expected = BatchRounds(jobs, 4, batch).attempts
    assert found == {str(i): rows for i, rows in enumerate(expected, 1)}


class FromLists:
    """A dispatcher on plain lists. Their changes are not reported."""

    def __init__(self, inner):
        self.inner = create_dispatcher(inner)

    def reset(self, machine, rng=None):
        self.inner.reset(machine, rng)

    def dispatch(self, state):
        return self.inner.dispatch(State(state.now, list(state.queue), list(state.running), state.free, state.machine))


BATCHES = "rounds:batch=6/move=never"


@pytest.mark.parametrize(
    ("dispatcher", "overrun"),
    each_value(
        [
            "rounds:batch=6,move=never",
            f"classic-hpc:over={BATCHES}",
            f"toptimal:over={BATCHES}",
            f"atoptimal:over={BATCHES}",
            "toptimal:over=easy",
            f"toptimal:over={BATCHES},backfill=speculative",
        ],
        ["kill", "run"],
    ),
)
def test_what_changed_is_all_that_matters(dispatcher, overrun):
    options = {"processors": "beta", "low": 1, "high": 20, "work_rate": 0.6, "window": 15, "stream_processors": 45}
    workload = generate("stochastic", large=12, seed=3, **options)
    given = {"predictor": "empirical", "overrun": overrun}
    told, untold = (simulate(workload, each, **given) for each in (dispatcher, FromLists(dispatcher)))
    check(workload, told)
    assert told.attempts.equals(untold.attempts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("batch=0", "batch must be a whole number >= 1, got 0"),
        ("batch=-3", "batch must be a whole number >= 1, got -3"),
        ("move=up", "option 'move': expected one of fill, never"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(f"rounds:{options}")


class _Fixed:
    """Requests that are given, by the number of the job."""

    def __init__(self, requests):
        self._requests = requests

    def reset(self, machine, rng):
        pass

    def observe(self, state):
        pass

    def requests(self, law, walltime, application):
        return self._requests[int(application[1])]


def _tried_jobs(seed):
    """Return the processors of a machine and jobs. Some jobs have several requests."""
    rng = np.random.default_rng(seed)
    processors = int(rng.integers(3, 9))
    jobs = []
    requests = []
    for number in range(30):
        submit = int(rng.integers(0, 900)) * int(rng.random() < 0.6)
        cores = int(rng.integers(1, processors + 1))
        asked = sorted({int(seconds) for seconds in rng.integers(3, 200, rng.integers(1, 4))})
        law = stats.uniform(0, asked[-1]) if len(asked) > 1 else None
        run = int(rng.integers(1, asked[-1] + 1))
        jobs.append(Job(str(number), submit, run, asked[-1], nodes=cores, name=str(number), law=law))
        requests.append(asked)
    return processors, tuple(sorted(jobs, key=lambda job: job.submit)), requests


@pytest.mark.parametrize("backfill", ["plain", "speculative"])
@pytest.mark.parametrize("seed", range(6))
def test_jobs_get_nodes_of_one_unit_when_they_start_so_that_these_are_as_good_as_a_pool(seed, backfill):
    # With nodes from the beginning, enough are always free. But none is free for long enough, so others wait longer.
    processors, jobs, requests = _tried_jobs(seed)
    starts = []
    for machine in (Machine.pool(processors), Machine.homogeneous(processors, core=1)):
        workload = Workload(jobs, machine)
        standing = ReservationSequences(_Fixed(requests), over="rounds:batch=9/move=never", backfill=backfill)
        result = simulate(workload, standing, overrun="kill")
        check(workload, result)
        starts.append(result.attempts[["id", "start", "end"]].sort_values(["start", "id"]).to_numpy().tolist())
    assert starts[0] == starts[1]
