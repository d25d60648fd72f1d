"""Recorded replays of a real Slurm with 8 nodes. Each tests one rule."""

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest
from real_slurm.daemons import HERE, configuration, filled_in

from hpcdispatch.analysis.site_cases import SiteCase
from hpcdispatch.analysis.what_if import what_if
from hpcdispatch.dispatchers import Slurm
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import recorded_state
from hpcdispatch.workloads.slurm_workload import slurm_workload, started_at

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def site(tmp_path):
    """Return the options of the dispatcher for a configuration of tests/real_slurm."""

    def configured(conf):
        (tmp_path / "site.conf").write_text(filled_in(configuration(HERE / conf), 8))
        return {"config": str(tmp_path / "site.conf"), "shares": "phys=10;chem=20"}

    return configured


def jobs_of(name, site, folder):
    """Return the jobs of a replay."""
    (folder / "jobs.sacct").write_bytes(gzip.decompress((RECORDED / f"{name}.sacct.gz").read_bytes()))
    return slurm_workload(folder / "jobs.sacct", site["config"])


def fared(jobs, **dispatchers):
    """Return the real outcome of jobs, and that of the dispatcher from an empty machine on."""
    workload, state = recorded_state(jobs, 0)
    named = {name: Slurm(**options, epoch=started_at(workload)) for name, options in dispatchers.items()}
    real, *found = what_if([SiteCase(name, workload, state, each) for name, each in named.items()], (10,))
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


def as_submitted(jobs, accounting):
    """Return jobs with their submitted run times. Cancelled jobs did not reach theirs."""
    slept = dict(re.findall(r"(?m)^(\d+)\|.*sleep \$\(\((\d+)", accounting.read_text()))
    gone = jobs.records["state"].str.startswith("PREEMPTED").tolist()
    return replace(
        jobs,
        jobs=tuple(
            replace(job, runtime=int(slept[job.id])) if left else job for job, left in zip(jobs.jobs, gone, strict=True)
        ),
    )


def stopped(jobs, options):
    """Return the jobs that are stopped in a simulation."""
    workload, state = recorded_state(jobs, 0)
    attempts = simulate(workload, Slurm(**options, epoch=started_at(workload)), state=state).attempts
    return set(attempts["id"][attempts["outcome"] == "killed"])


def test_preemption_by_requeue(site, tmp_path):
    own = site("preempt.conf")
    jobs = jobs_of("requeue", own, tmp_path)
    real, model, without = fared(jobs, model=own, without=own | {"PreemptType": "preempt/none"})
    assert model.wait == pytest.approx(real.wait, rel=0.1)
    assert model.correlation > 0.65
    assert without.deviation > 1.3 * model.deviation


def test_preemption_by_cancelling(site, tmp_path):
    own = site("preempt.conf") | {"PreemptMode": "CANCEL"}
    jobs = as_submitted(jobs_of("cancel", own, tmp_path), tmp_path / "jobs.sacct")
    real, model, without = fared(jobs, model=own, without=own | {"PreemptType": "preempt/none"})
    assert model.wait == pytest.approx(real.wait, rel=0.25)
    assert without.wait > 1.5 * real.wait
    assert without.deviation > 1.5 * model.deviation
    really = {job.id for job, state in zip(jobs.jobs, jobs.records["state"], strict=True) if state == "PREEMPTED"}
    assert len(stopped(jobs, own) & really) > 0.3 * len(really)


def test_reservations(site, tmp_path):
    own = site("site.conf")
    jobs = jobs_of("reservations", own, tmp_path)
    real, model = fared(jobs, model=own | {"reservations": str(RECORDED / "reservations.txt")})
    open_ = replace(jobs, jobs=tuple(replace(job, reservation="") for job in jobs.jobs))
    _, without = fared(open_, without=own)
    assert model.wait == pytest.approx(real.wait, rel=0.2)
    assert model.correlation > 0.7
    assert without.wait < 0.5 * real.wait
    assert without.deviation > 2 * model.deviation
