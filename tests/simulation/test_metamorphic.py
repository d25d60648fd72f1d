"""Relations between simulations under every registered dispatcher: changes without an effect on schedules.

Each relation makes another workload. It derives the expected schedule from the first one.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count, cycle, product
from random import Random
from typing import Any

import numpy as np
import pytest
from conftest import VERSIONS, quick

from hpcdispatch.dispatchers import Start, State, registry, space_of
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

DAY = 86_400
#: Jobs of a workload, and workloads in CI and nightly.
JOBS = 14
FEW = 1
MANY = 24
LATE, IMPOSSIBLE = "late", "impossible"

Starts = dict[str, int | None]


def pool_workload(seed: int) -> Workload:
    """Draw jobs of single cores on a pool. Several arrive at one instant."""
    random = Random(seed)
    machine = Machine.pool(random.choice([4, 8, 16]))
    cores = int(machine.capacity[0, 0])
    return _drawn(random, machine, lambda: (random.choice([1, 1, 2, 3, cores // 2, cores]), {"core": 1}))


def node_workload(seed: int) -> Workload:
    """Draw jobs of several resources on nodes of two kinds."""
    random = Random(1000 + seed)
    machine = Machine(("core", "mem", "gpu"), np.array([[4, 8, 0]] * 3 + [[4, 16, 2]] * 2))

    def request() -> tuple[int, dict[str, int]]:
        if random.random() < 0.25:
            return random.choice([1, 1, 2]), {"core": random.choice([1, 2]), "mem": 4, "gpu": random.choice([1, 2])}
        return random.choice([1, 1, 2, 3, 5]), {"core": random.choice([1, 2, 4]), "mem": random.choice([1, 2, 8])}

    return _drawn(random, machine, request)


def _drawn(random: Random, machine: Machine, request: Callable[[], tuple[int, dict[str, int]]]) -> Workload:
    jobs, submit = [], 0
    for place in range(JOBS):
        submit += random.choice([0, 0, 0, 10, 60, 700])
        runtime = random.choice([0, 1, 30, 100, 900, 2000])
        walltime = max(1, int(runtime * random.choice([0.5, 1, 1, 1.5, 4])))
        nodes, per_node = request()
        named = {"user": f"u{random.randrange(3)}", "queue": random.choice("ab"), "name": f"n{random.randrange(3)}"}
        jobs.append(Job(f"j{place:02}", submit, runtime, walltime, nodes, per_node, **named))
    return Workload(jobs, machine)


WORKLOADS = {"pool": pool_workload, "nodes": node_workload}


# The relations: the other workload, and the expected starts of the first one.


def _changed(workload: Workload, change: Callable[[Job], Job], machine: Machine | None = None) -> Workload:
    return Workload([change(job) for job in workload.jobs], machine or workload.machine)


def repeat(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Simulate it again."""
    return workload, dict


def later_by_a_day(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Submit all jobs a day later: all start a day later."""
    moved = _changed(workload, lambda job: replace(job, submit=job.submit + DAY))
    return moved, lambda starts: {id_: start if start is None else start - DAY for id_, start in starts.items()}


def other_ids(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Give jobs ids that sort in another order."""
    count = len(workload)
    new = {job.id: f"z{(count - place) * 7919 % 10007:05}" for place, job in enumerate(workload.jobs)}
    old = {id_: job for job, id_ in new.items()}
    return _changed(workload, lambda job: replace(job, id=new[job.id])), lambda starts: {
        old[id_]: start for id_, start in starts.items()
    }


def impossible_job(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Add a job that the machine has no room for."""
    jobs = list(workload.jobs)
    place = len(workload) // 3
    core = workload.machine.resources[workload.machine.primary]
    most = int(workload.machine.capacity[:, workload.machine.primary].sum())
    jobs.insert(place, Job(IMPOSSIBLE, jobs[place].submit, 500, 500, 1, {core: 2 * most}, user="u0", queue="a"))
    return Workload(jobs, workload.machine), lambda starts: _without(starts, IMPOSSIBLE)


def useless_node(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Add a node with only a resource that no job requests."""
    machine = workload.machine
    capacity = np.zeros((machine.nodes + 1, len(machine.resources) + 1), dtype=np.int64)
    capacity[:-1, :-1] = machine.capacity
    capacity[-1, -1] = 7
    return replace(workload, machine=Machine((*machine.resources, "licence"), capacity)), dict


def unused_resource(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Give every node a resource that no job requests."""
    machine = workload.machine
    capacity = np.column_stack((machine.capacity, np.full(machine.nodes, 5)))
    return replace(workload, machine=Machine((*machine.resources, "burst"), capacity)), dict


def doubled_resources(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Double the amounts of nodes and the requests of jobs."""
    machine = replace(workload.machine, capacity=2 * workload.machine.capacity)
    doubled = _changed(
        workload, lambda job: replace(job, per_node={name: 2 * of for name, of in job.per_node.items()}), machine
    )
    return doubled, dict


def one_core_nodes(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Make a pool nodes of one core each."""
    return replace(workload, machine=Machine.homogeneous(int(workload.machine.capacity[0, 0]), core=1)), dict


def one_slot(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Request one slot of several cores of a pool, not several slots of one core."""
    return _changed(workload, lambda job: replace(job, nodes=1, per_node={"core": job.nodes})), dict


def far_later_job(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Add a job that comes long after all others have ended."""
    last = workload.jobs[-1]
    end = last.submit + sum(max(job.runtime, 2 * job.walltime) for job in workload.jobs) + 30 * DAY
    core = workload.machine.resources[workload.machine.primary]
    late = Job(LATE, end, 60, 60, 1, {core: 1}, user="u0", queue="a", name="n0")
    return Workload([*workload.jobs, late], workload.machine), lambda starts: _without(starts, LATE)


def one_priority(workload: Workload) -> tuple[Workload, Callable[[Starts], Starts]]:
    """Give all jobs the same priority."""
    return _changed(workload, lambda job: replace(job, priority=5)), dict


def _without(starts: Starts, id_: str) -> Starts:
    return {job: start for job, start in starts.items() if job != id_}


ANYWHERE = (
    repeat,
    later_by_a_day,
    other_ids,
    impossible_job,
    useless_node,
    unused_resource,
    doubled_resources,
    far_later_job,
    one_priority,
)
RELATIONS = {"pool": (*ANYWHERE, one_core_nodes, one_slot), "nodes": ANYWHERE}


#: Relations that do not hold under a dispatcher, and why.
_NODES_ALL_THE_WHILE = "a reservation on nodes takes nodes that are free all the while, one on a pool any cores"
_OTHER_PLANS = "plans on nodes name the nodes of each job, so that the search meets other plans of the same cost"
EXCEPTIONS = {
    ("conservative", one_core_nodes): _NODES_ALL_THE_WHILE,
    ("sa", one_core_nodes): _NODES_ALL_THE_WHILE,  # over conservative
    ("guarded", one_core_nodes): _OTHER_PLANS,
    ("lookahead", one_core_nodes): _OTHER_PLANS,
    ("pcp", one_core_nodes): _OTHER_PLANS,
    ("pcp3", one_core_nodes): _OTHER_PLANS,
    ("pcp21", one_core_nodes): _OTHER_PLANS,
    (
        "slurm",
        one_core_nodes,
    ): "Slurm backfills by whole nodes, and its choice of these is not that of cores of one node",
    ("slurm", later_by_a_day): "its controller begins at time 0, and the cycles of its schedulers count from there",
}


def starts_under(workload: Workload, dispatcher: Any, seed: int = 0) -> Starts:
    """Return the starts, with the overrun policy and the predictor of a seed."""
    overrun = ("run", "kill", "resubmit")[seed % 3]
    predictor = ("walltime", "last2")[seed // 3 % 2]
    result = simulate(workload, dispatcher, predictor, overrun=overrun)
    check(workload, result)
    rows = zip(result.jobs["id"], result.jobs["start"].tolist(), strict=True)
    return {id_: start if start >= 0 else None for id_, start in rows}


#: By day each dispatcher on one kind of machine, in turn. Nights have the versions of one, too.
BY_DAY = {each for each in zip(registry.names(), cycle(WORKLOADS), strict=False) if each[0] not in VERSIONS}
EVERY = list(product(registry.names(), WORKLOADS))


@pytest.mark.parametrize(
    ("dispatcher", "kind", "seeds"),
    [
        *(pytest.param(*each, range(FEW), marks=[pytest.mark.nightly] * (each not in BY_DAY)) for each in EVERY),
        *(pytest.param(*each, range(FEW, MANY), marks=pytest.mark.nightly) for each in EVERY),
    ],
)
def test_relations_hold(dispatcher, kind, seeds):
    broken = []
    for seed in seeds:
        workload = WORKLOADS[kind](seed)
        expected = starts_under(workload, quick(dispatcher), seed)
        for relation in RELATIONS[kind]:
            if (dispatcher, relation) not in EXCEPTIONS:
                other, back = relation(workload)
                starts = back(starts_under(other, quick(dispatcher), seed))
                broken += [(relation.__name__, seed, job) for job in expected if starts[job] != expected[job]]
    assert not broken


class Breaking:
    """Starts jobs wherever they fit. Goes from the end of the queue if it sees something that must have no effect."""

    knows_site = True  # It is shown all nodes.

    def __init__(self, seen: Callable[[State], Any]):
        self.seen = seen

    def dispatch(self, state: State) -> list[Start]:
        space = space_of(state)
        queue = list(state.queue)
        placed = [
            (entry, space.place(entry.nodes, entry.demand)) for entry in (queue[::-1] if self.seen(state) else queue)
        ]
        return [Start(entry, placement) for entry, placement in placed if placement is not None]


_counted = count()
#: A violation of each relation: whether a state is treated otherwise, by the simulation's jobs and the state.
BREAKS: dict[Any, Callable[[int, State], Any]] = {
    repeat: lambda jobs, state: next(_counted) % 3,
    later_by_a_day: lambda jobs, state: state.now > DAY,
    other_ids: lambda jobs, state: state.queue[0].id.startswith("z"),
    impossible_job: lambda jobs, state: state.queue[-1].order % 2,
    useless_node: lambda jobs, state: state.machine.nodes > 1,
    unused_resource: lambda jobs, state: "burst" in state.machine.resources,
    doubled_resources: lambda jobs, state: state.queue[0].demand[0] > 1,
    far_later_job: lambda jobs, state: jobs > JOBS,
    one_priority: lambda jobs, state: state.queue[0].job.priority,
    one_core_nodes: lambda jobs, state: state.machine.nodes > 1,
    one_slot: lambda jobs, state: state.queue[-1].nodes > 1,
}


@pytest.mark.parametrize("relation", RELATIONS["pool"])
def test_each_relation_can_fail(relation):
    def under_broken(workload: Workload) -> Starts:
        return starts_under(workload, Breaking(lambda state: BREAKS[relation](len(workload), state)))

    found = 0
    for seed in range(10):
        workload = pool_workload(seed)
        other, back = relation(workload)
        found += back(under_broken(other)) != under_broken(workload)
    assert found > 2


@pytest.mark.nightly
@pytest.mark.parametrize(("dispatcher", "relation"), EXCEPTIONS)
def test_each_exception_is_one(dispatcher, relation):
    for seed in range(MANY):
        workload = pool_workload(seed)
        other, back = relation(workload)
        if back(starts_under(other, quick(dispatcher), seed)) != starts_under(workload, quick(dispatcher), seed):
            return
    pytest.fail(f"{relation.__name__} holds under {dispatcher}")
