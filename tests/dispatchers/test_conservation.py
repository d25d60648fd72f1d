"""Useful, wasted and idle node-time add up to the capacity, for any dispatcher and overrun policy."""

from itertools import pairwise

import pytest

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import generate


def idle_time(result, capacity):
    """Return the idle unit-seconds from the first submission to the last end. They are summed event by event."""
    changes = {int(result.jobs["submit"].min()): 0}
    for start, end, units in result.attempts[["start", "end", "units"]].itertuples(index=False):
        changes[start] = changes.get(start, 0) + units
        changes[end] = changes.get(end, 0) - units
    held, idle = 0, 0
    for now, then in pairwise(sorted(changes)):
        held += changes[now]
        assert 0 <= held <= capacity
        idle += (capacity - held) * (then - now)
    return idle


@pytest.mark.parametrize("overrun", ["run", "kill", "resubmit:factor=1.4", "resubmit:factor=1.4,cap=20000"])
@pytest.mark.parametrize("dispatcher", ["rbs", "rbs:move=always,max_walltime=30000", "sejf", "lejf", "hybrid"])
def test_useful_wasted_and_idle_time_add_up(dispatcher, overrun):
    workload = generate("accre", pattern="mix", jobs=40, wide=8, nodes=6, mean_er=0.8, interarrival=3000, seed=6)
    result = simulate(workload, dispatcher, overrun=overrun)
    check(workload, result)
    capacity = workload.machine.nodes
    summary = result.summary()
    ran = result.jobs[result.jobs["status"] == "completed"]
    useful = int((ran["runtime"] * ran["nodes"]).sum())
    whole = capacity * summary["makespan"]
    assert useful + summary["lost"] + idle_time(result, capacity) == whole
    assert summary["utilization"] == pytest.approx(useful / whole)  # equation 3
    assert (summary["lost"] == 0) == (overrun == "run" and dispatcher in ("sejf", "lejf"))


def test_average_stretch_is_the_mean_slowdown():
    # Equation 2: the time to the end of the successful attempt, over the run time.
    result = simulate(generate("accre", jobs=60, nodes=5, mean_er=0.8, interarrival=3000, seed=7), "rbs")
    jobs = result.jobs
    assert (jobs["attempts"] > 1).any()
    stretch = ((jobs["end"] - jobs["submit"]) / jobs["runtime"]).mean()
    assert result.summary()["slowdown_mean"] == pytest.approx(stretch)
