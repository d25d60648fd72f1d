"""Jobs of which nothing is left to foresee."""

from dataclasses import replace

from hpcdispatch.workloads import generate


def at_once(seed, jobs=40):
    """Return jobs that all arrive at once. They run for their walltime."""
    drawn = generate(f"lublin:jobs={jobs},processors=32,load=1.0", seed=seed)
    return drawn.with_jobs([replace(job, submit=0, walltime=job.runtime) for job in drawn.jobs])
