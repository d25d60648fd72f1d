"""Rules of the machine: their effects under every dispatcher. No schedule breaks one."""

import json
import random
import warnings
from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Start, orders
from hpcdispatch.dispatchers.registered import registry
from hpcdispatch.dispatchers.space import space_of
from hpcdispatch.simulation import (
    InvariantError,
    UnheededWarning,
    VainRuleWarning,
    check,
    simulate,
    state_at,
    violations,
)
from hpcdispatch.workloads import (
    Checkpoint,
    Job,
    Limit,
    Machine,
    MachineState,
    Outage,
    Power,
    Reservation,
    RunningSince,
    Workload,
)
from hpcdispatch.workloads.job import CONDITIONS

POOL = Machine.pool(4)
NODES = Machine.homogeneous(4, core=1)
#: One dispatcher per way to learn of closed nodes, and one that does not learn of them.
FAMILIES = [
    "fcfs",
    "lxf",
    "easy",
    "easy-sjbf",
    "conservative",
    "hcp3",
    "pcp3",
    "lookahead",
    "guarded",
    "rbs",
    "hybrid",
    "portfolio",
    "evict:over=easy",
    "sa",
    "warm-start:first=easy",
]


def run(jobs, machine, dispatcher="easy", **options):
    """Return the result of jobs, checked."""
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    return result


def starts(*arguments, **options):
    return run(*arguments, **options).jobs["start"].tolist()


class Greedy:
    """Starts all jobs that fit on the first nodes. Ignores the rules of the machine."""

    def dispatch(self, state):

        space, actions = space_of(state), []
        for waiting in state.queue:
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is not None:
                actions.append(Start(waiting, placement))
        return actions


@pytest.mark.parametrize("machine", [POOL, NODES])
@pytest.mark.parametrize("dispatcher", [*FAMILIES, Greedy()])
def test_no_job_runs_into_a_maintenance(machine, dispatcher):
    # The third ends before the window, the others would not.
    jobs = [Job("1", 0, 50, 100, 2), Job("2", 1, 50, 100, 4), Job("3", 2, 30, 40, 2), Job("4", 120, 20, 30, 2)]
    found = starts(jobs, replace(machine, reservations=[Reservation(60, 120)]), dispatcher)
    assert min(found[0], found[1]) == 120
    assert found[2] == (2 if dispatcher != "fcfs" else 220)


def test_easy_plans_the_first_blocked_job_beside_the_closed_nodes():
    # Job 1 needs all nodes for 100 s. Two are closed in [50, 80). It starts at 80. On the two others 2 ends before
    # that, 3 does not.
    jobs = [Job("1", 0, 100, 100, 4), Job("2", 1, 70, 70, 1), Job("3", 2, 90, 90, 1)]
    machine = replace(NODES, reservations=[Reservation(50, 80, "0-1")])
    assert starts(jobs, machine, "easy") == [80, 1, 180]
    assert starts(jobs, machine, "conservative") == [80, 1, 180]


#: They plan ahead, with the first job first.
AHEAD = [
    "easy",
    "easy-sjbf",
    "conservative",
    "lookahead",
    "lookahead:reserve_by=walltimes",
    "guarded",
    "portfolio",
    "rbs",
    "hybrid:reserve=submission",
    "toptimal",
    "soft-toptimal",
    "slurm",
    "warm-start:first=easy",
]
STEP = 600


CLOSINGS = {
    "part": Reservation(2 * STEP, 4 * STEP, "5-9"),
    "whole": Reservation(2 * STEP, 4 * STEP),
    "repeated": Reservation(2 * STEP, 4 * STEP, "5-9", every=40 * STEP),
    "amounts": Reservation(2 * STEP, 4 * STEP, amounts={"core": 5}),
    "amounts of nodes": Reservation(2 * STEP, 4 * STEP, "5-9", amounts={"core": 1}),
    "outage": Outage(2 * STEP, 4 * STEP, "5-9"),
}


@pytest.mark.parametrize("closing", CLOSINGS)
@pytest.mark.parametrize("dispatcher", AHEAD)
def test_a_job_planned_behind_closed_nodes_is_not_delayed(dispatcher, closing):
    # When 1 ends 2 would fit, but for what closes: it starts when that opens. So 4 has to wait, but 3 and 5 do not.
    jobs = [
        Job("1", 0, STEP, STEP, 5),
        Job("2", 60, 3 * STEP, 3 * STEP, 8),
        Job("3", 120, STEP, STEP, 2),
        Job("4", 180, 8 * STEP, 8 * STEP, 5),
        Job("5", 240, STEP // 2, STEP // 2, 2),
    ]
    machine = Machine.pool(10) if closing == "amounts" else Machine.homogeneous(10, core=1)
    rule = CLOSINGS[closing]
    rules = {"outages": [rule]} if closing == "outage" else {"reservations": [rule]}
    first, second, third, fourth, fifth = starts(jobs, replace(machine, **rules), dispatcher)
    assert (first, second, fourth) == (0, 4 * STEP, 7 * STEP)
    assert max(third - 120, fifth - 240) <= (60 if dispatcher == "slurm" else 0)


@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "rbs", "rounds", "toptimal"])
def test_a_floating_reservation_does_not_stand_in_the_profile(dispatcher):
    jobs = [Job(str(place), place, 100, 100, 4) for place in range(3)]
    machine = replace(POOL, reservations=[Reservation(100, 200, floating=True)])
    assert starts(jobs, machine, dispatcher) == [0, 100, 200]


@pytest.mark.parametrize("dispatcher", [*AHEAD, "fcfs", "sejf", "hcp3", "rounds"])
@pytest.mark.parametrize("pool", [True, False])
def test_jobs_in_a_reservation_take_nothing_beside_it(dispatcher, pool):
    jobs = [Job("in", 0, 500, 500, 4, reservation="r"), Job("1", 0, 100, 100, 6), Job("2", 10, 200, 200, 6)]
    machine = Machine.pool(10) if pool else Machine.homogeneous(10, core=1)
    where = {"amounts": {"core": 4}} if pool else {"nodes": "0-3"}
    found = starts(jobs, replace(machine, reservations=[Reservation(0, 1000, name="r", **where)]), dispatcher)
    assert found[0] == 0
    assert max(found[1], found[2] - 100) <= (1 if dispatcher != "slurm" else 30)


@pytest.mark.parametrize(
    ("options", "expected"),
    [("", [60, 160]), (":strict=no", [200, 0]), (":depth=0", [60, 160]), (":depth=all", [60, 160])],
)
def test_easys_options_hold_beside_closed_amounts(options, expected):
    # Job 1 needs all from 60 on. Job 2 would delay it. Without a reservation it may.
    jobs = [Job("1", 0, 100, 100, 4), Job("2", 0, 200, 200, 2)]
    machine = replace(POOL, reservations=[Reservation(50, 60, amounts={"core": 2})])
    assert starts(jobs, machine, f"easy{options}") == expected


def test_a_job_that_names_a_reservation_runs_in_it_and_no_other_does():
    jobs = [
        Job("1", 0, 10, 10, 2, user="a", reservation="class"),
        Job("2", 0, 10, 60, 4, user="a"),
        Job("3", 5, 30, 30, 2, user="a", reservation="class"),
        Job("4", 6, 5, 5, 1, user="b", reservation="class"),
        Job("5", 6, 5, 60, 1, user="b", reservation="class"),
        Job("6", 6, 5, 5, 1, user="a", reservation="other"),
    ]
    machine = replace(NODES, reservations=[Reservation(50, 100, "2-3", name="class", users=("a",))])
    for dispatcher in FAMILIES:
        result = run(jobs, machine, dispatcher)
        assert result.jobs["start"].tolist() == [50, 100, 60, -1, -1, -1]
        assert {tuple(placement) for placement in result.attempts["placement"][:2]} == {(2, 3)}
        assert result.jobs["reason"].tolist()[3:] == [
            "reservation class is not for user 'b'",
            "reservation class is not for user 'b'",
            "unknown reservation 'other'; the machine has: class",
        ]


def test_one_user_of_a_reservation_may_be_a_text():
    jobs = [Job("1", 0, 10, 10, user="al", reservation="r"), Job("2", 0, 10, 10, user="a", reservation="r")]
    result = run(jobs, replace(NODES, reservations=[Reservation(5, 50, name="r", users="al")]))
    assert result.jobs["start"].tolist() == [5, -1]


def test_a_reservation_of_amounts_leaves_the_rest():
    jobs = [Job("1", 0, 100, 100, 3), Job("2", 1, 100, 100, 1), Job("3", 2, 10, 10, 2, reservation="r")]
    machine = replace(Machine.pool(4), reservations=[Reservation(40, 60, name="r", amounts={"core": 2})])
    assert starts(jobs, machine, "easy") == [60, 1, 40]
    assert starts(jobs, machine, "hcp3") == [60, 1, 40]


def test_jobs_in_a_reservation_share_its_amounts():
    jobs = [Job(str(i), 0, 10, 10, 1, reservation="r") for i in range(4)]
    machine = replace(Machine.pool(8), reservations=[Reservation(40, 90, name="r", amounts={"core": 2})])
    assert sorted(starts(jobs, machine)) == [40, 40, 50, 50]


@pytest.mark.parametrize("dispatcher", ["fcfs", "easy", "lookahead"])
def test_amounts_that_are_free_before_a_reservation_begins_count(dispatcher):
    # Job 1 ends before six of eight cores are reserved. Job 2 runs on the two that are left.
    jobs = [Job("1", 0, 50, 50, 4), Job("2", 0, 200, 200, 2), Job("3", 0, 200, 200, 1)]
    machine = replace(Machine.pool(8), reservations=[Reservation(100, 150, amounts={"core": 6})])
    assert starts(jobs, machine, dispatcher) == [0, 0, 150]


def test_a_job_that_asks_for_more_licences_than_there_are_is_rejected():
    machine = replace(NODES, licences={"x": 1}, reservations=[Reservation(0, 90, name="r", every=100)])
    jobs = [Job("1", 0, 5, 5, licences={"x": 2}, reservation="r"), Job("2", 0, 5, 5, licences={"x": 2})]
    with pytest.warns(VainRuleWarning, match="licences x 1: rejects all jobs under it"):
        result = run(jobs, machine)
    assert result.jobs["reason"].tolist() == ["constraint licences: takes 2 of x, there are 1"] * 2


def test_a_reservation_that_repeats_and_one_that_floats():
    jobs = [Job("1", 0, 30, 30, 4), Job("2", 0, 60, 60, 4), Job("3", 0, 90, 90, 4)]
    result = run(jobs, replace(NODES, reservations=[Reservation(10, 20, every=80)]))
    assert result.jobs["start"].tolist() == [20, 100, -1]
    assert result.jobs["reason"].iloc[2] == "constraint maintenance: leaves it no place ever"
    floating = replace(NODES, reservations=[Reservation(50, 51, "0-2", floating=True)])
    assert starts([Job("1", 0, 50, 50, 4), Job("2", 0, 60, 60, 1)], floating) == [0, 50]


@pytest.mark.parametrize("dispatcher", FAMILIES)
def test_an_outage_ends_what_runs_there(dispatcher):
    jobs = [Job("1", 0, 90, 100, 2), Job("2", 0, 90, 100, 2), Job("3", 20, 5, 5, 4)]
    for announced in (True, False):
        machine = replace(NODES, outages=[Outage(30, 60, [0], announced=announced)])
        result = run(jobs, machine, dispatcher)
        by_id = result.jobs.set_index("id")
        if not announced:
            assert by_id.loc["1", ["status", "end", "reason"]].tolist() == ["killed", 30, "node 0 failed"]
            assert result.attempts["outcome"].iloc[0] == "node-fail"
        assert by_id["status"]["2"] == "completed"
        assert by_id["start"]["3"] >= 60


def test_a_job_of_a_failed_node_comes_back_from_its_checkpoint():
    jobs = [Job("1", 0, 100, 200, 1, checkpoint=Checkpoint(interval=20))]
    machine = replace(NODES, outages=[Outage(50, 55, "0", announced=False, requeue=True)])
    result = run(jobs, machine)
    assert result.attempts[["start", "end", "outcome", "useful"]].to_numpy().tolist() == [
        [0, 50, "node-fail", 40],
        [50, 110, "completed", 60],
    ]


def test_a_state_has_its_outages_behind_it():
    machine = replace(NODES, outages=[Outage(10, 20, "0"), Outage(120, 130, "1", announced=False)])
    workload = Workload((Job("1", 0, 500, 600, 1), Job("2", 0, 500, 600, 1), Job("3", 115, 9, 9, 1)), machine)
    state = MachineState(100, (RunningSince("1", 5, (0,)), RunningSince("2", 50, (1,))))
    result = simulate(workload, "fcfs", state=state)
    check(workload, result)
    assert result.jobs[["end", "status"]].to_numpy().tolist() == [
        [505, "completed"],
        [120, "killed"],
        [124, "completed"],
    ]


def test_no_dispatcher_knows_of_an_outage_that_is_not_announced():
    seen = []

    class Looks(Greedy):
        def dispatch(self, state):
            seen.append(state.machine.outages)
            return super().dispatch(state)

    run([Job("1", 0, 10, 10, 1)], replace(NODES, outages=[Outage(5, 9, announced=False)]), Looks())
    assert set(seen) == {()}


@pytest.mark.parametrize("dispatcher", FAMILIES)
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"limits": [Limit(1)]}, [0, 10, 0]),
        ({"limits": [Limit(2, of="core", by="all")]}, [0, 0, 10]),
        ({"licences": {"abaqus": 1}}, [0, 10, 0]),
        ({"power": Power({"core": 100}, idle=50, cap=300)}, [0, 0, 10]),
    ],
)
def test_what_runs_at_the_same_time(dispatcher, rules, expected):
    jobs = [
        Job(str(i), 0, 10 * i, 10 * i, 1, user="aab"[i - 1], licences={"abaqus": 1} if i < 3 else {}) for i in (1, 2, 3)
    ]
    if dispatcher == "rbs":  # It reserves the largest first.
        expected = [20, 0, 0]
    assert starts(jobs, replace(NODES, **{"licences": {"abaqus": 9}, **rules}), dispatcher) == expected


@pytest.mark.parametrize(
    ("dispatcher", "expected"),
    [("fcfs", [0, 30, 50]), ("sjf", [30, 10, 0]), ("lxf", [0, 40, 30]), ("ljf", [0, 30, 50])],
)
def test_a_limit_of_all_is_given_in_the_order_of_the_dispatcher(dispatcher, expected):
    """The same as on a machine for one job. But here nodes are free."""
    jobs = [Job(str(i), 0, length, length, 1) for i, length in ((1, 30), (2, 20), (3, 10))]
    assert starts(jobs, replace(NODES, limits=[Limit(1, by="all")]), dispatcher) == expected


def test_backfilling_under_a_power_cap_waits_for_the_first_job():
    """Job 2 needs all of the power. A short job passes it. A long one does not, as with cores."""
    cores = replace(NODES, power=Power({"core": 100}, idle=0, cap=400))
    jobs = [
        Job("1", 0, 50, 50, 3),
        Job("2", 1, 50, 50, 4),
        Job("3", 2, 48, 48, 1),
        Job("4", 3, 90, 90, 1),
    ]
    for dispatcher in ("easy", "lookahead", "conservative"):
        assert starts(jobs, cores, dispatcher) == [0, 50, 2, 100], dispatcher


def test_a_licence_is_kept_for_the_first_that_waits_for_it():
    # Job 2 needs both licences at 50. Job 3 would hold one until 90. Job 4 ends before 50.
    jobs = [
        Job(str(i), i, length, length, 1, licences={"x": n})
        for i, length, n in ((1, 49, 1), (2, 10, 2), (3, 87, 1), (4, 40, 1))
    ]
    assert starts(jobs, replace(NODES, licences={"x": 2})) == [1, 50, 60, 4]


def test_a_start_that_breaks_a_rule_is_put_elsewhere_or_counted_as_refused():
    machine = replace(NODES, reservations=[Reservation(50, 80, "0-1")])
    result = run([Job("1", 0, 60, 60, 2), Job("2", 0, 60, 60, 1)], machine, Greedy())
    assert result.jobs["start"].tolist() == [0, 60]
    assert sorted(result.attempts["placement"].iloc[0]) == [2, 3]
    assert result.manifest["refused"] > 0


def test_a_soft_walltime_is_planned_with_and_does_not_kill():
    # By its soft walltime 1 ends at 10, by its walltime at 90. Job 3 is backfilled if it ends before the start of 2.
    jobs = [Job("1", 0, 50, 90, 3, soft_walltime=10), Job("2", 1, 10, 10, 4), Job("3", 2, 30, 30, 1)]
    assert starts(jobs, POOL, "easy") == [0, 50, 60]
    assert starts([replace(jobs[0], soft_walltime=None), *jobs[1:]], POOL, "easy") == [0, 50, 2]
    assert run(jobs, POOL, "easy", overrun="kill").jobs["status"].tolist() == ["completed"] * 3


@pytest.mark.parametrize("dispatcher", FAMILIES)
def test_an_exclusive_job_has_its_nodes_alone(dispatcher):
    machine = Machine.homogeneous(3, core=4)
    jobs = [Job("1", 0, 10, 10, 1), Job("2", 0, 10, 10, 2, exclusive=True), Job("3", 0, 10, 10, 5)]
    result = run(jobs, machine, dispatcher)
    start = result.jobs["start"].tolist()
    assert start[1] != start[2]
    assert start[0] == 0
    assert run([Job("1", 0, 1, 1, 4, exclusive=True)], machine).jobs["status"].tolist() == ["rejected"]
    shared = [Job("1", 0, 10, 10, 1), Job("2", 0, 10, 10, 2)]
    result = run(shared, machine, dispatcher)
    alone = Workload((shared[0], replace(shared[1], exclusive=True)), machine)
    with pytest.raises(InvariantError, match="job 1 on nodes of job 2, which is exclusive, at t=0"):
        check(alone, result)


@pytest.mark.parametrize("dispatcher", FAMILIES)
def test_jobs_fill_a_reservation_beside_others(dispatcher):
    # Job 1 has four of eight cores. The others need all four that are reserved.
    jobs = [Job("1", 0, 90, 90, 4), Job("2", 0, 20, 20, 2, reservation="r"), Job("3", 0, 20, 20, 2, reservation="r")]
    machine = replace(Machine.pool(8), reservations=[Reservation(50, 80, name="r", amounts={"core": 4})])
    assert starts(jobs, machine, dispatcher) == [0, 50, 50]


@pytest.mark.parametrize("dispatcher", FAMILIES)
def test_an_exclusive_job_keeps_off_reserved_amounts(dispatcher):
    # Job 1 would have node 0 alone when its reserved cores are needed. Jobs 2 and 3 share these.
    jobs = [
        Job("1", 0, 100, 100, 1, exclusive=True),
        Job("2", 0, 20, 20, 1, {"core": 2}, reservation="r"),
        Job("3", 0, 20, 20, 2, reservation="r"),
        Job("4", 0, 90, 90, 4),
    ]
    machine = replace(Machine.homogeneous(1, core=8), capacity=np.array([[8], [1]]))
    reserved = Reservation(50, 80, [0], "r", {"core": 4})
    found = starts(jobs, replace(machine, reservations=[reserved]), dispatcher)
    assert found[1:3] == [50, 50]
    assert starts([replace(jobs[0], nodes=2)], replace(machine, reservations=[reserved]), dispatcher) == [80]


@pytest.mark.parametrize("dispatcher", ["fcfs", "easy", "conservative"])
def test_a_simulation_goes_on_from_a_state_with_exclusive_jobs(dispatcher):
    jobs = [
        Job("1", 0, 100, 100, 1),
        Job("2", 0, 100, 100, 2, exclusive=True),
        Job("3", 1, 100, 100, 5),
        Job("4", 2, 50, 50, 1),
    ]
    workload = Workload(tuple(jobs), Machine.homogeneous(3, core=4))
    whole = simulate(workload, dispatcher).jobs.set_index("id")["start"]
    for at in (50, 120):
        left, state = state_at(workload, dispatcher, at=at)
        result = simulate(left, dispatcher, state=state)
        check(left, result)
        starts = result.jobs.set_index("id")["start"]
        assert starts.to_dict() == whole[starts.index].to_dict()


def test_energy_is_what_jobs_and_the_idle_machine_draw():
    jobs = [Job("1", 0, 3600, 3600, 2), Job("2", 0, 1800, 3600, 1)]
    result = run(jobs, replace(NODES, power=Power({"core": 100}, idle=50)))
    assert sorted(result.attempts["watts"]) == [100, 200]
    assert result.summary()["energy_kwh"] == pytest.approx((200 + 50 + 50) / 1000)
    assert "energy_kwh" not in run(jobs, NODES).summary()


def test_fields_that_have_no_effect_are_said_once():
    with pytest.warns(UnheededWarning, match="exclusive jobs share a machine of one node"):
        result = simulate(Workload((Job("1", 0, 1, 1, exclusive=True),), POOL), "easy")
    assert result.manifest["unheeded"] == ["exclusive"]
    with pytest.warns(UnheededWarning, match="jobs name licences, and the machine has no number of any"):
        result = simulate(Workload((Job("1", 0, 1, 1, licences={"x": 1}),), POOL), "easy")
    assert result.manifest["unheeded"] == ["licences"]


MISTAKES = [
    ({"reservations": [Reservation(5, 9, [4])]}, r"reservation: nodes must lie in 0\.\.3, got 4"),
    ({"reservations": [Reservation(5, 9, name="a", amounts={"core": 2})]}, "asks for 2 of core on node 0, which has 1"),
    ({"reservations": [Reservation(5, 9, amounts={"gpu": 1})]}, "reservation: unknown resource 'gpu'; .* has: core"),
    ({"reservations": [Reservation(0, 9, every=9)]}, "reservation of 0..9: leaves no node to other jobs at any time"),
    (
        {"reservations": [Reservation(0, 9, "0-1", every=9), Reservation(4, 9, "2-3", every=5)]},
        "0..9 and of 4..9: leaves no",
    ),
    ({"reservations": [Reservation(0, 9, amounts={"core": 1}, every=9)]}, "leaves no node to other jobs at any time"),
    (
        {
            "reservations": [
                Reservation(0, 9, name="a", amounts={"core": 1}),
                Reservation(5, 12, "1", amounts={"core": 1}),
            ]
        },
        "reservations a and of 5..12 overlap on node 1",
    ),
    ({"reservations": [Reservation(5, 9, name="a"), Reservation(8, 12, "3", name="b")]}, "a and b overlap on node 3"),
    ({"reservations": [Reservation(0, 9, name="a", every=20), Reservation(48, 50, name="b", every=50)]}, "overlap on"),
    ({"reservations": [Reservation(5, 9, name="a"), Reservation(9, 12, name="a")]}, "must have names that differ"),
    ({"reservations": [Reservation(0, 9, floating=True)]}, "of 0..9: leaves no node to other jobs at any time"),
    (
        {"reservations": [Reservation(0, 9, every=18), Reservation(4, 9, "2", every=7), Reservation(9, 18, every=18)]},
        "0..9 and of .* leaves no",
    ),
    (
        {"reservations": [Reservation(0, 9, "0", floating=True), Reservation(90, 99, "1-3", every=9)]},
        "reservation of 0..9 and of 90..99: leaves no",
    ),
    ({"outages": [Outage(5, 9, "0-4")]}, r"outage: nodes must lie in 0\.\.3, got 4"),
    ({"limits": [Limit(9, of="gpu")]}, "limit: of 'gpu': unknown resource 'gpu'; the machine has: core"),
    ({"power": Power({"gpu": 1}, cap=9)}, "power: watts: unknown resource 'gpu'; the machine has: core"),
    ({"licences": {"x": -1}}, "machine: licences: x must be a whole number >= 0, got -1"),
    ({"limits": [5]}, r"machine: limits must be of Limit, got \(5,\)"),
    ({"limits": Limit(5)}, r"machine: limits must be a list or tuple, got Limit"),
    ({"outages": None}, r"machine: outages must be a list or tuple, got None"),
    ({"power": 5}, "machine: power must be of Power, got 5"),
    ({"licences": "x"}, "machine: licences must be whole numbers by name, got 'x'"),
]


@pytest.mark.parametrize(("rules", "message"), MISTAKES)
def test_a_rule_that_does_not_fit_the_machine_is_refused(rules, message):
    with pytest.raises(ValueError, match=message):
        replace(NODES, **rules)


def part(begin, end, cores, name="", nodes="all", every=None):
    """Return a reservation of cores."""
    return Reservation(begin, end, nodes, name, {"core": cores}, every=every)


#: On two nodes of four cores: rules, and the reservations that overlap with their node. None fit.
OVERLAPS = [
    ([part(5, 9, 2, "a"), part(5, 9, 1, "b"), part(5, 9, 2, "c")], "a and b and c overlap on node 0"),
    ([part(0, 6, 2, "a"), part(5, 9, 2, "b"), part(8, 12, 2, "c")], None),
    ([part(0, 6, 2, "a"), part(4, 9, 2, "b"), part(5, 12, 1, "c", "1")], "a and b and c overlap on node 1"),
    ([part(0, 6, 3), part(5, 9, 2)], "of 0..6 and of 5..9 overlap on node 0"),
    ([part(0, 6, 2), part(5, 9, 2), part(3, 8, 1, "c")], "of 0..6 and of 5..9 and c overlap on node 0"),
    ([part(0, 6, 3, "a", every=10), part(63, 67, 2, "b")], "a and b overlap on node 0"),
    ([part(0, 6, 3, "a", every=10), part(66, 70, 2, "b")], None),
    ([part(0, 2, 2, "a", every=6), part(3, 5, 2, "b", every=10), part(46, 53, 1, "c")], None),
    ([part(0, 2, 2, "a", every=6), part(3, 5, 2, "b", every=10), part(50, 60, 1, "c")], "a and b and c overlap"),
    ([part(0, 2, 2, "a", every=6), part(3, 5, 2, "b", every=10), part(1, 2, 1, "c", every=15)], None),
    ([part(0, 2, 2, "a", every=6), part(3, 5, 2, "b", every=10), part(9, 10, 1, "c", every=15)], "a and b and c over"),
    ([Reservation(0, 9), Reservation(5, 12, "1"), Reservation(0, 3, every=7)], None),
    ([Reservation(0, 9), part(5, 12, 1, nodes="1")], None),
    ([Reservation(0, 9), part(5, 12, 1, "a", "1")], "of 0..9 and a overlap on node 1"),
    ([Reservation(0, 9, name="a"), Reservation(0, 3, "1", every=7)], "a and of 0..3 overlap on node 1"),
    ([Reservation(5, 9, name="a"), Reservation(1, 9, floating=True)], None),
    ([Reservation(5, 9, "0", "a"), Reservation(5, 9, "1", "b"), part(9, 12, 4, "c")], None),
    # More windows than are enumerated. Two overlap if a multiple of their periods' divisor lies between their begins.
    ([part(0, 6, 3, "a", every=200_003), part(100_000, 100_009, 2, "b", every=200_017)], "a and b overlap on node 0"),
    ([part(0, 1, 3, "a", every=200_002), part(100_001, 100_002, 2, "b", every=200_006)], None),
    ([part(0, 2, 3, "a", every=200_002), part(100_001, 100_002, 2, "b", every=200_006)], "a and b overlap on node 0"),
    ([part(0, 1, 3, "a", every=200_002), part(99_999, 100_001, 2, "b", every=200_006)], "a and b overlap on node 0"),
    ([part(3, 6, 3, "a", every=7), part(10**8, 10**8 + 2, 2, "b")], "a and b overlap on node 0"),
    ([part(3, 5, 3, "a", every=7), part(10**8, 10**8 + 1, 2, "b")], None),
    ([part(0, 6, 2, "a", every=200_003), part(9, 99, 1, "b", every=200_017), part(5, 9, 1, "c", every=200_023)], None),
]


@pytest.mark.parametrize(("reserved", "message"), OVERLAPS)
def test_reservations_that_overlap_fit_together(reserved, message):
    machine = Machine.homogeneous(2, core=4)
    down = [Outage(0, 20), Outage(3, 9, announced=False)]
    for given in (reserved, reserved[::-1]):
        if message is None:
            replace(machine, reservations=given, outages=down)
        else:
            with pytest.raises(ValueError, match="overlap on node"):
                replace(machine, reservations=given)
    if message is not None:
        with pytest.raises(ValueError, match=f"reservations {message}"):
            replace(machine, reservations=reserved)


def test_reservations_whose_overlaps_are_unknown_are_refused():
    reserved = [
        part(0, 6, 2, "a", every=200_003),
        part(9000, 9009, 2, "b", every=200_017),
        part(99, 103, 1, "c", every=200_023),
    ]
    for given in (reserved, reserved[::-1]):
        with pytest.raises(ValueError, match=r"reservations . and . and .: expected periods that repeat together in"):
            replace(Machine.homogeneous(2, core=4), reservations=given)


def test_two_reservations_overlap_where_their_windows_do(monkeypatch):
    # The test by divisors against the enumerated windows.
    g, refused = random.Random(1), 0
    for _ in range(300):
        given = []
        for name in "ab":
            begin = g.randint(0, 40)
            length = g.randint(1, 4)
            given.append(part(begin, begin + length, 3, name, every=g.choice([None, length + g.randint(0, 20)])))
        found = []
        for most in (100_000, 1):
            monkeypatch.setattr("hpcdispatch.workloads.machine_rules._WINDOWS", most)
            monkeypatch.setattr("hpcdispatch.workloads.machine_rules._SOME", 1)
            try:
                replace(Machine.homogeneous(2, core=4), reservations=given)
                found.append(True)
            except ValueError:
                found.append(False)
        assert found[0] == found[1], given
        refused += not found[0]
    assert 50 < refused < 250


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Reservation(5, 5), "reservation: end must be > begin = 5, got 5"),
        (lambda: Reservation(5, 9, "a"), "nodes must be all, or indices and ranges such as 0-15;20, got 'a'"),
        (lambda: Reservation(5, 9, every=3), "every must be a whole number >= 4 and <= .*, got 3"),
        (lambda: Reservation(5, 9, name="x", floating=True), "reservation x: a floating one has no name"),
        (lambda: Limit(-1), "limit: most must be a whole number >= 0, got -1"),
        (lambda: Limit(1, by="rack"), "limit: by must be one of user, group, queue, all, got 'rack'"),
        (lambda: Power({}), "power: watts must be watts by resource"),
        (lambda: Power({"core": 1}, idle=9, cap=9), "power: cap must be > idle = 9 watts and finite, got 9"),
        (lambda: Job("1", 0, 1, 9, soft_walltime=10), "job 1: soft_walltime must be a whole number"),
        (lambda: Reservation(5, 9, name=3), "reservation 3: name must be a text, got 3"),
        (lambda: Reservation(5, 9, users="a"), r"reservation: users \('a',\) need its name for their jobs"),
        (lambda: Reservation(5, 9, users=3), "reservation: users must be a list or tuple, got 3"),
        (lambda: Reservation(5, 9, name="r", users=["a", 3]), "reservation r: users must be a text, got 3"),
        (lambda: Limit(1, among=3), "limit: among must be a list or tuple, got 3"),
        (lambda: Limit(1, among=[3]), "limit: among must be users, groups, queues and QOS, got"),
        (lambda: Limit(1, user=3), "limit: user must be a text, got 3"),
        (lambda: Power({"core": 1}, cap="9"), "power: cap must be a number >= 0, got '9'"),
        (lambda: Job("1", 0, 1, 9, licences="x"), "job 1: licences must be whole numbers by name, got 'x'"),
        (lambda: Job("1", 0, 1, 9, array=3), "job 1: array must be a text, got 3"),
        (lambda: Job("1", 0, 1, 9, reservation=None), "job 1: reservation must be a text, got None"),
        (lambda: Job("1", 0, 1, 9, shapes=3), "job 1: shapes must be a sequence of Shape, got 3"),
        (lambda: Job("1", 0, 1, 9, licences={"x": -1}), "job 1: licences: x must be a whole number >= 0, got -1"),
    ],
)
def test_a_field_out_of_its_range_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_machine_file_has_the_rules(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(
        json.dumps(
            {
                "groups": {"thin": {"core": 4}},
                "resources": {"thin": 3},
                "licences": {"abaqus": 2},
                "reservations": [{"begin": 5, "end": 9, "nodes": "0-1", "name": "class", "users": ["a"]}],
                "outages": [{"begin": 1, "end": 2, "announced": False}],
                "limits": [{"most": 3}],
                "power": {"watts": {"core": 10}, "cap": 90},
            }
        ),
        encoding="utf-8",
    )
    rules = Machine.from_file(path).rules
    assert rules.reservation("class") == Reservation(5, 9, [0, 1], "class", users=("a",))
    assert (rules.outages, rules.limits) == ((Outage(1, 2, announced=False),), (Limit(3),))
    assert (rules.licences, rules.power) == ({"abaqus": 2}, Power({"core": 10}, cap=90))
    data = json.loads(path.read_text(encoding="utf-8"))
    wrong = [
        ("reservations", {"begin": 1}, "field 'reservations': expected a list of objects"),
        ("reservations", [{"begin": 1}], "field 'reservations': expected field 'end', got none"),
        ("limits", [{"most": 1, "per": "x"}], "field 'limits': unknown field 'per'; known: most, of, by"),
        ("power", 5, "field 'power': expected an object with watts, idle, cap, every, got 5"),
    ]
    for name, value, message in wrong:
        path.write_text(json.dumps({**data, name: value}), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            Machine.from_file(path)


def drawn(seed):
    """Return a random workload on a machine with random rules."""
    g = random.Random(seed)
    kind = g.choice(["pool", "nodes", "mixed"])
    machine = {
        "pool": Machine.pool(8),
        "nodes": Machine.homogeneous(6, core=2),
        "mixed": Machine(("core", "gpu"), np.array([[4, 0], [4, 2], [2, 0], [2, 1]])),
    }[kind]
    reserved = []
    for number in range(g.randint(0, 2)):
        begin = g.randint(0, 200)
        length = g.randint(5, 80)
        nodes = "all" if kind == "pool" or g.random() < 0.4 else [g.randrange(machine.nodes) for _ in range(2)]
        amounts = None if g.random() < 0.6 else {"core": 1 if kind != "pool" else g.randint(1, 6)}
        every = g.choice([None, length + g.randint(20, 200)])
        name = g.choice(["", f"r{number}"])
        users = g.choice([(), ("u1",)]) if name else ()
        one = Reservation(begin, begin + length, nodes, name, amounts, users, every)
        if g.random() < 0.15:
            one = Reservation(begin, begin + length, nodes, floating=True)
        try:
            replace(machine, reservations=(*reserved, one))
            reserved.append(one)
        except ValueError:  # They overlap.
            pass
    outages = [
        Outage(
            begin,
            begin + g.randint(1, 60),
            "all" if g.random() < 0.3 else [g.randrange(machine.nodes)],
            g.random() < 0.5,
            g.random() < 0.5,
        )
        for begin in (g.randint(0, 200) for _ in range(g.randint(0, 2)))
    ]
    limits = [Limit(g.randint(1, 3), by=g.choice(["user", "group", "queue", "all"]))] if g.random() < 0.4 else []
    limits += [Limit(g.randint(2, 8), of="core")] if g.random() < 0.2 else []
    licences = {"x": g.randint(1, 3)} if g.random() < 0.4 else {}
    power = Power({"core": 10.5}, idle=3, cap=g.choice([50, 100])) if g.random() < 0.3 else None
    machine = replace(
        machine,
        reservations=tuple(reserved),
        outages=tuple(outages),
        limits=tuple(limits),
        licences=licences,
        power=power,
    )
    named = [each.name for each in reserved if each.name]
    jobs = []
    submit = 0
    for number in range(g.randint(3, 14)):
        submit += g.choice([0, 0, 1, 5, 20, 60])
        walltime = g.randint(1, 90)
        runtime = g.choice([walltime, g.randint(0, walltime), int(1.5 * walltime)])
        per_node = {"core": g.randint(1, 2)} | ({"gpu": 1} if kind == "mixed" and g.random() < 0.3 else {})
        jobs.append(
            Job(
                str(number),
                submit,
                runtime,
                walltime,
                g.randint(1, 4),
                per_node,
                g.choice(["u1", "u2"]),
                queue=g.choice("ab"),
                licences={"x": g.randint(1, 2)} if licences and g.random() < 0.5 else {},
                reservation=g.choice(named) if named and g.random() < 0.3 else "",
                checkpoint=Checkpoint(interval=10) if g.random() < 0.3 else None,
            )
        )
    return Workload(tuple(jobs), machine)


def with_fields(workload, seed):
    """Draw further fields of jobs. The first third is an array, the second is one that may depend on it."""
    g, jobs = random.Random(seed), []
    third = len(workload) // 3
    limit = g.choice(["", "%1", "%2"])
    for place, job in enumerate(workload.jobs):
        array = "AB "[place // third if place < 2 * third else 2]
        task = str(place % third if third else place)
        fields = {} if array == " " else {"id": f"{array}_{task}", "array": array + limit}
        depends = []
        for kind in g.sample(CONDITIONS, g.choice([0, 1, 1, 2])) if jobs else ():
            other = g.choice(jobs).id
            if kind == "aftercorr" or g.random() < 0.3:  # all tasks of an array, or the same one
                others = [name for name in "AB"[: place // third if third else 0] if name != array]
                other = g.choice(others) if others and (kind != "aftercorr" or array == "B") else other
            depends.append(("" if kind == "singleton" else other, kind, g.choice([0, 0, 7, 30])))
        if place < 2 * third:  # A task of the other array may be later.
            depends = [each for each in depends if each[0] != array]
        fields |= {"depends": tuple(depends), "begin": g.choice([0, 0, 0, 10, 150]), "hold": g.random() < 0.05}
        fields |= {"priority": g.choice([0, 0, -2, 3]), "exclusive": g.random() < 0.15, "name": g.choice("mn")}
        fields |= {"soft_walltime": g.choice([None, None, g.randint(1, job.walltime)])}
        jobs.append(replace(job, **fields))
    return replace(workload, jobs=jobs)


OVERRUNS = ("run", "kill", "resubmit")


def with_options(dispatcher, seed):
    """Draw the options of EASY."""
    if dispatcher not in ("easy", "pbs"):
        return dispatcher
    g = random.Random(seed)
    order = g.choice(orders.names())
    backfill = g.choice(["order", "shortest", *orders.names()])
    strict = g.choice(["yes", "yes", "no"])
    return f"{dispatcher}:order={order},backfill={backfill},depth={g.choice([0, 1, 2, 3, 'all'])},strict={strict}"


def assert_kept(dispatcher, seeds, overruns_of):
    for seed in seeds:
        workload = drawn(seed)
        predictor = ("walltime", "oracle", "last2")[seed % 3]
        if seed % 2:
            workload = with_fields(workload, seed)
        spec = with_options(dispatcher, seed) if seed % 2 else dispatcher
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for overrun in overruns_of(seed):
                result = simulate(workload, spec, predictor, overrun=overrun)
                assert list(violations(workload, result)) == [], (spec, seed, overrun)


@pytest.mark.parametrize("dispatcher", [*FAMILIES, Greedy()])
def test_no_random_schedule_breaks_a_rule(dispatcher):
    """Each workload under one overrun mode, with the plain dispatcher and with options. Nights have all modes."""
    assert_kept(dispatcher, range(4), lambda seed: [OVERRUNS[(seed + seed // 3) % 3]])


@pytest.mark.nightly
@pytest.mark.parametrize("dispatcher", [name for name in registry.names() if name not in ("slurm", "pcp21")])
def test_no_random_schedule_breaks_a_rule_under_any_dispatcher(dispatcher):
    assert_kept(dispatcher, range(100, 200), lambda seed: OVERRUNS)


def test_a_job_inside_its_reservation_holds_licences_and_obeys_the_cap():
    inside = [Reservation(0, 100, name="r", amounts={"core": 1})]
    jobs = [
        Job("in", 0, 60, 60, licences={"x": 2}, reservation="r"),
        Job("out", 1, 10, 10, licences={"x": 2}),
        Job("small", 2, 10, 10, licences={"x": 1}),
    ]
    licensed = replace(Machine.pool(4), reservations=inside, licences={"x": 3})
    for dispatcher in ("easy", "conservative", "lxf"):
        result = run(jobs, licensed, dispatcher, overrun="kill")
        assert result.jobs["start"].tolist()[:2] == [0, 60], dispatcher
        assert "refused" not in result.manifest
    capped = replace(
        Machine.pool(4), reservations=inside, power=Power({"core": 10}, cap=((0, 5), (50, 50)), every=None)
    )
    assert run([Job("in", 0, 20, 20, reservation="r")], capped, overrun="kill").jobs["start"].tolist() == [50]
