"""A simulation that is cut at any instant and continued from its state gives the schedule of the uncut one."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from combinations import each_value
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Start, Stop, Wake
from hpcdispatch.predictors import LastTwo
from hpcdispatch.simulation import InvariantError, check, simulate, state_at
from hpcdispatch.testing import cluster, moldable, overrunning, pool
from hpcdispatch.workloads import EndedJob, Job, Machine, MachineState, RunningSince, Workload

#: Cycles between events, aging priorities, and users with usage.
SLURM = "slurm:bf_interval=7,bf_resolution=1,sched_interval=20,PriorityWeightAge=50,PriorityWeightFairshare=1000,"
SLURM += "PriorityMaxAge=00:05:00,PriorityCalcPeriod=1,PriorityDecayHalfLife=00:03:00"
FATES = ["start", "end", "wait", "run", "predicted", "attempts", "status", "reason"]

#: Dispatchers with reservations that stand after overrun predictions, and move otherwise.
RESERVING = ["conservative", "conservative:compress=never", "conservative:compress=once"]
RESERVING += ["rounds:batch=3", "rounds:batch=3,move=never", "rounds:move=never"]


def cut_and_joined(workload, at, *parts, **options):
    """Return the outcome of the jobs that remained at that instant: uncut, and continued from the state."""
    whole = simulate(workload, *parts, **options).jobs.set_index("id")
    rest, state = state_at(workload, *parts, at=at, **options)
    again = simulate(rest, *parts, state=state, **options)
    check(rest, again)
    found = again.jobs.set_index("id")
    places = [list(where) for where in found["placement"]]
    assert places == [list(where) for where in whole["placement"].loc[found.index]]
    return whole.loc[found.index, FATES], found[FATES]


@settings(max_examples=number_of_inputs(25))
@given(
    workloads(max_jobs=16).filter(len),
    st.floats(0, 1),
    st.sampled_from(["fcfs", "easy", "sjf", *RESERVING, SLURM, "slurm"]),
    st.sampled_from(["walltime", "last2"]),
    st.sampled_from(["run", "kill"]),
    st.sampled_from(["batch", "sequence"]),
)
def test_a_cut_changes_nothing(workload, part, dispatcher, predictor, overrun, same_instant):
    options = {"overrun": overrun, "same_instant": same_instant}
    last = int(simulate(workload, dispatcher, predictor, **options).jobs["end"].max())
    before, after = cut_and_joined(workload, int(part * last), dispatcher, predictor, **options)
    assert before.equals(after)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "rounds:batch=3", "sejf", "sa:over=conservative"])
@pytest.mark.parametrize("capacity", [[[4, 0]], [[4, 0, 0]] * 2])
def test_a_resource_of_which_there_is_none_changes_no_cut(capacity, dispatcher, exclusive):
    """Memories were saved in the form of nodes and read in that of a pool, and exclusive jobs that had left counted."""
    random = Random(3)
    nodes = len(capacity)
    jobs = [
        Job(str(number), 7 * number, random.randrange(60), 60, random.randint(1, nodes), {"core": random.randint(1, 4)})
        for number in range(14)
    ]
    if exclusive and nodes > 1:
        jobs[0] = replace(jobs[0], exclusive=True, runtime=20)
    workload = Workload(tuple(jobs), Machine(("core", "mem", "gpu")[: len(capacity[0])], np.array(capacity)))
    for at in (30, 65, 120):
        before, after = cut_and_joined(workload, at, dispatcher)
        assert before.equals(after)


@pytest.mark.parametrize("dispatcher", ["fcfs", "easy", pytest.param(SLURM, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("make", [pool, cluster, overrunning])
def test_longer_ones_neither(make, dispatcher):
    workload = make(30)
    last = int(simulate(workload, dispatcher).jobs["end"].max())
    for part in (0.4, 0.8):
        before, after = cut_and_joined(workload, int(part * last), dispatcher)
        assert before.equals(after)


@pytest.mark.parametrize(
    ("make", "dispatcher", "overrun"), each_value([pool, cluster, overrunning], RESERVING, ["run", "kill"])
)
def test_reservations_stand_where_others_have_outrun_their_predictions(make, dispatcher, overrun):
    workload = make(40)
    last = int(simulate(workload, dispatcher, "last2", overrun=overrun).jobs["end"].max())
    for part in np.linspace(0.1, 0.9, number_of_inputs(5, 3)):
        before, after = cut_and_joined(workload, int(part * last), dispatcher, "last2", overrun=overrun)
        assert before.equals(after)


def test_a_prediction_that_was_corrected_before_is_corrected_again():
    workload = overrunning()
    before, after = cut_and_joined(workload, 2_000, "easy", "heuristic")
    assert len(after) > 10
    assert before.equals(after)


def test_what_ended_later_does_not_correct_what_was_outlived_before():
    """Guards against the run time of h3, known at 450, in the correction of A at 300."""

    def core(name, submit, runs, asks, cores=1, user="a"):
        return Job(name, submit, runs, asks, per_node={"core": cores}, user=user)

    jobs = (
        core("h1", 0, 10, 1000),
        core("h2", 0, 100, 1000),
        core("h3", 150, 300, 1000),
        core("A", 200, 600, 1000, 2),
        core("wide", 460, 50, 50, 4, "w"),
        core("fill", 461, 300, 300, 2, "f"),
    )
    before, after = cut_and_joined(
        Workload(jobs, Machine.pool(4)), 455, "easy", "empirical:by=user,least=1,quantile=0.5"
    )
    assert after.loc["fill", "start"] == 461
    assert before.equals(after)


@pytest.mark.parametrize(
    ("options", "over"), each_value([",again=1,gain=0", "", ",share=0.5", ",by=range"], ["easy", "conservative"])
)
def test_moldable_jobs_keep_what_they_have_chosen(over, options):
    workload = moldable(30)
    dispatcher = f"sa:over={over}{options}"
    last = int(simulate(workload, dispatcher).jobs["end"].max())
    for part in (0.3, 0.56, 0.8):
        before, after = cut_and_joined(workload, int(part * last), dispatcher)
        assert before.equals(after)


class Listening(LastTwo):
    """Keeps the jobs that it learns from."""

    def reset(self):
        super().reset()
        self.heard = []

    def observe(self, job):
        self.heard.append((job.id, job.runtime, job.walltime, job.nodes, dict(job.per_node)))
        super().observe(job)


def learned(workload, at, dispatcher, overrun="run"):
    """Return the jobs that a predictor learned from before an instant. A continued simulation must learn the same."""
    whole, again = Listening(), Listening()
    simulate(workload, dispatcher, whole, overrun=overrun)
    rest, state = state_at(workload, dispatcher, "last2", at=at, overrun=overrun)
    simulate(rest, dispatcher, again, overrun=overrun, state=state)
    assert again.heard == whole.heard
    return whole.heard[: len(state.ended)]


#: The first overruns its walltime. It has ended when the last one arrives.
OUTRUN = Workload((Job("1", 0, 140, 100), Job("2", 0, 30, 100), Job("3", 5000, 50, 100)), Machine.pool(4))


@pytest.mark.parametrize(
    ("overrun", "runtime", "walltime"), [("run", 140, 100), ("kill", 100, 100), ("resubmit", 140, 150)]
)
def test_predictors_learn_the_same_of_what_ended_before(overrun, runtime, walltime):
    assert learned(OUTRUN, 4000, "easy", overrun)[-1][:3] == ("1", runtime, walltime)


class Pausing:
    """Stops the first job once, after a minute."""

    def reset(self, machine, rng=None):
        self.stopped = False

    def dispatch(self, state):
        starts = [Start(waiting, (0,) * waiting.nodes) for waiting in state.queue]
        if state.now == 60 and not self.stopped:
            self.stopped = True
            return [Stop("1", "checkpoint", delay=10)]
        return [*starts, Wake(60)] if state.now < 60 else starts


def test_they_learn_the_same_of_what_was_stopped_and_came_back():
    assert learned(OUTRUN, 4000, Pausing())[-1][:2] == ("1", 140)


def test_they_learn_the_same_of_what_chose_another_shape():
    workload = moldable(60)
    workload = workload.with_jobs((*workload.jobs[:20], replace(workload.jobs[20], submit=10**6, shapes=())))
    requests = {job.id: job.nodes for job in workload.jobs}
    assert any(nodes != requests[id_] for id_, _, _, nodes, _ in learned(workload, 10**6 - 1, "sa:over=easy"))


@pytest.mark.nightly
def test_slurm_needs_what_it_had_in_memory():
    workload = cluster(40)
    slurm = SLURM.replace("CalcPeriod=1,", "CalcPeriod=10,")  # each second takes long
    rest, state = state_at(workload, slurm, at=12_003)
    whole = simulate(workload, slurm).jobs.set_index("id")
    forgetful = simulate(rest, slurm, state=replace(state, memory={}, ended=())).jobs.set_index("id")
    assert not whole["start"].loc[forgetful.index].equals(forgetful["start"])


NODES = Machine.homogeneous(2, core=4)
JOBS = (
    Job("a", 0, 100, 200, nodes=1, per_node={"core": 4}),
    Job("b", 5, 100, 200, nodes=2, per_node={"core": 4}, user="ann"),
    Job("c", 60, 10, 20, nodes=1, per_node={"core": 4}),
)


def begun(*running, at=50, jobs=JOBS, **more):
    return simulate(Workload(jobs, NODES), "easy", state=MachineState(at, running, **more))


def test_jobs_keep_their_starts_and_their_ages():
    result = begun(RunningSince("a", 10, (1,)))
    assert result.jobs["start"].tolist() == [10, 110, 60]
    assert result.jobs["wait"].tolist() == [10, 105, 0]
    assert result.manifest["state"] == {"at": 50, "running": 1}
    assert result.summary()["makespan"] == 160
    # From 50 on, a has 60 s, b 100 s on both nodes, and c 10 s.
    assert result.summary()["utilization"] == pytest.approx((60 * 4 + 100 * 8 + 10 * 4) / (160 * 8))


def test_a_job_without_nodes_runs_where_there_is_room():
    long = replace(JOBS[2], submit=1, runtime=100)
    result = begun(RunningSince("a", 10), RunningSince("c", 20, (0,)), jobs=(JOBS[0], long))
    assert [list(where) for where in result.jobs["placement"]] == [[1], [0]]
    assert result.jobs["end"].tolist() == [110, 120]


def test_jobs_without_nodes_are_laid_out_so_that_all_have_room():
    # The third would take the core that the last needs, beside the first.
    asked = {"a": (3, 3), "b": (2, 4), "c": (1, 0), "d": (1, 1)}
    jobs = tuple(Job(name, 0, 100, 100, per_node={"core": core, "mem": mem}) for name, (core, mem) in asked.items())
    workload = Workload(jobs, Machine.homogeneous(2, core=4, mem=4))
    state = MachineState(50, tuple(RunningSince(name, 10) for name in asked))
    result = simulate(workload, "easy", state=state)
    check(workload, result)
    assert result.jobs["start"].tolist() == [10] * 4
    full = replace(jobs[2], id="e"), replace(jobs[2], id="f")
    more = replace(state, running=tuple(RunningSince(name, 10) for name in "abcdef"))
    with pytest.raises(InputError, match=r"state: job .: no room for 1 x"):
        simulate(replace(workload, jobs=(*jobs, *full)), "easy", state=more)


def test_what_ended_before_teaches_the_predictor():
    history = tuple(EndedJob(replace(JOBS[0], id=name, runtime=20), 0) for name in ("x", "y"))
    jobs = tuple(replace(job, user="ann") for job in JOBS)
    state = MachineState(50, (), ended=tuple(replace(each, job=replace(each.job, user="ann")) for each in history))
    assert simulate(Workload(jobs, NODES), "easy", "last2", state=state).jobs["predicted"].tolist() == [20, 20, 20]


def test_what_users_had_used_before_counts():
    jobs = [Job(name, 0, 100, 100, nodes=2, per_node={"core": 4}, user=user, group="g") for name, user in ("aA", "bB")]
    fair = "slurm:PriorityWeightFairshare=1000"
    workload = Workload(tuple(jobs), NODES)
    used = {user: (EndedJob(replace(jobs[0], id="x", user=user, runtime=400), 0),) for user in "AB"}

    def first(past, memory):
        state = MachineState(450, ended=past, memory=memory)
        return simulate(workload, fair, state=state).jobs["start"].idxmin()

    assert [first(used[user], {}) for user in "AB"] == [1, 0]
    # The real one's reports on waiting jobs come before. Usage between ticks is not charged.
    assert first(used["A"], {"Slurm": {"priorities": {jobs[0].id: 9, jobs[1].id: 5}}}) == 0
    short = (EndedJob(replace(jobs[0], id="x", user="A", runtime=200), 50),)
    assert first(short, {}) == 0


@pytest.mark.parametrize(
    ("running", "message"),
    [
        ((RunningSince("a", 0), RunningSince("a", 0)), "state: job a: id must be unique, got it 2 times"),
        ((RunningSince("a", 50),), "state: job a: start must lie before 50, got 50"),
        ((RunningSince("b", 4),), "state: job b: start must be at least 5, its submission, got 4"),
        ((RunningSince("c", 10),), "state: job c: expected a job of the workload that fits and was submitted before"),
        ((RunningSince("z", 10),), "state: job z: expected a job of the workload"),
        ((RunningSince("a", 0, (2,)),), r"state: job a: placement must lie in 0..1, got \[2\]"),
        ((RunningSince("a", 0, (0, 1)),), "state: job a: placement must be 1 node indices"),
        ((RunningSince("a", 0, (0,)), RunningSince("b", 6)), "state: job b: no room for 2 x"),
        ((RunningSince("a", 0, (0,)), RunningSince("b", 6, (0, 1))), "state: job b: no room for 2 x"),
    ],
)
def test_a_state_that_cannot_be_is_refused(running, message):
    with pytest.raises(InputError, match=message):
        begun(*running)


def test_a_job_that_has_ended_does_not_run():
    with pytest.raises(InputError, match="state: job a: expected an end at 120 or later, got 100"):
        begun(RunningSince("a", 0), at=120)


def test_a_job_that_was_stopped_before_has_no_room_in_a_state():
    again = Job("a", 0, 100, 30, nodes=1, per_node={"core": 4})
    with pytest.raises(InputError, match="at: job a was stopped before 40"):
        state_at(Workload((again,), NODES), "easy", at=40, overrun="resubmit")


def test_the_check_sees_what_does_not_run_on():
    result = begun(RunningSince("a", 10, (1,)))
    for wrong in (RunningSince("a", 11, (1,)), RunningSince("a", 10, (0,)), RunningSince("c", 10, (1,))):
        with pytest.raises(InvariantError, match=r"runs since|runs on|does not run"):
            check(Workload(JOBS, NODES), replace(result, state=MachineState(50, (wrong,))))
