"""Runs of Slurm's scheduler that start nothing are left out, and change no schedule."""

import numpy as np
import pytest
from drawn import number_of_inputs

from hpcdispatch.base import LONGEST
from hpcdispatch.dispatchers import Slurm
from hpcdispatch.dispatchers.slurm.cycles import CyclePeriods, CycleTimes, after_idle
from hpcdispatch.simulation import simulate, state_at
from hpcdispatch.workloads import Job, Machine, Workload

OPTIONS = (
    {},
    {"PriorityWeightFairshare": 1000, "PriorityWeightAge": 10, "PriorityDecayHalfLife": "0-1"},
    {"sched_interval": 70, "bf_interval": 45, "batch_sched_delay": 20, "PriorityCalcPeriod": "1"},
    {"PriorityWeightFairshare": 50, "PriorityWeightAge": 1000, "bf_window": 5, "sched_interval": 600},
)


class EachCycle(Slurm):
    """Slurm that makes each run."""

    _plain = False


def sparse(seed, jobs=40):
    """Return jobs of a few nodes that often wait long for one another."""
    rng = np.random.default_rng(seed)
    made, submit = [], 0
    for number in range(jobs):
        submit += int(rng.choice([0, 1, 7, 300, 2000]))
        walltime = int(rng.choice([10, 400, 3000, 9000]))
        runtime = int(rng.integers(1, walltime + 1))
        user, group = f"u{rng.integers(0, 4)}", f"g{rng.integers(0, 2)}"
        made.append(Job(str(number), submit, runtime, walltime, int(rng.integers(1, 5)), user=user, group=group))
    return Workload(made, Machine.homogeneous(4, core=1))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(map(str, options.values())) or "defaults")
def test_schedules_are_those_with_all_runs(options):
    fewer = 0
    for seed in range(number_of_inputs(32, least=1)):
        workload = sparse(seed)
        ours, each = (simulate(workload, kind(**options)) for kind in (Slurm, EachCycle))
        assert ours.jobs["start"].tolist() == each.jobs["start"].tolist(), seed
        fewer += len(each.decisions) - len(ours.decisions)
    assert fewer > 0


@pytest.mark.parametrize("options", OPTIONS[:2], ids=["defaults", "fair share"])
def test_a_simulation_goes_on_from_within_a_gap(options):
    for seed in range(2):
        workload = sparse(seed)
        whole = simulate(workload, Slurm(**options)).jobs.set_index("id")["start"]
        for at in np.linspace(100, workload.jobs[-1].submit, 4).astype(int).tolist():
            rest, state = state_at(workload, Slurm(**options), at=at)
            starts = simulate(rest, Slurm(**options), state=state).jobs.set_index("id")["start"]
            assert starts.to_dict() == whole[starts.index].to_dict(), (seed, at)


def test_repeated_runs_are_left_out_in_one_step():
    rng = np.random.default_rng(1)
    for _ in range(200):
        periods = CyclePeriods(*(int(rng.choice([1, 3, 30, 45, 60, 300])) for _ in range(4)))
        begin = int(rng.integers(0, 1000))
        last = (begin - int(rng.integers(0, 40)) for _ in range(3))
        times = CycleTimes(*last, begin - begin % periods.priorities, *(bool(rng.integers(2)) for _ in range(2)))
        until = begin + int(rng.integers(1, 20_000))
        stepped, now = times, begin
        while (now := max(stepped.following(periods), now + 1)) < until:
            stepped = stepped.at(now, periods)
        assert after_idle(times, begin, until, periods) == stepped


@pytest.mark.parametrize("options", OPTIONS[:2], ids=["defaults", "fair share"])
def test_the_longest_time_ends(options):
    jobs = [
        Job("a", 0, LONGEST - 1, LONGEST - 1, 4, user="x", group="g"),
        Job("b", 5, 10, 10, 2, user="y", group="g"),
        Job("c", 9, 10, 60, 4, user="x", group="h"),
    ]
    result = simulate(Workload(jobs, Machine.homogeneous(4, core=1)), Slurm(**options))
    assert result.jobs["start"].min() == 0
    assert result.jobs["start"].max() >= LONGEST - 1
    assert len(result.decisions) < 20
