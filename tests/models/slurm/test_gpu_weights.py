"""The effect of jobs with GPUs on the choice of nodes. Cases by hand from Slurm's rules."""

import numpy as np
import pytest

from hpcdispatch.models.slurm.backfill import BackfillRules, backfill_pass
from hpcdispatch.models.slurm.jobs import Cluster, SlurmQueue, SlurmRun, job_table
from hpcdispatch.models.slurm.main_scheduler import main_pass
from hpcdispatch.models.slurm.nodes import lower_weights, note_submitted, weights_below

RULES = BackfillRules(window=3600, resolution=1, most=100, kill_wait=2)
NOW = 1000
CORE, MEMORY, GPU = range(3)


def asked(*rows):
    """Return jobs of (slots, cores, gpus, walltime). If tasks may fill nodes, add the amounts per node."""
    slots, cores, gpus, limit = (np.array(column) for column in zip(*(row[:4] for row in rows), strict=True))
    demand = np.column_stack([cores, 0 * cores, gpus])
    by_node = np.zeros((len(rows), 3), np.int64)
    apart = np.array([len(row) == 4 for row in rows])
    for job, row in enumerate(rows):
        by_node[job] = row[4] if len(row) > 4 else 0
    return SlurmQueue(0 * slots, slots, apart, demand, limit, 0 * demand, by_node, 10 + np.arange(len(rows)))


def nodes_of(free, total=None, weight=None):
    """Return a cluster of nodes with (cores, memory, GPUs)."""
    free = np.array(free)
    weight = np.ones(len(free), np.int64) if weight is None else np.array(weight)
    total = free.copy() if total is None else np.array(total)
    return Cluster(free, np.ones((1, len(free)), bool), CORE, weights_below(weight), total, GPU, MEMORY)


def below(cluster):
    """Return how far the weights of nodes are below the configured ones."""
    return (255 - cluster.weight % 256).tolist()


def cycle(cluster, running, jobs):
    """Return start and nodes of jobs in a cycle of backfill; running: (end, node, cores, gpus)."""
    rows = [SlurmRun(end, np.array([node]), np.array([1]), (cores, 0, gpus)) for end, node, cores, gpus in running]
    table = job_table(rows, jobs, len(cluster.free))
    backfill_pass(jobs, cluster, table, NOW, RULES)
    starts = table.start[len(rows) :] - NOW
    return [(start, table.nodes_of(len(rows) + job).tolist()) for job, start in enumerate(starts.tolist())]


def test_a_test_lowers_the_weights_of_nodes_that_would_do_were_their_cores_free():
    free = [(0, 9, 2), (4, 9, 1), (4, 9, 0), (4, 9, 2)]  # another job has the GPUs of the third
    cluster = nodes_of(free, [(4, 9, 2), (4, 9, 2), (4, 9, 2), (4, 9, 2)])
    assert [nodes.tolist() for _, nodes, _ in main_pass(asked((1, 2, 2, 60)), cluster)] == [[3]]
    assert below(cluster) == [2, 0, 0, 2]


def test_a_job_that_cannot_start_lowers_the_weights_of_all_nodes_that_ever_could_run_it():
    cluster = nodes_of([(4, 9, 0), (4, 9, 1), (4, 9, 0)], [(4, 9, 2), (4, 9, 2), (4, 9, 0)])
    assert main_pass(asked((1, 1, 2, 60)), cluster) == []
    assert below(cluster) == [2, 2, 0]
    main_pass(asked((1, 4, 0, 60)), cluster)  # the main scheduler sets weights back before each test
    assert below(cluster) == [0, 0, 0]


def test_a_submission_sets_weights_back_and_lowers_them_anew():
    cluster = nodes_of([(4, 9, 0), (4, 9, 4)], [(4, 9, 2), (4, 9, 4)])
    note_submitted(0, asked((1, 1, 3, 60)), cluster)
    assert below(cluster) == [0, 3]
    note_submitted(0, asked((1, 1, 1, 60)), cluster)
    assert below(cluster) == [1, 1]


def test_too_few_nodes_with_memory_change_no_weights():
    total = [(4, 5, 2)] * 3
    wide = asked((2, 1, 1, 60))
    wide.demand[0, MEMORY] = 3
    for memory, noted in ((1, [0, 0, 0]), (4, [0, 1, 1])):
        cluster = nodes_of([(4, 1, 2), (4, 4, 2), (4, memory, 2)], total)
        lower_weights(0, wide, cluster, cluster.free, np.ones(3, bool))
        assert below(cluster) == noted


def test_a_planned_job_without_gpus_goes_where_one_with_gpus_was_tested():
    # Both wait for the jobs on nodes 1 and 2. Without the test of the first, the second would go to node 1.
    running = [(NOW + 60, 1, 4, 0), (NOW + 60, 2, 4, 2), (NOW + 60, 3, 4, 2), (NOW + 900, 0, 4, 0)]
    total = [(4, 9, 0), (4, 9, 0), (4, 9, 2), (4, 9, 2)]
    found = cycle(nodes_of([(0, 9, 0)] * 4, total), running, asked((1, 4, 2, 60), (1, 4, 0, 60)))
    assert found == [(60, [2]), (60, [3])]
    found = cycle(nodes_of([(0, 9, 0)] * 4, total), running, asked((1, 4, 0, 60)))
    assert found == [(60, [1])]


def test_a_job_that_backfill_starts_goes_by_the_weights_of_the_configuration():
    # Node 2 is the tightest. The test of the first job makes nodes 0 and 1 lighter. The second starts on node 2.
    running = [(NOW + 60, 0, 1, 2), (NOW + 60, 1, 1, 2)]
    total = [(4, 9, 2), (4, 9, 2), (4, 9, 0), (4, 9, 0)]
    cluster = nodes_of([(3, 9, 0), (3, 9, 0), (2, 9, 0), (4, 9, 0)], total)
    assert cycle(cluster, running, asked((1, 1, 2, 60), (1, 1, 0, 30))) == [(60, [0]), (0, [2])]
    assert below(cluster) == [0, 0, 0, 0]  # reset for the second, which could have had node 0 before the first


def test_jobs_with_gpus_have_no_more_cores_of_a_node_than_they_ask_for():
    # With a cap of one per node the first set is the tightest. Without GPUs it has 8 cores and the other 6.
    free = [(4, 9, 1), (4, 9, 1), (0, 9, 1), (2, 9, 1), (2, 9, 1), (2, 9, 1)]
    for gpus, nodes in ((1, [0, 1]), (0, [3, 4])):
        ((_, found, _),) = main_pass(asked((2, 1, gpus, 60)), nodes_of(free))
        assert found.tolist() == nodes


@pytest.mark.parametrize(("by_node", "left"), [((0, 5, 0), [4, 4, 9]), ((0, 0, 2), [9, 9, 9])])
def test_tasks_take_what_they_ask_for_by_node_once_of_each(by_node, left):
    cluster = nodes_of([(4, 9, 2), (4, 9, 2), (4, 4, 1)])
    ((_, nodes, slots),) = main_pass(asked((6, 1, 0, 60, by_node)), cluster)
    assert (nodes.tolist(), slots.tolist()) == ([0, 1], [4, 2])  # node 2 has too little
    cluster.free[2, MEMORY] = 9
    assert cluster.free[:, MEMORY].tolist() == left
    assert cluster.free[:, GPU].tolist() == [2 - by_node[GPU], 2 - by_node[GPU], 1]


def test_jobs_whose_limits_end_together_are_taken_in_the_order_of_their_submission():
    # The first two start, on nodes 0 and 1, and end together. The second was submitted before, so it is taken off
    # first. The first is not on the nodes of the last. It does not end the window, and the job on node 2 is taken off
    # with it.
    jobs = asked((1, 4, 0, 60), (1, 4, 0, 60), (1, 4, 0, 60))
    cluster = nodes_of([(4, 9, 0), (4, 9, 0), (0, 9, 0)])._replace(members=np.array([[1, 1, 1], [0, 1, 1]], bool))
    cluster.total[2] = cluster.total[0]
    running = [(NOW + 600, 2, 4, 0)]
    jobs.partition[2] = 1
    copy = cluster._replace(free=cluster.free.copy())
    assert cycle(copy, running, jobs._replace(place=np.array([11, 12, 13])))[2] == (60, [1])
    assert cycle(cluster, running, jobs._replace(place=np.array([12, 11, 13])))[2] == (600, [1])
