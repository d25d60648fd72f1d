"""Scenes of a few jobs on a real Slurm, in files beside the traces: each job starts within 15 s of its real start."""

import pytest

from hpcdispatch.analysis.site_cases import SiteRecord
from hpcdispatch.analysis.site_scenarios import Texts
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads.slurm_workload import slurm_workload

pytestmark = pytest.mark.traces
#: Seconds that a start may be off.
NEAR = 15
SCENES = (
    "array",
    "cpt",
    "default",
    "excl",
    "fairtree",
    "feat",
    "het",
    "minnodes",
    "nice",
    "preempt",
    "reserve",
    "idle",
)


@pytest.mark.parametrize("scene", SCENES)
def test_starts_are_near_the_real_ones(material, scene):
    where = ("cases", "slurm", *(["idle"] if scene == "idle" else []))
    name = "jobs.sacct" if scene == "idle" else f"{scene}.sacct"
    associations = "assoc.txt" if scene == "idle" else "assoc2.txt"
    limits = ";".join(str(material(*where, each)) for each in (associations, "qos.txt"))
    jobs = material(*where, name)
    record = SiteRecord.read(
        Texts(material(*where, "site.txt"), limits, None), "", lambda conf: slurm_workload(jobs, conf), None
    )
    case = record.baseline()
    result = simulate(case.workload, case.dispatcher, state=case.state)
    starts = result.attempts.groupby("id")["start"].max()
    waits = record.workload.records["wait"].tolist()
    off = {
        job.id: starts[job.id] - job.submit - wait
        for job, wait in zip(record.workload.jobs, waits, strict=True)
        if wait >= 0
    }
    assert off
    assert all(abs(seconds) <= NEAR for seconds in off.values()), off
