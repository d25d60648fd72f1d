"""Recorded replays of a real Slurm of 8 nodes, met because of the rule that each is about."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from real_slurm.daemons import HERE

from hpcdispatch.analysis.what_if import what_if
from hpcdispatch.dispatchers import Slurm
from hpcdispatch.workloads import recorded_state
from hpcdispatch.workloads.slurm_workload import slurm_workload, started_at

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def site(tmp_path):
    """Return the options of the dispatcher for a configuration of tests/real_slurm."""

    def configured(conf):
        known = {"FOLDER": "", "HOST": "", "NODES": 8, "CONTROLLER": 1, "ACCOUNTING": 1, "FIRST": 1, "LAST": 8}
        parts = [(HERE / name).read_text() for name in ("slurm.conf", conf)]
        (tmp_path / "site.conf").write_text("".join(parts).format_map(known))
        return {"config": str(tmp_path / "site.conf"), "shares": "phys=10;chem=20"}

    return configured


def jobs_of(name, site, folder):
    """Return the jobs of a replay."""
    (folder / "jobs.sacct").write_bytes(gzip.decompress((RECORDED / f"{name}.sacct.gz").read_bytes()))
    return slurm_workload(folder / "jobs.sacct", site["config"])


def fared(jobs, **dispatchers):
    """Return how jobs fared in reality, and with options of the dispatcher from an empty machine on."""
    workload, state = recorded_state(jobs, 0)
    named = {name: Slurm(**options, epoch=started_at(workload)) for name, options in dispatchers.items()}
    real, *found = what_if(workload, named, (10,), state)
    return real, *found


def test_limits(site, tmp_path):
    own = site("limits.conf")
    real, model, free = fared(
        jobs_of("limits", own, tmp_path), model=own | {"limits": str(RECORDED / "limits.txt")}, free=own
    )
    assert model.wait == pytest.approx(real.wait, rel=0.15)
    assert model.correlation > 0.7
    assert free.correlation < 0.5
    assert free.deviation > 1.3 * model.deviation


def test_arrays(site, tmp_path):
    own = site("site.conf")
    jobs = jobs_of("arrays", own, tmp_path)
    real, model = fared(jobs, model=own)
    single = replace(jobs, jobs=tuple(replace(job, array="") for job in jobs.jobs))
    _, without = fared(single, model=own)
    assert model.wait == pytest.approx(real.wait, rel=0.1)
    assert model.correlation > 0.8
    assert without.correlation < 0.7
    assert without.deviation > 1.5 * model.deviation
