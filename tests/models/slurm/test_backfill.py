"""Cycles of Slurm's backfill that were worked out by hand."""

import numpy as np

from hpcdispatch.models.slurm.backfill import BackfillRules, Reachable, backfill_pass, could_start
from hpcdispatch.models.slurm.jobs import Cluster, SlurmQueue, SlurmRun, job_table

RULES = BackfillRules(window=3600, resolution=1, most=100, kill_wait=2)


def cycle(free, running, jobs, rules=RULES, now=1000):
    """Return start and nodes of jobs (slots, cores, walltime) with one slot per node; running: (end, node, cores)."""
    slots, cores, limit = (np.array(column) for column in zip(*jobs, strict=True))
    demand = cores[:, None]
    place = np.arange(len(running), len(running) + len(jobs))
    tried = SlurmQueue(0 * slots, slots, slots > 0, demand, limit, 0 * demand, 0 * demand, place)
    rows = [SlurmRun(end, np.array([node]), np.array([1]), (cores,)) for end, node, cores in running]
    table = job_table(rows, tried, len(free))
    cluster = Cluster(np.array(free)[:, None], np.ones((1, len(free)), bool), 0, np.ones(len(free), int))
    backfill_pass(tried, cluster, table, now, rules)
    first = len(rows)
    return [(int(table.start[first + job]), table.nodes_of(first + job).tolist()) for job in range(len(jobs))]


def test_a_job_starts_where_it_delays_none_before_it():
    # The first takes both nodes when node 0 is free. A minute fits before on node 1, two do not: they are planned where
    # there is room now, on node 1.
    jobs = [(2, 4, 60), (1, 4, 120), (1, 4, 60)]
    assert cycle([0, 4], [(1070, 0, 4)], jobs) == [(1070, [0, 1]), (1130, [1]), (1000, [1])]


def test_a_reservation_takes_whole_nodes_and_running_jobs_count_by_cores():
    # One core of node 0 is free and stays so. But the reservation for a single core closes the whole node.
    jobs = [(1, 4, 300), (1, 1, 600)]
    assert cycle([1], [(1200, 0, 3)], jobs) == [(1200, [0]), (1500, [0])]


def test_running_jobs_are_taken_off_in_windows_of_thirty_seconds():
    # The next multiple of 30 s after the first end is 1050. All up to 30 s later go together.
    running = [(1021, 0, 4), (1080, 1, 4), (1081, 2, 4)]
    assert cycle([0, 0, 0], running, [(1, 4, 60)]) == [(1080, [0])]


def test_a_job_that_outlives_its_limit_is_expected_to_be_killed_soon():
    assert cycle([0], [(990, 0, 4)], [(1, 4, 60)]) == [(1001, [0])]
    assert cycle([0], [(999, 0, 4)], [(1, 4, 60)], RULES._replace(kill_wait=30)) == [(1029, [0])]


def test_starts_beyond_the_window_are_not_reserved():
    rules = RULES._replace(window=100)
    assert cycle([0], [(1200, 0, 4)], [(1, 4, 60), (1, 4, 60)], rules) == [(1200, [0]), (1200, [0])]


def test_no_more_jobs_are_tried_than_the_limit():
    jobs = [(1, 4, 60), (1, 4, 60)]
    assert cycle([4, 4], [], jobs, RULES._replace(most=1)) == [(1000, [0]), (-1, [])]


def test_reservations_stand_on_the_grid():
    # Reserved from 1020 to 1140, not from 1070 to 1190. Jobs that start on node 1 must end before 1020.
    jobs = [(2, 4, 120), (1, 4, 60)]
    rules = RULES._replace(resolution=60)
    assert cycle([0, 4], [(1070, 0, 4)], jobs, rules)[1] == (1140, [1])


def test_a_job_that_can_never_run_is_not_planned():
    assert cycle([4], [], [(2, 4, 60), (1, 4, 60)]) == [(-1, []), (1000, [0])]


def test_reservations_hold_on_more_nodes_than_a_word_has_bits():
    # Only the nodes 63 to 66 are ever free before 5000. The wide job takes them from 1100. The short one fits before.
    running = [(1100 if 63 <= node <= 65 else 5000, node, 4) for node in range(70) if node != 66]
    free = [4 if node == 66 else 0 for node in range(70)]
    jobs = [(4, 4, 60), (1, 4, 90), (1, 4, 300)]
    found = cycle(free, running, jobs)
    assert found[0] == (1100, [63, 64, 65, 66])
    assert found[1] == (1000, [66])
    assert found[2][0] == 1160
    assert found[2][1][0] in (63, 64, 65, 66)


def test_a_job_that_no_time_has_room_for_gets_no_start():
    assert cycle([0, 4], [(1100, 0, 2)], [(2, 4, 60), (1, 2, 60)]) == [(-1, []), (1000, [1])]


def test_what_could_start_is_what_is_counted_node_by_node():
    rng = np.random.default_rng(3)
    nodes = 130
    cores = 4
    seen = {True: 0, False: 0}
    for _ in range(600):
        unit = int(rng.integers(1, cores + 1))
        slots = int(rng.integers(1, nodes))
        apart = bool(rng.random() < 0.5)
        one = np.ones(1, np.int64)
        amounts = np.full((1, 1), unit)
        job = SlurmQueue(0 * one, slots * one, np.array([apart]), amounts, 60 * one, 0 * amounts, 0 * amounts, one)
        free = np.where(rng.random(nodes) < 0.3, rng.integers(0, cores + 1, nodes), 0)
        now = free // unit * unit
        once = np.full(nodes, cores // unit * unit)
        usable, ended = rng.random((2, nodes)) < rng.random((2, 1))
        had = np.where(ended, once, now)[usable]
        expected = (had > 0).sum() >= (slots if apart else 1) and had.sum() >= slots * unit
        assert could_start(0, job, 0, usable, Reachable(now, once, ended, ended, ended[:0])) == expected
        seen[bool(expected)] += 1
    assert min(seen.values()) > 100
