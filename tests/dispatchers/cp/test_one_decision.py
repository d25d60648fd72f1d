"""Random decisions of each version of PCP and HCP, against all schedules."""

import numpy as np
import pytest
from oracles.one_decision import (
    OneDecision,
    Reported,
    RunningJob,
    WaitingJob,
    faults,
    paper_model,
    random_decision,
)

from hpcdispatch.dispatchers import Running, Start, State, Waiting, create_dispatcher
from hpcdispatch.dispatchers.protocol import JobView
from hpcdispatch.workloads import Job, Machine

NOW = 1000
RESOURCES = ("core", "gpu")
QUEUES = {4: "a", 10: "b"}
#: The versions of the paper as they are named here.
VERSIONS = {(name, version): f"{name}{version or ''}" for name in ("hcp", "pcp") for version in range(4)}
#: PCP'21 has the objective and the candidates of version 3.
VERSIONS["pcp", 21] = "pcp21"


def state_of(decision):
    """Return the state that a dispatcher sees in a decision."""
    machine = Machine(RESOURCES, np.array(decision.capacity))
    running = []
    for place, job in enumerate(decision.running):
        view = JobView(Job(f"r{place}", 0, 5000, 5000, len(job.nodes), _amounts(job.demand), queue="a"), machine)
        entry = Running(view, NOW - 50, np.array(job.nodes), job.demand, place)
        entry.predicted_end = NOW + job.left
        running.append(entry)
    queue = []
    for place, job in enumerate(decision.waiting):
        row = Job(
            f"q{place}",
            NOW - job.waited,
            job.duration,
            job.duration,
            job.slots,
            _amounts(job.demand),
            queue=QUEUES[job.expected_wait],
        )
        queue.append(Waiting(JobView(row, machine), job.duration, row.submit, 0, 100 + place, job.demand))
    return State(NOW, queue, running, decision.free(), machine)


def _amounts(demand):
    return {name: amount for name, amount in zip(RESOURCES, demand, strict=True) if amount}


def decide(name, decision):
    """Return what a dispatcher makes of a decision."""
    expected_waits = ";".join(f"{queue}:{wait}" for wait, queue in QUEUES.items())
    dispatcher = create_dispatcher(f"{name}:ewt={expected_waits},m={decision.m}")
    state = state_of(decision)
    dispatcher.reset(state.machine, np.random.default_rng(0))
    actions = dispatcher.dispatch(state)
    report = dispatcher.report()
    assert all(isinstance(action, Start) for action in actions)
    started = tuple((action.job.order - 100, tuple(map(int, action.placement))) for action in actions)
    shown = (report[name] for name in ("postponed", "status", "proved", "objective", "bound"))
    return Reported(started, *shown)


def wrong(formulation, version, seeds):
    """Return what is wrong with the decisions of some seeds, by seed."""
    found = {}
    for seed in seeds:
        decision = random_decision(np.random.default_rng(seed))
        model = paper_model(decision, formulation, min(version, 3))
        if model is not None:
            told = list(faults(model, decide(VERSIONS[formulation, version], decision)))
            if told:
                found[seed] = told
    return found


#: Two overrun slots. The list schedule ends after the shortened horizon. Its objective of 9.4 is not optimal.
SHORTENED = OneDecision(
    ((6, 3), (6, 1), (3, 1)),
    (RunningJob((1, 1, 2), (2, 0), -4), RunningJob((0, 1), (1, 0), 2)),
    (WaitingJob(38, 2, 2, (2, 1), 4), WaitingJob(17, 8, 1, (3, 2), 10)),
    longest_wait=10,
)


@pytest.mark.nightly
def test_a_list_schedule_past_the_horizon_is_not_optimal():
    model = paper_model(SHORTENED, "pcp", 1)
    assert model.least_cost() == pytest.approx(9.2)
    for version in (0, 1):
        assert not list(faults(model, decide(VERSIONS["pcp", version], SHORTENED)))


#: Decisions of each version, per night and per test run.
MANY, FEW = 2000, 30


@pytest.mark.parametrize(("formulation", "version"), VERSIONS)
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.nightly)])
def test_decisions_against_every_schedule(formulation, version, count):
    assert not wrong(formulation, version, range(count))
