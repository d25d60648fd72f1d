"""A copy that goes on with one job changed finds what a whole simulation of the changed workload does."""

import threading
from dataclasses import replace
from typing import ClassVar

import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import jobs, workloads

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.branching import Branch, branch, branches
from hpcdispatch.dispatchers import FCFS
from hpcdispatch.simulation import simulate
from hpcdispatch.testing import cluster, overrunning
from hpcdispatch.workloads import Job, Machine, Workload, generate


def whole(workload, change, until, *parts, **options):
    """Return what a whole simulation of the changed workload has of a job."""
    changed = [change if change is not None and job.id == change.id else job for job in workload.jobs]
    result = simulate(Workload(changed, workload.machine), *parts, **options)
    return result.jobs.set_index("id").loc[until]


def same(end, row):
    return (
        end.submit,
        end.start,
        end.end,
        end.wait,
        end.status,
        end.reason,
        end.attempts,
        end.shape,
        end.nodes,
        end.walltime,
    ) == (
        row["submit"],
        row["start"],
        row["end"],
        row["wait"],
        row["status"],
        row["reason"],
        row["attempts"],
        row["shape"],
        row["run_nodes"],
        row["run_walltime"],
    )


@st.composite
def changes(draw):
    """A workload, a job of it as another one, an instant before it and a job that is there from then on."""
    workload = draw(workloads(moldable=True).filter(len))
    place = draw(st.integers(0, len(workload) - 1))
    old = workload.jobs[place]
    new = draw(jobs(workload.machine, id=old.id, submit=old.submit, moldable=True))
    if draw(st.integers(0, 9)) == 0:
        new = replace(new, nodes=10_000, shapes=())
    at = draw(st.integers(0, old.submit))
    until = workload.jobs[draw(st.integers(place, len(workload) - 1))].id
    return workload, new, at, until


@settings(max_examples=number_of_inputs(25))
@given(
    changes(),
    st.sampled_from(["fcfs", "easy", "conservative", "sa", "sa:over=easy", "lookahead", "hybrid"]),
    st.sampled_from(["walltime", "last2"]),
    st.sampled_from(["run", "kill", "resubmit"]),
    st.sampled_from(["batch", "sequence"]),
)
def test_a_branch_is_the_whole_simulation(case, dispatcher, predictor, overrun, same_instant):
    workload, change, at, until = case
    options = {"overrun": overrun, "same_instant": same_instant}
    end = branch(workload, dispatcher, predictor, change=change, at=at, until=until, **options)
    assert same(end, whole(workload, change, until, dispatcher, predictor, **options))


@settings(max_examples=number_of_inputs(15))
@given(
    changes(),
    st.sampled_from(["fcfs", "conservative", "sa:over=easy"]),
    st.sampled_from(["run", "kill", "resubmit"]),
)
def test_the_end_of_a_job_that_is_not_stopped_is_known_when_it_starts(case, dispatcher, overrun):
    workload, change, at, until = case
    [end] = branches(workload, dispatcher, "walltime", [Branch(change, at, until)], overrun=overrun, stays=True)
    assert same(end, whole(workload, change, until, dispatcher, "walltime", overrun=overrun))


def test_a_copy_goes_no_further_than_the_start_of_a_job_that_is_not_stopped():
    workload = Workload([Job("a", 0, 500, 500), Job("later", 9, 5, 5)], Machine.pool(2))
    watched = Watched()
    branches(workload, watched, "walltime", [Branch(workload.jobs[0])], stays=True)
    assert Watched.seen == {0}


def test_a_copy_is_given_up_where_its_job_has_not_started_before():
    workload = Workload(
        [Job("a", 0, 50, 50), Job("b", 3, 5, 5), Job("c", 9, 1, 1), Job("d", 20, 1, 1)], Machine.pool(1)
    )
    change = replace(workload.jobs[1], runtime=2)
    for stays in (False, True):
        asked = [Branch(change, before=instant) for instant in (51, 50, 10, 9, 3, None)]
        found = branches(workload, "fcfs", "walltime", asked, stays=stays)
        assert [end.status for end in found] == ["completed", "completed", "waiting", "waiting", "waiting", "completed"]
        assert [(end.start, end.end) for end in found] == [(50, 52), (50, 52), (-1, 20), (-1, 9), (-1, 3), (50, 52)]


class Watched(FCFS):
    """Notes the instants of its decisions, of all its copies together."""

    seen: ClassVar[set[int]] = set()

    def dispatch(self, state):
        self.seen.add(state.now)
        return super().dispatch(state)


@pytest.mark.nightly
def test_with_every_dispatcher(registered):
    workload = cluster(16)
    asked, rows = [], []
    for place in (7, 15):
        job = workload.jobs[place]
        change = None if place == 7 else replace(job, runtime=job.runtime // 2 + 1, nodes=1)
        asked.append(Branch(change, job.submit, job.id))
        rows.append(whole(workload, change, job.id, registered, "last2", seed=3))
    found = branches(workload, registered, "last2", asked, seed=3)
    assert [end.id for end in found] == [each.until for each in asked]
    assert all(map(same, found, rows))


def test_many_jobs_are_read_in_blocks():
    workload = generate("lublin:jobs=600,processors=32,load=0.8", seed=2)
    asked = []
    for place in (3, 255, 256, 599):
        job = workload.jobs[place]
        asked += [Branch(replace(job, walltime=job.walltime * 2, runtime=9), at) for at in (0, None)]
    found = branches(workload, "easy", "walltime", asked)
    for each, end in zip(asked, found, strict=True):
        assert same(end, whole(workload, each.change, each.change.id, "easy"))


def test_the_simulation_that_is_branched_from_goes_on_as_if_nothing_was():
    workload = overrunning(60)
    last = workload.jobs[-1].id
    asked = [Branch(replace(job, runtime=1)) for job in workload.jobs] + [Branch(None, workload.jobs[-1].submit, last)]
    assert same(
        branches(workload, "conservative", "last2", asked)[-1], whole(workload, None, last, "conservative", "last2")
    )


class Locked(FCFS):
    """Cannot be copied."""

    def reset(self, machine, rng):
        self.lock = threading.Lock()


def test_what_cannot_be_copied_is_simulated_anew():
    workload = cluster(30)
    change = replace(workload.jobs[20], runtime=500)
    assert same(branch(workload, Locked(), change=change), whole(workload, change, change.id, "fcfs"))


JOBS = Workload([Job("a", 0, 5, 5), Job("b", 3, 5, 5), Job("c", 20, 5, 5), Job("wide", 20, 5, 5, 9)], Machine.pool(2))


def test_a_job_that_can_never_run():
    end = branch(JOBS, "fcfs", change=replace(JOBS.jobs[3], nodes=2))
    assert (end.status, end.start, end.turnaround) == ("completed", 25, 10)
    end = branch(JOBS, "fcfs", change=replace(JOBS.jobs[2], nodes=3))
    assert (end.status, end.start, end.turnaround) == ("rejected", -1, 0)
    assert branch(JOBS, "fcfs", change=None, at=1, until="wide").reason.startswith("asks for 9 slots")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"change": Job("d", 3, 5, 5)}, "change: expected a job of the workload, got 'd'"),
        ({"change": Job("b", 4, 5, 5)}, "change: job b: submit: expected 3, as it is, got 4"),
        ({"change": Job("b", 3, 5, 5), "at": 4}, "at: expected at most 3, when job b is submitted, got 4"),
        ({"change": Job("b", 3, 5, 5), "until": "d"}, "until: expected a job of the workload, got 'd'"),
        ({"change": None}, "branch: expected an instant and a job to end with, or a changed job, got Branch"),
        ({"change": None, "at": 9, "until": "a"}, "until: expected a job that has not left before 9, got 'a'"),
        ({"change": None, "at": 99, "until": "c"}, "at: expected an instant before the last job has left, got 99"),
    ],
)
def test_what_makes_no_sense_is_named(asked, message):
    with pytest.raises(InputError, match=message):
        branch(JOBS, "fcfs", **asked)
