"""What Slurm has in mind at an instant is all that a simulation needs to go on from there."""

import json
from dataclasses import replace

import numpy as np
import pytest
from combinations import each_value
from drawn import number_of_inputs

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Slurm
from hpcdispatch.simulation import simulate, state_at
from hpcdispatch.workloads import Job, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_reservations import SlurmReservation

CONF = """NodeName=n[1-4] CPUs=4
PriorityWeightFairshare=1000
PriorityWeightAge=10
PriorityCalcPeriod=2
PriorityDecayHalfLife=02:00:00
{}
PartitionName=low Nodes=ALL PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
"""
PREEMPTS = "PreemptType=preempt/partition_prio\nSchedulerParameters=bf_interval=20\n"
#: What else a site may keep between two decisions.
MORE = {
    "fair share": "SchedulerParameters=bf_interval=30",
    "charges of ended jobs": "AccountingStorageEnforce=associations,limits",
    "jobs that are being stopped": f"{PREEMPTS}PreemptMode=CANCEL",
    "jobs that may not be stopped yet": f"{PREEMPTS}PreemptMode=CANCEL\nPreemptExemptTime=00:05:00",
}


def drawn_jobs(seed, queues):
    """Return jobs on whole nodes of users of two accounts, some of them in arrays."""
    rng = np.random.default_rng(seed)
    submit = 0
    for number in range(24):
        submit += int(rng.choice([0, 1, 7, 100, 400]))
        walltime = int(rng.choice([60, 300, 1000, 2000]))
        queue = str(rng.choice(queues))
        yield Job(
            str(number),
            submit,
            int(rng.integers(1, walltime + 1)),
            walltime,
            int(rng.integers(1, 5)),
            {"core": 4, f"partition/{queue}": 1},
            queue=queue,
            user=f"u{rng.integers(4)}",
            group=f"g{rng.integers(2)}",
            array=f"a{rng.integers(3)}%2" if rng.random() < 0.2 else "",
        )


def state_of(workload, dispatcher, at):
    """Return the jobs left and the state, as if read from a file; ``None`` if a waiting job was stopped before."""
    try:
        rest, state = state_at(workload, dispatcher, at=at)
    except InputError:
        return None
    return rest, replace(state, memory=json.loads(json.dumps(state.memory)))


@pytest.mark.parametrize(("more", "reserved"), each_value(list(MORE), [[], [SlurmReservation("r", 800, 1500, (0, 1))]]))
def test_a_simulation_goes_on_as_it_would_have(more, reserved, tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF.format(MORE[more]))
    machine = read_slurm_conf(tmp_path / "slurm.conf").machine()
    queues = ["low", "high"] if "Preempt" in MORE[more] else ["low"]

    def dispatcher():
        return Slurm(config=str(tmp_path / "slurm.conf"), stop_time=20).with_reservations(reserved)

    went_on = 0
    for seed in range(1, 1 + number_of_inputs(16, least=2)):
        workload = Workload(tuple(drawn_jobs(seed, queues)), machine)
        whole = simulate(workload, dispatcher()).jobs.set_index("id")["start"]
        for at in np.linspace(100, workload.jobs[-1].submit, 3).astype(int).tolist():
            taken = state_of(workload, dispatcher(), at)
            if taken is None:
                continue
            starts = simulate(taken[0], dispatcher(), state=taken[1]).jobs.set_index("id")["start"]
            assert starts.to_dict() == whole[starts.index].to_dict(), (seed, at)
            went_on += 1
    assert went_on > 2
