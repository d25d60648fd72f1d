"""Slurm's choice of nodes. Cases by hand from its rules."""

import numpy as np
import pytest

from hpcdispatch.models.slurm.jobs import Cluster, SlurmQueue
from hpcdispatch.models.slurm.main_scheduler import main_pass


def tried(*rows, partition=0):
    """Return jobs of (slots, cores of each, apart[, limit])."""
    slots, cores, apart, limit = zip(*((*row, 60)[:4] for row in rows), strict=True)
    partitions = np.full(len(rows), partition)
    demand = np.array(cores)[:, None]
    places = np.arange(len(rows))
    none = 0 * demand
    return SlurmQueue(partitions, np.array(slots), np.array(apart), demand, np.array(limit), none, none, places)


def chosen(free, *row, weight=None):
    """Return the node of each slot of a job that the main scheduler starts. Empty if it does not."""
    jobs, nodes = tried(row), len(free)
    weight = np.ones(nodes, np.int64) if weight is None else np.array(weight)
    starts = main_pass(jobs, Cluster(np.array(free)[:, None], np.ones((1, nodes), bool), 0, weight))
    return [node for _, chosen, slots in starts for node in np.repeat(chosen, slots).tolist()]


@pytest.mark.parametrize(
    ("free", "job", "nodes"),
    [
        # A single node has the fewest sufficient free cores, in the tightest set of consecutive nodes.
        ([4, 2, 3, 0, 4, 4], (1, 2, True), [4]),
        ([4, 2, 3, 4], (1, 2, True), [1]),
        # The tightest set that suffices.
        ([4, 4, 4, 0, 4, 4, 0, 4], (2, 4, True), [4, 5]),
        # None suffices: the largest first, the rest from the tightest that then does.
        ([4, 4, 0, 4, 4, 4, 0, 4], (4, 4, True), [3, 4, 5, 7]),
        # Tasks fill nodes in order, the rest last.
        ([3, 4, 4, 0, 1], (10, 1, False), [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]),
        ([1, 0, 1, 0, 1], (4, 1, False), []),
        # Two tasks run on each of two nodes. The first has three free cores and gives two.
        ([3, 2, 1], (2, 2, True), [0, 1]),
        ([1, 1, 1], (2, 2, True), []),
    ],
)
def test_nodes_are_those_of_the_rules(free, job, nodes):
    assert chosen(free, *job) == nodes


@pytest.mark.parametrize(
    ("free", "weight", "job", "nodes"),
    [
        # The lightest node, though a heavier one is tighter.
        ([1, 4, 4, 4], [9, 9, 1, 2], (1, 1, True), [2]),
        # All of the lightest come first, though one heavier set were enough. Then comes the tightest set of the next
        # weight.
        ([4, 4, 4, 4, 4, 0, 4], [9, 9, 9, 2, 1, 1, 2], (3, 4, True), [3, 4, 6]),
        ([4, 4, 4, 0, 4], [1, 9, 9, 9, 5], (2, 1, True), [0, 4]),
        # Tasks fill the lightest nodes first.
        ([4, 2, 4], [3, 2, 1], (7, 1, False), [0, 1, 1, 2, 2, 2, 2]),
        # None of the lightest fits.
        ([1, 1, 4], [1, 1, 7], (1, 2, True), [2]),
    ],
)
def test_the_lightest_nodes_are_taken_first(free, weight, job, nodes):
    assert sorted(chosen(free, *job, weight=weight)) == nodes


def test_free_cores_are_not_capped_at_the_tasks_of_a_node():
    # Nodes 0 and 1 have 8 cores free, 3 to 5 only 6. With a cap of one per node the first set would be the tightest.
    assert chosen([4, 4, 0, 2, 2, 2], 2, 1, True) == [3, 4]


def test_memory_by_core_limits_the_cores_of_a_node():
    free = np.array([[4, 2], [3, 9]])  # cores, memory: node 0 has two usable cores with a unit of memory each
    job = SlurmQueue(*map(np.array, ([0], [1], [True], [[1, 1]], [60], [[0, 1]], [[0, 0]], [0])))
    for per_cpu, node in ((1, 0), (0, 1)):
        cluster = Cluster(free.copy(), np.ones((1, 2), bool), 0, np.ones(2, np.int64))
        ((_, nodes, _),) = main_pass(job._replace(per_cpu=np.array([[0, per_cpu]])), cluster)
        assert nodes.tolist() == [node]


def test_the_first_blocked_job_takes_the_nodes_of_its_partition_away():
    jobs = tried((3, 1, True), (1, 1, True), (1, 1, True))
    jobs = jobs._replace(partition=np.array([1, 0, 0]))
    members = np.array([[True, True, True, True], [True, True, False, False]])
    cluster = Cluster(np.ones((4, 1), np.int64), members, 0, np.ones(4, np.int64))
    assert [(job, nodes.tolist()) for job, nodes, _ in main_pass(jobs, cluster)] == [(1, [2]), (2, [3])]
    assert cluster.free[:, 0].tolist() == [1, 1, 0, 0]
