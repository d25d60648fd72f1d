"""Dispatchers over others under rules of the machine: the inner one takes its room from the profile."""

import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
from ruled_workloads import ruled

from hpcdispatch.dispatchers import JobView, Running, State, WarmStart
from hpcdispatch.dispatchers.rule_book import RuleBook, rule_book
from hpcdispatch.simulation import simulate, violations
from hpcdispatch.workloads import Job, Limit, Machine, Outage, Reservation, Shape, Workload

POOL = Machine.pool(8)


def molded(seed):
    """Return a random workload under rules whose jobs have further shapes."""
    workload, g = ruled(seed), random.Random(seed)
    jobs = []
    for job in workload.jobs:
        shapes = [
            Shape(nodes, max(1, job.runtime * job.nodes // nodes), max(1, job.walltime * job.nodes // nodes))
            for nodes in range(1, 5)
            if nodes != job.nodes and g.random() < 0.6
        ]
        jobs.append(replace(job, shapes=tuple(shapes)))
    return Workload(tuple(jobs), workload.machine)


@pytest.mark.parametrize(
    "dispatcher",
    [
        "sa",
        "sa:over=easy",
        "sa:over=easy,by=range",
        "toptimal:over=conservative,backfill=speculative",
        "toptimal:over=easy,backfill=speculative",
        "soft-toptimal:over=easy",
        "warm-start:jobs=5,over=conservative",
    ],
)
def test_no_start_is_against_a_rule(dispatcher):
    for seed in range(1004, 1008):
        workload = molded(seed) if dispatcher.startswith("sa") else ruled(seed)
        made = WarmStart(jobs=5, over="conservative") if dispatcher.startswith("warm") else dispatcher
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = simulate(workload, made, ("walltime", "oracle")[seed % 2], overrun="kill")
        assert list(violations(workload, result)) == [], seed
        assert "refused" not in result.manifest
        assert (result.jobs["status"] != "waiting").all()


def test_a_size_that_a_limit_never_allows_is_not_chosen():
    job = Job("1", 0, 10, 10, 2, {"core": 1}, user="ann", shapes=(Shape(4, 5, 5),))
    machine = replace(POOL, limits=[Limit(3, of="core")])
    result = simulate(Workload([job], machine), "sa", overrun="kill")

    assert result.jobs["end"].tolist() == [10]


def test_a_state_with_other_jobs_has_the_same_rules():
    machine = replace(POOL, reservations=[Reservation(50, 60)])
    run = Running(JobView(Job("0", 0, 1, 90, 2, {"core": 1}), machine), 0, np.zeros(2, dtype=int), (1,), 0)
    run.predicted_end = 30
    state = State(0, [], [run], machine.capacity - 2, machine)
    shown = state.showing(running=[], free=machine.capacity)
    assert rule_book(shown) is rule_book(state)
    assert len(shown.running) == 0
    assert shown.free.tolist() == [[8]]


def test_a_forecast_does_not_know_later_outages():
    machine = replace(POOL, outages=[Outage(50, 60, announced=False), Outage(20, 90, announced=True)])
    book = RuleBook(machine)
    assert len(book.closures(55, 100)) == 2
    assert [closure.begin for closure in book.as_known(30).closures(55, 100)] == [20]
    # The present may go back: earlier closures are there again.
    assert book.closed(70, 100).begin.tolist() == [20]
    assert sorted(book.closed(55, 100).begin.tolist()) == [20, 50]
