"""How often starts lie in their forecast intervals, on recorded replays of a real Slurm; ``-rP`` prints the table."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from real_slurm.daemons import HERE, configuration, filled_in

from hpcdispatch.bench.studies.benchmarks.slurm.controller_log import read_log
from hpcdispatch.bench.studies.benchmarks.slurm.forecast_table import ForecastMoment, forecasts_table
from hpcdispatch.dispatchers import Slurm
from hpcdispatch.workloads.slurm_workload import slurm_workload, started_at

TESTS = Path(__file__).parents[3]
LOGGED = Path(__file__).parent / "recorded"
PLAIN = TESTS / "dispatchers" / "slurm" / "recorded"
#: Recordings with their configurations and how many nodes these have.
RECORDINGS = {
    "tiers": ("tiers.conf", 16),
    "gpus": ("gpus.conf", 8),
    "memory": ("memory.conf", 8),
    "weights": ("weights.conf", 8),
    "limits": ("limits.conf", 8),
    "arrays": ("site.conf", 8),
    "reservations": ("site.conf", 8),
    "requeue": ("preempt.conf", 8),
    "cancel": ("preempt.conf", 8),
}


def moments(workload, log, every=100):
    """Return a moment each so many seconds, with the jobs that waited, and the priorities that a log says."""
    zero = started_at(workload)
    jobs = workload.columns
    starts = jobs.submit + workload.records["wait"].to_numpy()
    events = list(read_log(log)) if log.exists() else []
    found = []
    for at in range(90, int(np.nanmax(starts)), every):
        known = {each.job: each.priority for each in events if each.time <= zero + at and each.priority}
        waits = [id_ for id_, came, start in zip(jobs.texts(), jobs.submit, starts, strict=True) if came < at < start]
        found += [ForecastMoment(zero + at, dict.fromkeys(waits, float(zero + at)), known)] if waits else []
    return found


def covered(name, folder):
    """Return the share of the starts within their intervals, and of how many."""
    conf, nodes = RECORDINGS[name]
    recorded = LOGGED if (LOGGED / f"{name}.sacct.gz").exists() else PLAIN
    (folder / "site.conf").write_text(filled_in(configuration(HERE / conf), nodes))
    (folder / "jobs.sacct").write_bytes(gzip.decompress((recorded / f"{name}.sacct.gz").read_bytes()))
    workload = slurm_workload(folder / "jobs.sacct", folder / "site.conf")
    files = {each: str(recorded / f"{each}.txt") for each in ("limits", "reservations") if each == name}
    slurm = Slurm(config=str(folder / "site.conf"), shares="phys=10;chem=20", epoch=started_at(workload), **files)
    seen = moments(workload, LOGGED / f"{name}.slurmctld.log.gz")
    table = forecasts_table(workload, slurm, seen, started_at(workload), 25)
    _, of, _, _, share, width = table.rows[1]
    return int(of.replace(",", "")), float(share), width


@pytest.mark.nightly
def test_intervals_cover_eight_of_ten(tmp_path):
    shares = []
    for name in RECORDINGS:
        (tmp_path / name).mkdir()
        of, share, width = covered(name, tmp_path / name)
        print(f"{name}: {of} forecasts, {share}% covered, {width} s wide")  # noqa: T201
        shares.append(share)
    assert 70 <= np.mean(shares) <= 90
    assert min(shares) >= 60
