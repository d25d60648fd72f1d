"""Nodes that fail and return: drawn by a law, or read from a log."""

import math
from dataclasses import replace

import numpy as np
import pytest
from combinations import some

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Checkpoint, FailureLaw, Job, Limit, Machine, Outage, Workload, with_failures

HOUR = 3600


def crowd(seed=0, nodes=8):
    return Workload(hd.generate("lublin:jobs=60,processors=8,load=0.9", seed=seed).jobs, Machine.pool(nodes))


def stream(jobs, runtime, nodes=20, checkpoint=None):
    """Jobs of one node each that keep all nodes busy."""
    return Workload(
        [Job(str(at), 0, runtime, runtime, checkpoint=checkpoint) for at in range(jobs)],
        Machine.homogeneous(nodes, core=1),
    )


def expected_loss(mtbf, work):
    """Seconds that are lost until `work` seconds pass without a failure: (e^(w/m) - 1) m - w."""
    return math.expm1(work / mtbf) * mtbf - work


@pytest.mark.parametrize(("jobs", "interval"), some([(600, HOUR), (600, None), (15_000, HOUR), (15_000, None)]))
def test_lost_work_is_that_of_the_formula(interval, jobs):
    runtime, mtbf = 10 * HOUR, 16 * HOUR
    checkpoint = None if interval is None else Checkpoint(interval=interval)
    workload = with_failures(stream(jobs, runtime, checkpoint=checkpoint), [FailureLaw(mtbf, HOUR)], seed=4)
    result = simulate(workload, "fcfs")
    summary = result.summary()
    parts = 1 if interval is None else runtime // interval
    each = parts * expected_loss(mtbf, runtime / parts) / HOUR
    assert summary["node_failures"] > 0.5 * jobs
    assert summary["lost_core_hours"] == pytest.approx(jobs * each, rel=0.03 if jobs > 1000 else 0.12)


@pytest.mark.parametrize(
    "dispatcher", some(["easy", "conservative", "fcfs:blocked=skip", "lookahead", "lxf", "hcp3"], 4)
)
def test_every_schedule_keeps_to_them(dispatcher):
    for seed in range(2):
        failing = with_failures(crowd(seed), "mtbf=2d,repair=3h", seed)
        result = simulate(failing, dispatcher, overrun="kill")
        check(failing, result)
        assert (result.jobs["status"] != "waiting").all()
        assert (result.attempts["outcome"] == "node-fail").any()


def test_the_same_by_the_argument_and_by_another_hand():
    failing = with_failures(crowd(), "mtbf=2d,repair=3h", seed=0)
    by_name = simulate(crowd(), "easy", failures="mtbf=2d,repair=3h")
    assert by_name.jobs.equals(simulate(failing, "easy").jobs)
    assert by_name.manifest["failures"]["count"] == len(failing.machine.outages)
    other = with_failures(crowd(), "mtbf=2d,repair=3h", seed=1)
    assert other.machine.outages != failing.machine.outages


def test_what_is_not_requeued_is_killed():
    workload = Workload([Job("a", 0, 100, 100), Job("b", 0, 100, 100)], Machine.homogeneous(2, core=1))
    found = simulate(with_failures(workload, "mtbf=30,repair=5,requeue=no", seed=2), "easy")
    assert set(found.jobs["status"]) == {"killed"}
    assert found.jobs["reason"].str.fullmatch(r"node [01] failed").all()
    assert found.summary()["lost_core_hours"] == pytest.approx(found.jobs["lost"].sum() / HOUR)


def test_failures_that_meet_no_job_cost_nothing():
    summary = simulate(crowd(), "easy", failures="mtbf=90y,repair=4h").summary()
    assert (summary["node_failures"], summary["lost_core_hours"]) == (0, 0)
    plain = simulate(crowd(), "easy")
    assert "lost_core_hours" not in plain.summary()
    rare = simulate(crowd(), "easy", failures="mtbf=90y,repair=4h")
    assert rare.jobs["start"].equals(plain.jobs["start"])


def test_classes_of_nodes_fail_by_their_own_laws():
    workload = stream(400, HOUR, nodes=100)
    failing = with_failures(workload, "nodes=0-49,mtbf=20h,repair=1h+nodes=50-99,mtbf=200h,repair=2h,requeue=no")
    often = [each for each in failing.machine.outages if each.nodes[0] < 50]
    seldom = [each for each in failing.machine.outages if each.nodes[0] >= 50]
    assert len(often) > 5 * len(seldom) > 0
    assert {each.end - each.begin for each in often} == {HOUR}
    assert {each.requeue for each in often} == {True}
    assert {each.requeue for each in seldom} == {False}


def test_a_log_is_read(tmp_path):
    path = tmp_path / "failures.csv"
    path.write_text("begin,node,end,cause\n50,1,80,memory\n10,0,20,disk\n")
    workload = stream(2, 100, nodes=2)
    failing = with_failures(workload, path)
    assert failing.machine.outages == (
        Outage(10, 20, (0,), announced=False, requeue=True),
        Outage(50, 80, (1,), announced=False, requeue=True),
    )
    assert simulate(workload, "easy", failures=path).jobs["end"].tolist() == [120, 180]
    odd = path.rename(tmp_path / "rack=3.csv")
    assert with_failures(workload, str(odd)).machine == failing.machine
    with pytest.raises(FileNotFoundError):
        with_failures(workload, "nothing.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node,begin\n", "expected columns node, begin, end, got none named end"),
        ("node,begin,end\n7,1,2\n", ":2: nodes must lie in 0..1, got 7"),
        ("node,begin,end\n0,1,2\n0,9,2\n", ":3: end must be > begin = 9, got 2"),
        ("node,begin,end\n0,1,\n", ":2: expected whole numbers, got node='0', begin='1', end=''"),
        ("node,begin,end\n0\n", ":2: expected whole numbers"),
    ],
)
def test_a_wrong_log_is_one_line(tmp_path, text, message):
    path = tmp_path / "failures.csv"
    path.write_text(text)
    with pytest.raises(InputError) as told:
        with_failures(stream(2, 100, nodes=2), path)
    assert message in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mtbf=0,repair=4h", "mtbf must be at least 1 s, got '0'"),
        ("mtbf=5y", "expected repair= with a time, got 'mtbf=5y'"),
        ("mtbf=5y,repair=4h,colour=red", "expected mtbf=5y,repair=4h, with nodes=0-63 and requeue=no if need be"),
        ("mtbf=5y,repair=4h,requeue=maybe", "requeue must be one of yes, no"),
        ("nodes=0-900,mtbf=5y,repair=1h", "nodes must lie in 0..7, got 8"),
        ("nodes=0-3,mtbf=5y,repair=1h+nodes=3,mtbf=1y,repair=1d", "node 3 is in two classes"),
        ("mtbf=soon,repair=1h", "mtbf: expected a time such as"),
    ],
)
def test_a_wrong_law_is_one_line(spec, message):
    with pytest.raises(InputError) as told:
        with_failures(crowd(), spec)
    assert message in str(told.value)


def test_too_many_are_refused():
    with pytest.raises(InputError, match=r"at most 2,000,000 of them, got about .* the time is that of one node"):
        with_failures(stream(1, 10**6, nodes=100), "mtbf=1s,repair=1s")


def test_units_of_a_pool_are_nodes():
    failing = with_failures(crowd(), "mtbf=2d,repair=3h")
    assert failing.machine.capacity.tolist() == [[1]] * 8
    assert failing.provenance.notes[-1].endswith("each of the 8 units of the pool is a node")
    ruled = Workload(crowd().jobs, replace(Machine.pool(8), limits=[Limit(3, by="all")]))
    assert with_failures(ruled, "mtbf=2d,repair=3h").machine.limits == ruled.machine.limits
    with pytest.raises(InputError, match="expected a machine with nodes, got a pool of core, mem; give a machine file"):
        with_failures(Workload([], Machine(("core", "mem"), np.array([[4, 4]]))), "mtbf=2d,repair=3h")
