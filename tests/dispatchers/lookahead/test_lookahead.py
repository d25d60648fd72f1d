"""The look-ahead dispatcher: its rules, its guarantees, and what it reports."""

import math
from dataclasses import replace

import numpy as np
import pytest
from combinations import each_value, some
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.dispatchers import Lookahead, State
from hpcdispatch.dispatchers.lookahead.lookahead import LookaheadOptions
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records, check_dispatcher, samples
from hpcdispatch.workloads import Job, Machine, Workload, generate
from hpcdispatch.workloads.machine_state import MachineState, RunningSince

HOUR = 3600
#: Seconds before which no job is pressed unless it is said.
LEAST_DUE = LookaheadOptions().least_due_seconds


def run(rows, dispatcher, machine):
    """Simulate rows of (submit, runtime, walltime, cores); return the result."""
    jobs = [
        Job(str(i), submit, runtime, walltime, nodes=cores)
        for i, (submit, runtime, walltime, cores) in enumerate(rows, 1)
    ]
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, dispatcher)
    check(workload, result)
    return result


@pytest.fixture(params=["pool", "nodes"])
def machine(request):
    return Machine.pool(4) if request.param == "pool" else Machine.homogeneous(4, core=1)


@pytest.mark.parametrize(
    "options",
    some(
        [
            {"patience": 1e-6, "placement": "best-fit", "tolerance": 0.0},
            {"patience": math.inf, "blocked": 0, "iterations": 0},
            {"guards": 0},
        ]
    ),
)
def test_it_keeps_the_rules_with_other_options(options):
    check_dispatcher(lambda: Lookahead(**options), samples(0.5), overruns=["resubmit"], predictors=["last2"])


@settings(max_examples=number_of_inputs(60))
@given(workloads(moldable=True), st.sampled_from(["run", "kill", "resubmit"]), st.sampled_from([1e-6, 0.9, math.inf]))
def test_no_job_is_lost(workload, overrun, patience):
    result = simulate(workload, Lookahead(patience=patience), overrun=overrun)
    check(workload, result)
    assert (result.jobs["status"] != "rejected").all()


def test_one_object_serves_for_several_simulations():
    dispatcher = Lookahead()
    first, second = (generate("lublin:jobs=200,processors=32,load=0.9", seed=seed) for seed in (1, 2))
    before = simulate(first, dispatcher)
    simulate(second, dispatcher)
    assert_same_records(before, simulate(first, dispatcher))


class Plainly(Lookahead):
    """Show it plain sequences, the whole time or every third decision."""

    def __init__(self, every):
        super().__init__()
        self.every, self.asked = every, 0

    def dispatch(self, state):
        self.asked += 1
        if self.asked % self.every == 0:
            state = State(state.now, list(state.queue), list(state.running), state.free, state.machine)
        return super().dispatch(state)


@pytest.mark.parametrize(("every", "overrun"), each_value([3, 1], ["run", "resubmit"]))
def test_states_made_up_of_entries_are_seen_as_those_with_columns_kept(every, overrun):
    drawn = generate("lublin:jobs=300,processors=32,load=1.0", seed=5)
    jobs = (replace(job, walltime=max(1, job.walltime // 4)) if job.id.endswith("3") else job for job in drawn.jobs)
    workload = drawn.with_jobs(jobs)
    before = simulate(workload, Lookahead(patience=0.1), overrun=overrun)
    plain = Plainly(every)
    plain.options = Lookahead(patience=0.1).options
    assert_same_records(before, simulate(workload, plain, overrun=overrun))


def test_what_is_short_goes_first(machine):
    rows = [(0, 100, 100, 4), (1, 100, 100, 4), (1, 10, 10, 4)]
    assert run(rows, Lookahead(), machine).jobs["start"].tolist() == [0, 110, 100]


def test_a_blocked_job_holds_back_one_that_is_less_urgent(machine):
    # At 1 the third fits beside the first until 1001. From 10 on it would delay the second.
    rows = [(0, 10, 10, 3), (1, 10, 10, 4), (1, 1000, 1000, 1)]
    assert run(rows, Lookahead(), machine).jobs["start"].tolist() == [0, 10, 20]
    assert run(rows, Lookahead(patience=math.inf, blocked=0), machine).jobs["start"].tolist() == [0, 1001, 1]


def test_promises_end_the_wait_of_a_wide_job(machine):
    # Jobs of half the machine follow each other. It is never empty. The wide one is long and not urgent.
    stream = [(index * HOUR // 2, HOUR, HOUR, 2) for index in range(120)]
    rows = sorted([*stream, (10, 30 * HOUR, 30 * HOUR, 4)])
    wide = rows.index((10, 30 * HOUR, 30 * HOUR, 4))
    waits = {
        patience: run(rows, Lookahead(patience=patience), machine).jobs["wait"][wide] for patience in (0.9, math.inf)
    }
    assert waits[0.9] <= LEAST_DUE + HOUR
    assert waits[math.inf] > 40 * HOUR


@pytest.mark.parametrize("least_due", ["1h", 4 * HOUR])
def test_promises_are_due_as_soon_as_asked_for(least_due, machine):
    # As above. But the longest wait under EASY is unknown before the wide job has waited.
    stream = [(index * HOUR // 2, HOUR, HOUR, 2) for index in range(120)]
    rows = sorted([*stream, (10, 30 * HOUR, 30 * HOUR, 4)])
    result = run(rows, Lookahead(least_due=least_due), machine)
    due = LookaheadOptions(least_due=least_due).least_due_seconds
    assert result.jobs["wait"][rows.index((10, 30 * HOUR, 30 * HOUR, 4))] <= due + HOUR
    assert result.decisions["due_hours"].min() == due / HOUR


def test_what_is_known_of_before_counts_as_easys_longest_wait():
    class Told(Lookahead):
        told = 0

        def dispatch(self, state):
            if self._history is None and self.told:
                self.use_longest_wait(self.told)
            return super().dispatch(state)

    workload = generate("lublin:jobs=200,processors=32,load=0.9", seed=1)
    dispatcher = Told(patience=0.5)
    alone = simulate(workload, dispatcher).decisions["due_hours"]
    dispatcher.told = int(4 * HOUR * alone.max())
    assert simulate(workload, dispatcher).decisions["due_hours"].unique().tolist() == [2 * alone.max()]
    dispatcher.told = 0
    assert simulate(workload, dispatcher).decisions["due_hours"].equals(alone)


@pytest.mark.parametrize(("told", "due"), [(None, [45.0, 45.9]), (0, [12.0]), (20 * HOUR, [18.0])])
def test_how_long_jobs_ran_before_the_beginning_is_no_wait(told, due):
    """Guards against the age of a job that ran at once as the longest wait under EASY.

    Jobs that wait at the beginning count with their whole wait. An outside source of waits may replace this.
    """

    class Told(Lookahead):
        def forget(self):
            super().forget()
            if told is not None:
                self.use_longest_wait(told)

    jobs = (
        Job("long", 0, 200 * HOUR, 200 * HOUR, nodes=2),
        Job("short", 40 * HOUR, 61 * HOUR, 61 * HOUR, nodes=1),
        Job("waits", 50 * HOUR, HOUR, HOUR, nodes=2),
        *(Job(f"later {hour}", hour * HOUR, HOUR, HOUR, nodes=2) for hour in range(101, 106)),
    )
    state = MachineState(100 * HOUR, (RunningSince("long", 0), RunningSince("short", 40 * HOUR)))
    result = simulate(Workload(jobs, Machine.pool(4)), Told(), state=state)
    assert result.decisions["due_hours"].unique().tolist() == due


@pytest.mark.parametrize("most", [0, 256])
def test_on_nodes_no_job_delays_one_that_is_overdue_and_finds_no_room(most, monkeypatch):
    monkeypatch.setattr("hpcdispatch.dispatchers.lookahead.node_plan.MOST_NODES", most)
    # The sums over both nodes have room for the wide job beside a small one of each kind. No node has.
    machine = Machine(("core", "mem"), np.array([[6, 6], [6, 6]]))
    kinds = {"a": {"core": 1, "mem": 3}, "b": {"core": 3, "mem": 1}}
    jobs = [
        Job(f"{kind}{index}", after + 3 * HOUR // 2 * index, 2 * HOUR, 2 * HOUR, per_node=asked)
        for index in range(30)
        for after, (kind, asked) in zip((0, 2700), kinds.items(), strict=True)
    ]
    jobs.append(Job("wide", 10, 30 * HOUR, 30 * HOUR, nodes=2, per_node={"core": 4, "mem": 4}))
    workload = Workload(tuple(sorted(jobs, key=lambda job: job.submit)), machine)
    result = simulate(workload, Lookahead())
    check(workload, result)
    assert result.jobs.set_index("id")["wait"]["wide"] <= LEAST_DUE + 2 * HOUR


@pytest.mark.parametrize("guards", [0, 30])
def test_an_overdue_job_alone_needs_no_others(guards):
    # At 13 h the first fits and is past its due time. The second fits nowhere yet and is not planned.
    machine = Machine.homogeneous(3, core=1)
    rows = [(0, 14 * HOUR, 14 * HOUR, 1), (0, 13 * HOUR, 13 * HOUR, 2), (1, HOUR, HOUR, 2), (2, HOUR, HOUR, 3)]
    result = run(rows, Lookahead(blocked=0, guards=guards), machine)
    assert result.jobs["start"].tolist() == [0, 0, 13 * HOUR, 14 * HOUR]


class AMinute:
    """Expects every job to take a minute, and then another one."""

    def predict(self, job, now):
        return 60

    def correct(self, job, elapsed, misses):
        return elapsed + 60

    def observe(self, job):
        pass


@pytest.mark.parametrize(("trust", "start"), [(math.inf, 195), (3, 40), (1, 20)])
def test_requests_count_once_predictions_have_let_a_job_wait_too_long(trust, start, machine):
    """By predictions the machine is empty in a minute, after any start. A job of all of it comes last for ever."""
    small = [Job(f"s{i}", 5 * HOUR * i, 10 * HOUR, 10 * HOUR, nodes=2) for i in range(38)]
    wide = Job("wide", 1, HOUR, HOUR, nodes=4)
    workload = Workload((small[0], wide, *small[1:]), machine)
    told = Lookahead(trust=trust, least_due=10 * HOUR, guards=1)
    told.use_longest_wait(0)
    result = simulate(workload, told, AMinute())
    check(workload, result)
    starts = result.jobs.set_index("id")["start"]
    assert starts["wide"] == start * HOUR
    doubted = result.decisions.set_index("time")["literally"]
    assert doubted[(doubted.index > 10 * HOUR * trust + 1) & (doubted.index <= starts["wide"])].all()
    assert not doubted[(doubted.index <= 10 * HOUR * trust) | (doubted.index > starts["wide"])].any()


class Told:
    """Predicts given hours, and the walltime for other jobs."""

    def __init__(self, **hours):
        self.hours = hours

    def predict(self, job, now):
        return HOUR * self.hours[job.id] if job.id in self.hours else job.walltime

    def correct(self, job, elapsed, misses):
        return elapsed + 60

    def observe(self, job):
        pass


@pytest.mark.parametrize(
    ("trust", "starts"),
    [(math.inf, {"z": 2, "wide": 122, "x": 123, "y": 123}), (0.1, {"x": 2, "y": 3, "wide": 100, "z": 101})],
)
def test_jobs_that_delay_no_other_by_walltimes_still_go_by_predictions(trust, starts):
    """One core is free until 100 h. Three jobs fit. One of them would end later by its walltime."""
    runs = Job("runs", 0, 100 * HOUR, 100 * HOUR, 1, {"core": 3})
    wide = Job("wide", 1, HOUR, HOUR, 1, {"core": 4})
    beside = [
        Job("x", 2 * HOUR, HOUR, 50 * HOUR),
        Job("y", 2 * HOUR, 30 * HOUR, 40 * HOUR),
        Job("z", 2 * HOUR, 120 * HOUR, 150 * HOUR),
    ]
    told = Lookahead(trust=trust, least_due=10 * HOUR)
    told.use_longest_wait(0)
    result = simulate(Workload((runs, wide, *beside), Machine.pool(4)), told, Told(x=1, y=30, z=0.5))
    started = result.jobs.set_index("id")["start"] / HOUR
    assert started[list(starts)].to_dict() == starts


def test_the_report():
    workload = generate("lublin:jobs=300,processors=32,load=0.9", seed=1)
    decisions = simulate(workload, Lookahead()).decisions
    assert set(decisions["status"]) == {"none", "trivial", "feasible"}
    assert set(decisions["used"]) == {"none", "list", "search"}
    planned = decisions[decisions["status"] == "feasible"]
    assert (planned["candidates"] >= 1).all()
    assert (planned["intervals"] == planned["candidates"] + planned["running"]).all()
    assert (planned["requested"] > 0).all()
    assert (planned["guarantees"] >= 1).all()
    assert (decisions["available"] <= 32).all()
    assert (decisions["due_hours"] >= LEAST_DUE / HOUR).all()
    assert decisions["due_hours"].nunique() > 1
    assert np.isnan(decisions["objective"][decisions["status"] == "none"]).all()


def test_the_shadow_is_easys_schedule_but_for_unseen_ends():
    # A third of the jobs overrun their walltime. Ends while nothing waits are not seen: they come as a surprise later.
    drawn = generate("lublin:jobs=400,processors=32,load=0.9", seed=4)
    workload = drawn.with_jobs(
        replace(job, runtime=2 * job.runtime) if index % 3 == 0 else job for index, job in enumerate(drawn.jobs)
    )
    easy = simulate(workload, "easy").jobs["start"].to_numpy()
    dispatcher = Lookahead(guards=30)
    simulate(workload, dispatcher)
    shadow = dispatcher._history.jobs
    known = shadow.known[:400] == 1
    assert known.sum() > 380
    assert (shadow.run[:400] == workload.frame()["runtime"])[known].mean() > 0.97
    started = shadow.queue.start[:400] >= 0
    assert started.sum() > 380
    assert (shadow.queue.start[:400] == easy)[started].mean() > 0.97


def test_the_due_time_is_patience_times_easys_longest_wait():
    workload = generate("lublin:jobs=600,processors=32,load=1.1", seed=1)
    longest = simulate(workload, "easy").jobs["wait"].max() / HOUR
    due = simulate(workload, Lookahead(patience=0.5)).decisions["due_hours"]
    assert longest > 2 * LEAST_DUE / HOUR
    assert due.max() <= 0.5 * longest
    assert due.max() > LEAST_DUE / HOUR


def test_the_due_time_falls_once_a_long_wait_under_easy_is_long_ago():
    workload = generate("lublin:jobs=600,processors=32,load=1.1", seed=1)
    fallen = []
    for recent in (math.inf, "6h", "30m"):
        result = simulate(workload, Lookahead(patience=0.5, least_due="1m", recent=recent))
        due = result.decisions["due_hours"]
        fallen.append((due.cummax() - due).max() / due.max())
    assert fallen[0] < 0.2 < 0.4 < min(fallen[1:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": 0}, "patience must be a number > 0, got 0"),
        ({"patience": math.nan}, "patience must be a number > 0, got nan"),
        ({"trust": 0}, "trust must be a number > 0, got 0"),
        ({"trust": "no"}, "trust must be a number > 0, got 'no'"),
        ({"least_due": 0}, "least_due must be at least 1 s, got 0"),
        ({"least_due": "soon"}, "least_due: expected a time such as 90s, 15m, 2h, 1d12h or 2-00:00:00, got 'soon'"),
        ({"recent": 0.5}, "recent must be at least 1 s, got 0.5"),
        ({"recent": "always"}, "recent: expected a time such as 90s, 15m, 2h, 1d12h or 2-00:00:00, got 'always'"),
        ({"blocked": -1}, "blocked must be a whole number >= 0 and <= 100000, got -1"),
        ({"iterations": -1}, "iterations must be a whole number >= 0 and <= 100000, got -1"),
        ({"guards": -2}, "guards must be a whole number >= 0 and <= 100000, got -2"),
        ({"tolerance": 1.5}, "tolerance must be a number >= 0 and <= 1, got 1.5"),
        ({"placement": "worst-fit"}, "placement must be one of first-fit, best-fit, compact, got 'worst-fit'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Lookahead(**options)


def test_of_a_crowd_the_most_urgent_start_first_and_the_others_where_they_can(monkeypatch):
    monkeypatch.setattr("hpcdispatch.dispatchers.lookahead.node_plan.MOST_SEARCHED", 2)
    machine = Machine.homogeneous(4, core=1)
    rows = [(0, 1000, 1000, 4), *((1, 100 * length, 100 * length, 1) for length in (5, 1, 4, 2, 3))]
    result = run(rows, Lookahead(), machine)
    started = result.jobs.set_index("id")["start"]
    assert (started[["3", "5", "6", "4"]] == 1000).all()
    assert started["2"] == 1100


@settings(max_examples=number_of_inputs(30))
@given(workloads(), st.sampled_from([1, 3]))
def test_a_crowd_is_planned_by_the_same_rules(workload, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hpcdispatch.dispatchers.lookahead.node_plan.MOST_SEARCHED", most)
        result = simulate(workload, Lookahead())
    check(workload, result)
    assert (result.jobs["status"] != "rejected").all()
