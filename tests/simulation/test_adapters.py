"""Our dispatchers and predictors in AccaSim's own simulator."""

import json
import random
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from patience import PATIENCE
from stock_accasim import run_accasim

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Reject, Start, Stop, Wake
from hpcdispatch.predictors import LastTwo
from hpcdispatch.simulation import ActionError, accasim_predictor, accasim_scheduler, simulate
from hpcdispatch.simulation.accasim_compat import ResourceManager
from hpcdispatch.simulation.adapters import job_of
from hpcdispatch.workloads import Job, Machine, Workload, read, write

# isort: split
from accasim.base.resource_manager_class import Resources

SCRIPT = Path(__file__).parents[2] / "examples" / "accasim_script.py"


def schedule(text):
    """Return start, end and nodes of each job in what AccaSim writes."""
    found = {}
    for line in text.splitlines():
        job, nodes, times = line.partition(";")[0], *line.split("__")[1:]
        start, end = (seconds(moment) for moment in times.split(";")[:2])
        found[job] = start, end, [int(node.partition(";")[0]) - 1 for node in nodes.split("#")[:-1]]
    return found


def seconds(moment):
    return int(datetime.strptime(moment, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())


def ours(folder, dispatcher, predictor):
    workload = read(folder / "trace.swf", machine=Machine.homogeneous(64, core=1))
    # AccaSim's default description of a job has no executable. It mishandles jobs of 0 s. There are none.
    workload = workload.with_jobs(replace(job, name="") for job in workload.jobs)
    assert all(job.runtime > 0 for job in workload.jobs)
    jobs = simulate(workload, dispatcher, predictor).jobs
    return {row.id: (row.start, row.end, row.placement.tolist()) for row in jobs.itertuples()}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("dispatcher", "predictor"),
    [
        pytest.param("fcfs", "walltime", marks=pytest.mark.nightly),
        pytest.param("easy", "walltime", marks=pytest.mark.nightly),
        pytest.param("easy", "last2", marks=pytest.mark.nightly),
        ("conservative:compress=once", "last2"),
    ],
)
def test_the_script_gives_the_schedule_of_simulate(tmp_path, dispatcher, predictor):
    # last2 is equal only with the corrections, and compress=once only with the timers.
    command = [sys.executable, SCRIPT, dispatcher, predictor, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    found = schedule(done.stdout)
    assert len(found) == 300
    assert found == ours(tmp_path, dispatcher, predictor)


# The parts alone, in this process.


class Answers:
    """A dispatcher that returns what it is given."""

    def __init__(self, *actions):
        self.actions = actions
        self.states = []

    def dispatch(self, state):
        self.states.append(state)
        return self.actions


def event(id_="1", nodes=1, cores=1, **extra):
    fields = {"queued_time": 5, "duration": 10, "expected_duration": 20, "user_id": 7, "queue": -1}
    return SimpleNamespace(id=id_, requested_nodes=nodes, requested_resources={"core": cores}, **{**fields, **extra})


@pytest.fixture
def manager():
    return ResourceManager(Resources({"a": {"core": 2}, "b": {"core": 4, "gpu": 1}}, {"a": 2, "b": 1}))


def adapt(manager, *actions):
    scheduler = accasim_scheduler(Answers(*actions))
    scheduler.set_resource_manager(manager)
    return scheduler


def test_the_state_has_machine_queue_and_what_runs(manager):
    scheduler = adapt(manager)
    running = event("r", nodes=2, start_time=3, assigned_nodes=["node_1", "node_3"])
    manager.allocate_event(running, running.assigned_nodes)
    waiting = event("w", cores=2)
    plan, rejected = scheduler.scheduling_method(9, [waiting], {"r": running, "w": waiting})
    assert (plan, rejected) == ([(None, "w", [])], [])
    (state,) = scheduler._dispatcher.states
    assert state.machine.resources == ("core", "gpu")
    assert state.machine.capacity.tolist() == [[2, 0], [2, 0], [4, 1]]
    assert state.free.tolist() == [[1, 0], [2, 0], [3, 1]]
    assert not state.free.flags.writeable
    (run,) = state.running
    assert (run.id, run.start, run.predicted_end, run.placement.tolist(), run.demand) == ("r", 3, 23, [0, 2], (1, 0))
    (entry,) = state.queue
    assert (entry.id, entry.predicted, entry.since, entry.demand, entry.job.user) == ("w", 20, 5, (2, 0), "7")
    with pytest.raises(AttributeError, match="dispatchers see predictions only"):
        entry.job.runtime  # noqa: B018


def test_actions_become_the_plan(manager):
    events = [event("1"), event("2", nodes=2), event("3"), event("4")]
    scheduler = adapt(manager, Start("2", [0, 2]), Reject("1", "no"), Wake(40), Wake(30))
    plan, rejected = scheduler.scheduling_method(9, events, {})
    assert plan == [(9, "2", ["node_1", "node_3"]), (30, "3", []), (None, "4", [])]
    assert rejected == ["1"]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Stop("1"), "Answers at t=9: AccaSim's simulator cannot carry out Stop"),
        (Start("8", [0]), "Answers at t=9: cannot start job 8: it is not waiting"),
        (Reject("8", "no"), "cannot reject job 8: it is not waiting"),
        (Start("1", [0, 1]), "job 1: placement must be 1 nodes in 0..2, got"),
        (Start("1", [3]), "job 1: placement must be 1 nodes in 0..2, got"),
        (
            Start("1", [0], limit=3),
            "job 1: AccaSim's simulator can neither stop a job nor change its shape",
        ),
        (Start("2", [1]), r"job 2: no room for 1 x \(3, 0\) at \[1\]"),
    ],
)
def test_what_cannot_be_done_is_an_error(manager, action, message):
    scheduler = adapt(manager, action)
    with pytest.raises(ActionError, match=message):
        scheduler.scheduling_method(9, [event("1"), event("2", cores=3)], {})


def test_one_object_serves_several_simulators(tmp_path):
    # AccaSim's own schedulers keep the capacity of the machine before.
    scheduler = accasim_scheduler("easy")
    predictor = accasim_predictor("last2")
    starts = []
    for nodes in (8, 4):
        system = tmp_path / f"system{nodes}.json"
        system.write_text(json.dumps({"groups": {"node": {"core": 1}}, "resources": {"node": nodes}}))
        workload = read_small(tmp_path)
        done = run_accasim(tmp_path, system, scheduler, predictor)
        starts.append(done)
        expected = simulate(replace(workload, machine=Machine.homogeneous(nodes, core=1)), "easy", "last2").jobs
        assert done == dict(zip(expected["id"], expected["start"], strict=True))
    assert starts[0] != starts[1]


def read_small(folder):
    jobs = [Job(str(i), 10 * i, 30 + 50 * (i % 3), 60 * (1 + i % 2), nodes=1 + i % 4, user="3") for i in range(1, 31)]
    workload = Workload(tuple(jobs), Machine.homogeneous(8, core=1))
    write(workload, folder / "trace.swf")
    return workload


def test_making_a_scheduler_leaves_the_random_state_alone():
    before = random.getstate()
    accasim_scheduler("easy")
    assert random.getstate() == before


def test_a_new_simulation_starts_with_a_fresh_predictor():
    predictor = LastTwo()
    adapted = accasim_predictor(predictor)
    adapted.set_event_manager(None)
    adapted.set_event_manager(SimpleNamespace(current_time=0))
    adapted.exec_after_completion([event(user_id=7)])
    adapted.exec_after_completion([event(user_id=7)])
    jobs = {"9": event("9")}
    adapted.exec_before_dispatching(jobs, ["9"])
    assert (jobs["9"].expected_duration, jobs["9"].requested_duration) == (10, 20)
    adapted.set_event_manager(SimpleNamespace(current_time=0))
    jobs = {"9": event("9")}
    adapted.exec_before_dispatching(jobs, ["9"])
    assert jobs["9"].expected_duration == 20


def test_an_event_becomes_a_job():
    job = job_of(event("7", nodes=2, group_id=4, executable="-1", requested_duration=50))
    assert (job.id, job.submit, job.runtime, job.walltime, job.nodes) == ("7", 5, 10, 50, 2)
    assert (job.user, job.group, job.name, job.queue, job.per_node) == ("7", "4", "", "", {"core": 1})


def test_a_job_without_a_requested_time_is_an_error():
    with pytest.raises(InputError, match="job 7: walltime must be >= 1 s, got -1"):
        job_of(event("7", expected_duration=-1))
