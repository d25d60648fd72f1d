"""Dispatchers over others under rules of the machine: the inner one takes its room from the profile."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from drawn import number_of_inputs
from ruled_workloads import molded, ruled, urgent

from hpcdispatch.dispatchers import JobView, Running, Start, State, Stop, Waiting, WarmStart
from hpcdispatch.dispatchers.rule_book import RuleBook, rule_book
from hpcdispatch.simulation import simulate, violations
from hpcdispatch.workloads import Job, Limit, Machine, Outage, Reservation, Shape, Workload

POOL = Machine.pool(8)


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
        "hcp3:molds=true",
        "evict",
        "evict:policy=greedy,over=conservative",
        "evict:policy=kill,over=hcp3",
        "evict:policy=wait,over=lookahead",
    ],
)
def test_no_start_is_against_a_rule(dispatcher):
    for seed in range(1004, 1004 + number_of_inputs(4, 1)):
        kind = {"sa": molded, "hcp3": molded, "evict": urgent}.get(dispatcher.partition(":")[0], ruled)
        workload = kind(seed)
        made = WarmStart(jobs=5, over="conservative") if dispatcher.startswith("warm") else dispatcher
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = simulate(workload, made, ("walltime", "oracle")[seed % 2], overrun="kill")
        assert list(violations(workload, result)) == [], seed
        assert "refused" not in result.manifest
        assert (result.jobs["status"] != "waiting").all()


@pytest.mark.parametrize("dispatcher", ["sa", "hcp3:molds=true"])
def test_a_size_that_a_limit_never_allows_is_not_chosen(dispatcher):
    job = Job("1", 0, 10, 10, 2, {"core": 1}, user="ann", shapes=(Shape(4, 5, 5),))
    machine = replace(POOL, limits=[Limit(3, of="core")])
    result = simulate(Workload([job], machine), dispatcher, overrun="kill")

    assert result.jobs["end"].tolist() == [10]


def test_a_limit_holds_for_each_size_of_a_job():
    # The limit is above the job's own request, and below that of its shape.
    machine = replace(POOL, limits=[Limit(3, of="core")])
    job = Job("1", 0, 10, 10, 2, {"core": 1}, shapes=(Shape(4, 5, 5), Shape(3, 7, 7)))
    entry = Waiting(JobView(job, machine), 10, 0, 0, 0, (1,))
    profile = State(0, [entry], [], machine.capacity, machine).profile()
    assert profile.earliest(entry)[0] == 0
    assert profile.earliest(entry, shape=0) is None
    assert profile.earliest(entry, shape=1)[0] == 0


def evicting(machine, *jobs):
    """Return how often jobs were evicted at once for an on-demand job, submitted last, and its start."""
    result = simulate(Workload(jobs, machine), "evict:policy=kill", overrun="kill")
    assert "refused" not in result.manifest
    return int(result.jobs["attempts"].sum()) - len(jobs), int(result.jobs["start"].iloc[-1])


def batch(number, nodes, **fields):
    return Job(str(number), 0, 100, 100, nodes, {"core": 1}, **fields)


def on_demand(walltime, nodes, **fields):
    return Job("urgent", 10, walltime, walltime, nodes, {"core": 1}, kind="on-demand", **fields)


def test_no_job_is_evicted_for_one_that_may_not_start():
    assert evicting(POOL, batch(1, 8), on_demand(30, 4)) == (1, 10)
    closes = replace(POOL, reservations=[Reservation(105, 160)])
    assert evicting(closes, batch(1, 8), on_demand(95, 4)) == (1, 10)
    assert evicting(closes, batch(1, 8), on_demand(96, 4)) == (0, 160)
    licensed = replace(POOL, licences={"x": 1})
    needs = on_demand(30, 4, licences={"x": 1})
    assert evicting(licensed, batch(1, 8), needs) == (1, 10)
    assert evicting(licensed, batch(1, 7, licences={"x": 1}), batch(2, 1), needs) == (0, 100)


@pytest.mark.parametrize("closed", [0, 1])
def test_jobs_are_evicted_where_nodes_stay_open(closed):
    machine = replace(Machine.homogeneous(2, core=4), reservations=[Reservation(105, 160, nodes=[closed])])
    assert evicting(machine, batch(1, 4), batch(2, 4), on_demand(99, 4)) == (1, 10)


def test_more_jobs_are_evicted_where_a_part_closes():
    machine = replace(POOL, reservations=[Reservation(105, 160, amounts={"core": 4})])
    assert evicting(machine, batch(1, 4), batch(2, 4), on_demand(95, 4)) == (1, 10)
    assert evicting(machine, batch(1, 4), batch(2, 4), on_demand(99, 4)) == (2, 10)


def test_a_start_may_use_what_a_stop_before_it_frees():
    class Swapping:
        on_profile = True

        def dispatch(self, state):
            state.profile()
            if state.running and state.queue[0].id == "2":
                return [Stop(state.running[0]), Start(state.queue[0], state.running[0].placement)]
            return state.profile().start_now(state.queue)

    machine = replace(POOL, licences={"x": 1})
    jobs = [batch(1, 8, licences={"x": 1}), replace(batch(2, 8, licences={"x": 1}), submit=10)]
    result = simulate(Workload(jobs, machine), Swapping(), overrun="kill")
    assert result.jobs["start"].tolist() == [0, 10]
    assert list(violations(Workload(jobs, machine), result)) == []


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
