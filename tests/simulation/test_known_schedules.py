"""Schedules by hand, of kinds that other schedulers' tests have. Each is a row of jobs and their starts.

The kinds are from the tests of flux-sched, OpenPBS, OAR, Batsim and ScheduleFlow. Others are from LSF's manual, Slurm's
comments and the papers on backfilling. The jobs are our own.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Outage, Power, Reservation, Workload

MINUTE = 60
REJECTED = -1


def job(id_, submit, seconds, nodes, walltime=None, **others):
    """Return a job of one core per slot. Its walltime is its run time by default."""
    others.setdefault("per_node", {"core": 1})
    return Job(id_, submit, seconds, walltime or seconds, nodes, **others)


class Schedule(NamedTuple):
    """Jobs and their starts. The jobs run on a pool, also on nodes of one core, or on their own machine."""

    name: str
    cores: int | Machine
    dispatchers: str
    starts: dict[str, int]
    jobs: list[Job]
    overrun: str = "kill"
    attempts: dict[str, list[int]] | None = None


#: Jobs 2 to 4 have reservations at 100, 200 and 300 s. Job 6 delays the second, 7 the third, 8 none.
DEPTHS = [
    job("1", 0, 100, 6),
    job("2", 1, 100, 8),
    job("3", 2, 100, 9),
    job("4", 3, 100, 10),
    job("5", 4, 450, 4),
    job("6", 5, 350, 2),
    job("7", 6, 350, 1),
    job("8", 7, 280, 1),
]
#: The job that runs ends after 40 of its 100 s.
EARLY_END = [job("r", 0, 40, 3, 100), job("A", 1, 100, 6), job("B", 2, 30, 3), job("C", 3, 90, 3, 95)]
SECOND_IN_THE_QUEUE = [job("r", 0, 100, 3), job("A", 1, 50, 4), job("B", 2, 60, 5), job("C", 3, 500, 1)]
STRICT = [job("1", 0, 80, 4), job("2", 1, 80, 5), job("3", 2, 80, 2)]
QUEUES = [
    job("w1", 0, 60, 1, queue="work"),
    job("w2", 0, 60, 1, queue="work"),
    job("e1", 0, 60, 1, queue="express"),
    job("e2", 0, 60, 1, queue="express"),
    job("o", 0, 60, 1, queue="other"),
]
PRIORITIES = [
    job("run", 0, 100, 2),
    job("low", 1, 50, 2),
    job("high", 2, 50, 2, priority=100),
    job("least", 3, 50, 2, priority=-1024),
    job("mid", 4, 50, 2, priority=10),
    job("top", 4, 50, 2, priority=1023),
]
WIDE = [job(f"s{place}", 0, 100 + 50 * place, 1) for place in range(3)] + [job("wide", 5, 50, 3)]
WIDE += [job(f"t{place}", 10 + 30 * place, 300, 1) for place in range(8)]
SIZES = [job(str(place), 0, 60, nodes) for place, nodes in enumerate([1, 2, 1, 3, 1, 4, 2, 2])]
CHAIN = [
    job("a", 0, 60, 1),
    job("any", 5, 10, 1, depends=(("a", "afterany"),)),
    job("ok", 5, 10, 1, depends=(("a", "afterok", 15),)),
    job("not", 5, 10, 1, depends=(("a", "afternotok"),)),
    job("after", 5, 10, 1, depends=(("a", "after"),)),
    job("last", 5, 10, 1, depends=(("any", "afterok"), ("ok", "afterok"))),
]
FAILING = [
    job("a", 0, 60, 1, 30),
    job("ok", 5, 10, 1, depends=(("a", "afterok"),)),
    job("not", 5, 10, 1, depends=(("a", "afternotok"),)),
]
FEATURE = Machine(("core", "fast"), np.array([[1, 0]] * 3 + [[1, 1]] + [[1, 0]] * 2))
ZERO = Machine(("core", "gpu"), np.array([[2, 0]] * 4))
CORES = {"core": 2}

SCHEDULES = [
    Schedule(
        "one reservation",
        10,
        "easy easy:depth=1",
        {"1": 0, "6": 5, "2": 100, "7": 200, "3": 355, "4": 550, "5": 650, "8": 650},
        DEPTHS,
    ),
    Schedule(
        "two reservations",
        10,
        "easy:depth=2",
        {"1": 0, "7": 6, "2": 100, "3": 200, "4": 356, "5": 456, "6": 456, "8": 456},
        DEPTHS,
    ),
    Schedule(
        "three reservations and more",
        10,
        "easy:depth=3 easy:depth=all conservative",
        {"1": 0, "8": 7, "2": 100, "3": 200, "4": 300, "5": 400, "6": 400, "7": 400},
        DEPTHS,
    ),
    Schedule(
        "an early end moves the head up",
        6,
        "easy conservative conservative:compress=once easy:depth=2",
        {"r": 0, "B": 2, "A": 40, "C": 140},
        EARLY_END,
    ),
    Schedule(
        "an early end moves nothing", 6, "conservative:compress=never", {"r": 0, "B": 2, "A": 100, "C": 200}, EARLY_END
    ),
    Schedule("easy delays the second", 5, "easy pbs", {"r": 0, "C": 3, "A": 100, "B": 503}, SECOND_IN_THE_QUEUE),
    Schedule(
        "conservative delays nothing",
        5,
        "conservative easy:depth=2",
        {"r": 0, "A": 100, "B": 150, "C": 210},
        SECOND_IN_THE_QUEUE,
    ),
    Schedule(
        "strict order without backfilling", 6, "fcfs pbs:depth=0 easy:depth=0", {"1": 0, "2": 80, "3": 160}, STRICT
    ),
    Schedule("no strict order", 6, "pbs:strict=no fcfs:blocked=skip", {"1": 0, "3": 2, "2": 82}, STRICT),
    Schedule(
        "queue by queue", 1, "pbs:queues=express;work", {"e1": 0, "e2": 60, "w1": 120, "w2": 180, "o": 240}, QUEUES
    ),
    Schedule("queues alike", 1, "pbs", {"w1": 0, "w2": 60, "e1": 120, "e2": 180, "o": 240}, QUEUES),
    Schedule(
        "by priority",
        2,
        "easy:order=priority fcfs:order=priority easy:order=priority,depth=3",
        {"run": 0, "top": 100, "high": 150, "mid": 200, "low": 250, "least": 300},
        PRIORITIES,
    ),
    Schedule(
        "by priority at one instant alone",
        2,
        "easy fcfs conservative pbs",
        {"run": 0, "low": 100, "high": 150, "least": 200, "top": 250, "mid": 300},
        PRIORITIES,
    ),
    Schedule(
        "a run limit that fits before the reservation",
        3,
        "easy easy-sjbf conservative pbs rbs lookahead guarded",
        {"j1": 0, "j3": 30 * MINUTE, "j2": 120 * MINUTE},
        [job("j1", 0, 120 * MINUTE, 1), job("j2", MINUTE, 60 * MINUTE, 3), job("j3", 30 * MINUTE, 60 * MINUTE, 2)],
    ),
    Schedule(
        "a run limit that does not",
        3,
        "easy easy-sjbf conservative pbs",
        {"j1": 0, "j2": 120 * MINUTE, "j3": 180 * MINUTE},
        [job("j1", 0, 120 * MINUTE, 1), job("j2", MINUTE, 60 * MINUTE, 3), job("j3", 30 * MINUTE, 120 * MINUTE, 2)],
    ),
    Schedule(
        "backfilling on a figure",
        8,
        "easy conservative",
        {"A": 0, "C": 2, "B": 120, "D": 180},
        [job("A", 0, 120, 5), job("B", 1, 60, 8), job("C", 2, 90, 3), job("D", 3, 120, 3)],
    ),
    Schedule(
        "a stream of thin jobs starves no wide one",
        3,
        "easy easy-sjbf conservative pbs guarded easy:depth=4 fcfs",
        {"wide": 200},
        WIDE,
    ),
    Schedule(
        "waves",
        4,
        "easy conservative",
        {str(place): start for place, start in enumerate([0, 0, 0, 60, 60, 120, 180, 180])},
        SIZES,
    ),
    Schedule(
        "back to back",
        3,
        "easy conservative fcfs lookahead guarded hcp3 pcp3 rounds",
        {str(place): 30 * place for place in range(5)},
        [job(str(place), 0, 30, 3) for place in range(5)],
    ),
    Schedule(
        "all start together",
        5,
        "easy conservative rounds",
        {"big": 0, **{str(n): 100 for n in range(5)}},
        [job("big", 0, 100, 5), *(job(str(place), 1 + place, 10 + place, 1) for place in range(5))],
    ),
    Schedule(
        "dependencies",
        4,
        "fcfs easy conservative pbs lookahead rbs easy:depth=2",
        {"a": 0, "after": 5, "any": 60, "ok": 75, "last": 85, "not": REJECTED},
        CHAIN,
    ),
    Schedule(
        "dependencies on a job that is killed",
        4,
        "fcfs easy conservative",
        {"a": 0, "not": 30, "ok": REJECTED},
        FAILING,
    ),
    Schedule(
        "a job that never can run has no reservation",
        Machine.homogeneous(2, core=1),
        "easy pbs conservative fcfs lookahead easy:depth=2 rounds",
        {"1": 0, "never": REJECTED, "3": 360},
        [job("1", 0, 360, 2), job("never", 1, 360, 1, per_node=CORES), job("3", 2, 360, 1)],
    ),
    Schedule(
        "a job of a whole node waits for the last on it",
        Machine.homogeneous(1, core=3),
        "easy conservative pbs",
        {"1": 0, "2": 0, "all": 50},
        [job("1", 0, 30, 1), job("2", 0, 50, 1), job("all", 1, 10, 1, per_node={"core": 3})],
    ),
    Schedule(
        "none of a resource is no reason to go first",
        ZERO,
        "easy easy-sjbf pbs conservative",
        {"1": 0, "2": 0, "3": 100, "4": 200, "5": 200},
        [
            job("1", 0, 100, 2, per_node=CORES),
            job("2", 0, 100, 2, per_node=CORES),
            job("3", 0, 100, 4, per_node=CORES),
            job("4", 0, 200, 1, per_node={"core": 2, "gpu": 0}),
            job("5", 0, 200, 1, per_node=CORES),
        ],
    ),
    Schedule(
        "backfilling beside nodes that are needed",
        FEATURE,
        "easy conservative easy:depth=2",
        {"run": 0, "three": 2, "four": 500},
        [job("run", 0, 500, 3), job("four", 1, 100, 4), job("three", 2, 5000, 2)],
    ),
    Schedule(
        "backfilling beside a node of a feature",
        FEATURE,
        "easy conservative easy:depth=2",
        {"run": 0, "fast": 1, "three": 3, "four": 500},
        [
            job("run", 0, 500, 3),
            job("fast", 1, 100, 1, per_node={"core": 1, "fast": 1}),
            job("four", 2, 100, 4),
            job("three", 3, 5000, 2),
        ],
    ),
    Schedule(
        "a late job is waited for in order",
        4,
        "easy conservative conservative:compress=never fcfs",
        {"late": 0, "wide": 30, "thin": 42},
        [job("late", 0, 30, 2, 8), job("wide", 1, 12, 4), job("thin", 2, 9, 2)],
        "run",
    ),
    Schedule(
        "reservations stand in rounds",
        8,
        "rounds:batch=100,move=never",
        {"b": 0, "a": 900},
        [job("a", 0, 300, 5, 600), job("b", 0, 500, 5, 900)],
    ),
    Schedule(
        "rounds fill gaps before large jobs",
        6,
        "rounds:batch=100,move=never rounds",
        {"small": 40, "large": 80},
        [
            job("A", 0, 80, 3),
            job("B", 0, 40, 3),
            *(job(f"x{place}", 1, 80, 3) for place in range(4)),
            job("large", 1, 80, 6),
            job("small", 8, 30, 3),
        ],
    ),
    Schedule(
        "attempts are chained",
        5,
        "easy conservative fcfs rounds lookahead",
        {"a": 0},
        [job("a", 0, 500, 5, 100)],
        "resubmit:factor=2",
        {"a": [0, 100, 300, 700]},
    ),
]

# Kinds of Slurm's and PBS's rules. These dispatchers agree.
RULED = "fcfs easy conservative lookahead hcp3 rbs hybrid slurm rounds sa"
NODES = Machine.homogeneous(4, core=1)
SCHEDULES += [
    Schedule(
        "the same task of another array",
        4,
        RULED,
        {"A_0": 0, "A_1": 0, "B_0": 30, "B_1": REJECTED, "C_1": 45},
        [
            job("A_0", 0, 30, 1, array="A"),
            job("A_1", 0, 90, 1, 40, array="A"),
            job("B_0", 0, 10, 1, array="B", depends=(("A", "aftercorr"),)),
            job("B_1", 0, 10, 1, array="B", depends=(("A", "aftercorr", 5),)),
            job("C_1", 0, 10, 1, array="C", depends=(("A_1", "afternotok", 5),)),
        ],
    ),
    Schedule(
        "a dependency on a later job",
        4,
        RULED,
        {"a": 520, "b": 500},
        [job("a", 0, 10, 1, depends=(("b", "afterok"),)), job("b", 500, 20, 1)],
    ),
    Schedule(
        "a task of a failed node keeps its place in the array",
        replace(NODES, outages=[Outage(50, 60, "0", announced=False, requeue=True)]),
        RULED,
        {"A_0": 0, "A_1": 150, "A_2": 250},
        [job(f"A_{task}", 0, 100, 1, array="A%1") for task in range(3)],
        attempts={"A_0": [0, 50]},
    ),
    Schedule(
        "each window of a reservation",
        replace(
            Machine.pool(4),
            reservations=[
                Reservation(100, 140, name="c", every=200, amounts={"core": 1}),
                Reservation(150, 160, every=200),
            ],
        ),
        RULED,
        {"a": 0, "b": 100, "d": 300},
        [
            job("a", 0, 20, 4, 60),
            job("b", 0, 20, 1, 30, reservation="c"),
            job("d", 0, 20, 1, 30, reservation="c"),
        ],
    ),
    Schedule(
        "a licence is kept from a reservation",
        replace(NODES, licences={"x": 1}, reservations=[Reservation(50, 200, "0", "r")]),
        RULED,
        {"in": 100, "out": 0},
        [
            job("in", 0, 100, 1, reservation="r", licences={"x": 1}),
            job("out", 0, 100, 1, licences={"x": 1}),
        ],
    ),
    Schedule(
        "the power of a failed job is free",
        replace(NODES, power=Power({"core": 10}, idle=5, cap=26), outages=[Outage(50, 60, "0", announced=False)]),
        "fcfs easy conservative lookahead",
        {"a": 0, "b": 50, "c": 70},
        [
            job("a", 0, 100, 2, 200),
            job("b", 1, 20, 2),
            job("c", 1, 10, 1, depends=(("a", "afterany", 20),)),
        ],
    ),
]


@pytest.mark.parametrize(
    ("schedule", "dispatcher"),
    [
        pytest.param(schedule, dispatcher, id=f"{schedule.name}: {dispatcher}")
        for schedule in SCHEDULES
        for dispatcher in schedule.dispatchers.split()
    ],
)
def test_jobs_start_as_worked_out(schedule, dispatcher):
    if isinstance(schedule.cores, Machine):
        machines = [schedule.cores]
    else:
        machines = [Machine.pool(schedule.cores), Machine.homogeneous(schedule.cores, core=1)]
    for machine in machines:
        workload = Workload(schedule.jobs, machine)
        result = simulate(workload, dispatcher, overrun=schedule.overrun)
        check(workload, result)
        starts = dict(zip(result.jobs["id"], result.jobs["start"].tolist(), strict=True))
        assert {id_: starts[id_] for id_ in schedule.starts} == schedule.starts
        for id_, expected in (schedule.attempts or {}).items():
            assert result.attempts[result.attempts["id"] == id_]["start"].tolist() == expected
