"""Every registered generator draws valid jobs, with tables of their texts."""

import pytest

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import GENERATORS, Workload, generate


@pytest.mark.parametrize("name", [name for name in GENERATORS.names() if name != "theta-scenario"])
def test_a_simulation_takes_its_jobs(name):
    drawn = generate(name, seed=1)
    jobs = drawn.head(60) if isinstance(drawn, Workload) else drawn
    result = simulate(jobs, "easy")
    check(jobs, result)
    for column in ("user", "name", "queue"):
        assert result.jobs[column].astype(str).tolist() == [getattr(job, column) for job in jobs.jobs]
