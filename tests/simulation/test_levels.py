"""Jobs within groups of nodes, in few groups, and with unequal slots."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import EASY
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

MACHINE = Machine.homogeneous(16, core=4, gpu=8, levels={"rack": 4, "block": 8})


def drawn(seed=1, jobs=60, wait=None, slots=False):
    """Return jobs of which half ask for a rack or a block."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.exponential(15, jobs)).astype(int).tolist()
    found = []
    for number, at in enumerate(submit):
        run = int(rng.integers(10, 300))
        level = ["", "", "rack", "block"][rng.integers(4)]
        most = {"": 12, "rack": 4, "block": 8}[level]
        asks = {"within": level, "within_wait": wait if level else None}
        if slots and rng.random() < 0.4:
            unequal = [{"gpu": 8}, {"gpu": int(rng.choice([2, 4, 6]))}]
            found.append(Job(str(number), at, run, run + 50, slots=unequal, **asks))
        else:
            size, core = int(rng.integers(1, most + 1)), int(rng.choice([2, 4]))
            found.append(Job(str(number), at, run, run + 50, size, {"core": core}, **asks))
    return Workload(found, MACHINE)


def racks(workload, result):
    return [len({node // 4 for node in nodes.tolist()}) for nodes in result.jobs["placement"]]


@pytest.mark.parametrize("name", ["fcfs", "easy", "conservative", "sjf", "lookahead", "rounds", "slurm", "evict", "cp"])
def test_jobs_lie_as_they_ask(name):
    for asks in ({}, {"slots": True}, {"wait": 60, "slots": True}):
        workload = drawn(**asks)
        result = simulate(workload, name)
        check(workload, result)
        assert set(result.jobs["status"]) == {"completed"}


@pytest.mark.parametrize("name", ["fcfs", "easy", "conservative", "lookahead"])
def test_compact_uses_fewer_groups(name):
    workload = replace(drawn(), jobs=tuple(replace(job, within="") for job in drawn().jobs))
    first, compact = (simulate(workload, name + rule).summary() for rule in ("", ":placement=compact"))
    assert compact["groups_mean"] < first["groups_mean"]
    assert compact["crossed"] < first["crossed"]


def test_compiled_jobs_lie_where_others_do():
    class Plain(EASY):
        """The same without compiled traces."""

    rng = np.random.default_rng(2)
    submit = np.cumsum(rng.exponential(10, 400)).astype(int).tolist()
    jobs = [
        Job(str(n), at, int(r), 400, int(s), {"core": 4})
        for n, (at, r, s) in enumerate(zip(submit, rng.integers(5, 300, 400), rng.integers(1, 9, 400), strict=True))
    ]
    workload = Workload(jobs, MACHINE)
    one, other = (simulate(workload, each).jobs["placement"] for each in ("easy:placement=compact", Plain("compact")))
    assert all(map(np.array_equal, one, other))


def test_smallest_group_that_suffices_is_filled():
    jobs = [Job("a", 0, 90, 90, 2, {"core": 4}), Job("b", 1, 90, 90, 3, {"core": 4}), Job("c", 2, 9, 9, 2, {"core": 4})]
    placed = simulate(Workload(jobs, MACHINE), "easy:placement=compact").jobs["placement"]
    assert [each.tolist() for each in placed] == [[0, 1], [4, 5, 6], [2, 3]]


def test_a_job_stops_waiting_for_its_group():
    busy = [Job(str(node), 0, 500, 500, 1, {"core": 4}) for node in range(16)]
    busy = [replace(job, runtime=10) if number in (0, 5) else job for number, job in enumerate(busy)]
    jobs = [*busy, Job("a", 1, 5, 5, 2, {"core": 4}, within="rack", within_wait=60)]
    result = simulate(Workload(jobs, MACHINE), "easy")
    assert result.jobs["start"].iloc[-1] == 61
    check(Workload(jobs, MACHINE), result)


def test_the_check_catches_a_job_across_racks():
    workload = drawn()
    result = simulate(workload, "easy")
    id_ = next(job.id for job in workload.jobs if job.within == "rack" and job.nodes > 1)
    attempts = result.attempts.copy()
    row = attempts.index[attempts["id"] == id_][0]
    attempts.at[row, "placement"] = np.array([0, *[15] * (len(attempts.at[row, "placement"]) - 1)], dtype=np.int32)
    with pytest.raises(InvariantError, match="2 groups of level rack, may use 1"):
        check(workload, replace(result, attempts=attempts))


def test_the_check_counts_unequal_slots():
    workload = drawn(slots=True)
    result = simulate(workload, "easy")
    id_ = next(job.id for job in workload.jobs if job.slots)
    attempts = result.attempts.copy()
    row = attempts.index[attempts["id"] == id_][0]
    attempts.at[row, "placement"] = np.repeat(attempts.at[row, "placement"][:1], 2)
    with pytest.raises(InvariantError, match="of gpu in use, capacity 8"):
        check(workload, replace(result, attempts=attempts))


def test_what_never_fits_is_refused():
    jobs = [Job("a", 0, 1, 1, slots=[{"gpu": 16}, {"gpu": 8}]), Job("b", 0, 1, 1, 5, {"core": 4}, within="rack")]
    reasons = simulate(Workload(jobs, MACHINE), "easy").jobs["reason"].tolist()
    assert "no node has gpu 16" in reasons[0]
    assert "in one group of level rack" in reasons[1]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"rack": ["0-1", "1-3"]}, "level rack: node 1 is in groups 0 and 1"),
        ({"rack": ["0-1"]}, "level rack: node 2 and 1 more in no group"),
        ({"rack": ["0-7"]}, "group 0: nodes must lie in 0..3, got 7"),
        ({"rack": "0-3"}, "must be a list of groups"),
    ],
)
def test_bad_levels(levels, message):
    with pytest.raises(ValueError, match=message):
        Machine.homogeneous(4, core=1, levels=levels)


def test_unknown_level_and_unequal_proportions():
    with pytest.raises(InputError, match="job a: within: unknown level 'blok'; the machine has: rack, block"):
        simulate(Workload([Job("a", 0, 1, 1, within="blok")], MACHINE), "easy")
    with pytest.raises(ValueError, match="slots must be multiples of one amount"):
        Job("a", 0, 1, 1, slots=[{"gpu": 8, "core": 1}, {"gpu": 4, "core": 4}])


def test_the_fewest_groups_of_a_start_are_those_of_plain_loops():
    workload = replace(drawn(jobs=120), jobs=tuple(replace(job, within="") for job in drawn(jobs=120).jobs))
    result = simulate(workload, "easy")
    of = {job.id: job for job in workload.jobs}
    runs = result.attempts[["id", "start", "end", "placement"]].to_numpy().tolist()
    least = dict(zip(result.jobs["id"], result.jobs["least_groups"], strict=True))
    for id_, at, _, _ in runs:
        free = dict.fromkeys(range(16), 4)
        for other, start, end, nodes in runs:
            for node in nodes.tolist() if other != id_ and start <= at < end else ():
                free[node] -= of[other].per_node["core"]
        rooms = sorted(sum(free[4 * rack + each] // of[id_].per_node["core"] for each in range(4)) for rack in range(4))
        left, needed = of[id_].nodes, 0
        while left > 0:
            left -= rooms.pop()
            needed += 1
        assert least[id_] == needed, id_
    assert set(least.values()) >= {1, 2}
