"""Placements in memory and in files, and the nodes they are taken from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from kept_cells import renew_sums

from hpcdispatch.simulation import Result, simulate
from hpcdispatch.simulation.node_matrix import NodeMatrix
from hpcdispatch.testing import assert_same_records, cluster, moldable, overrunning, samples
from hpcdispatch.workloads import Job, Machine, Workload


@pytest.mark.parametrize("workload", [*samples(), moldable(nodes=4)], ids=lambda workload: workload.provenance.source)
def test_are_back_from_files(workload, tmp_path):
    result = simulate(workload, "easy", overrun="resubmit")
    again = Result.load(result.save(tmp_path))
    assert_same_records(again, result)
    for name in ("jobs", "attempts"):
        before = getattr(result, name)
        after = getattr(again, name)
        assert list(after) == list(before)
        assert [each.tolist() for each in after["placement"]] == [each.tolist() for each in before["placement"]]
        assert {str(each.dtype) for each in after["placement"]} == {"int32"}


def test_of_a_pool_take_no_room(tmp_path):
    jobs = [Job(str(number), number, 10, 10, nodes=40_000) for number in range(400)]
    result = simulate(Workload(jobs, Machine.pool(40_000)), "fcfs")
    placements = result.jobs["placement"]
    assert {each.shape for each in placements} == {(40_000,)}
    assert len({id(each) for each in placements}) == 1
    result.save(tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 100_000
    assert "placement" not in pd.read_parquet(tmp_path / "jobs.parquet")
    with pytest.raises(ValueError, match="read-only"):
        placements[0][0] = 1


def test_in_files_with_all_of_them_are_read(tmp_path):
    result = simulate(overrunning(), "easy")
    result.save(tmp_path)
    for name in ("jobs", "attempts"):
        getattr(result, name).to_parquet(tmp_path / f"{name}.parquet", index=False)
    renew_sums(tmp_path)
    assert_same_records(Result.load(tmp_path), result)


def test_on_nodes_are_kept_as_they_are(tmp_path):
    simulate(cluster(), "easy").save(tmp_path)
    assert "placement" in pd.read_parquet(tmp_path / "attempts.parquet")


@pytest.mark.parametrize("slots", [1, 3, 8, 9, 30])
def test_slots_on_one_node_add_up_and_are_refused_whole(slots):
    nodes = NodeMatrix(Machine.homogeneous(3, core=2 * slots, mem=3 * slots))
    placement = np.full(slots, 1)
    assert not nodes.allocate(placement, (2, 4))
    assert nodes.shown.tolist() == [[2 * slots, 3 * slots]] * 3
    assert nodes.allocate(placement, (2, 3))
    assert nodes.shown.tolist() == [[2 * slots, 3 * slots], [0, 0], [2 * slots, 3 * slots]]
    assert not nodes.allocate(np.array([0, 1]), (1, 0))
    nodes.release(placement, (2, 3))
    assert nodes.shown.tolist() == [[2 * slots, 3 * slots]] * 3
