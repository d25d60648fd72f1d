"""Caps on power that change by the hour: kept under every dispatcher, without effect where they are never reached."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import number_of_inputs

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Machine, Power, Workload, generate

DAY = 86400
WATTS, IDLE = 10, 20


def capped(seed, machine, cap):
    workload = generate("lublin:jobs=40,processors=16,load=1.0", seed=seed)
    power = Power({"core": WATTS}, IDLE, cap, DAY if isinstance(cap, tuple) else None)
    jobs = workload.jobs
    if machine.nodes > 1:
        units = [job.nodes * job.per_node["core"] for job in jobs]
        jobs = [replace(job, nodes=n, per_node={"core": 1}) for job, n in zip(jobs, units, strict=True)]
    return Workload(jobs, replace(machine, power=power))


def most_at(result, times):
    """Return the power at some times, summed up from the attempts alone."""
    runs = result.attempts
    units = runs["units"].to_numpy()
    on = (runs["start"].to_numpy()[:, None] <= times) & (times < runs["end"].to_numpy()[:, None])
    return IDLE + WATTS * (on * units[:, None]).sum(axis=0)


@pytest.mark.parametrize("machine", [Machine.pool(16), Machine.homogeneous(8, core=2)], ids=["pool", "nodes"])
@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "lxf", "hcp3", "pcp-fast:budget=0.01"])
def test_a_cap_is_never_exceeded(dispatcher, machine):
    for seed in range(number_of_inputs(20, 1)):
        workload = capped(seed, machine, ((0, 180), (8 * 3600, 100), (20 * 3600, 180)))
        result = simulate(workload, dispatcher, overrun="kill")
        check(workload, result)
        times = np.unique(result.attempts[["start", "end"]].to_numpy())
        times = np.union1d(times, np.arange(times[0] // DAY * DAY + 8 * 3600, times[-1], DAY))
        clock = times % DAY
        cap = np.where((clock >= 8 * 3600) & (clock < 20 * 3600), 100, 180)
        assert (most_at(result, times) <= cap).all()
        assert result.summary()["power_peak_kw"] == pytest.approx(most_at(result, times).max() / 1000)


@pytest.mark.parametrize("dispatcher", ["fcfs", "sjf", "lxf", "easy", "easy-sjbf"])
def test_a_cap_that_is_never_reached_changes_nothing(dispatcher):
    free = capped(1, Machine.pool(16), None)
    plenty = capped(1, Machine.pool(16), ((0, 180), (3600, 185)))  # The full machine takes 180 W.
    found, expected = (simulate(each, dispatcher, overrun="kill").jobs["start"] for each in (plenty, free))
    assert found.equals(expected)
