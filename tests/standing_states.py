"""A machine amid its work."""

from dataclasses import replace

from hpcdispatch.simulation import simulate
from hpcdispatch.workloads.machine_state import EndedJob, MachineState, RunningSince


def state_of(workload, predictor="walltime", dispatcher="fcfs"):
    """Return the last two thirds of a workload, and the state at their begin."""
    result = simulate(workload, dispatcher, predictor, overrun="kill")
    at = int(result.jobs["start"].quantile(1 / 3)) + 1
    placed = result.attempts
    runs = placed[(placed["start"] < at) & (placed["end"] >= at)]
    past = {job.id: job for job in workload.jobs}
    ended = placed[placed["end"] < at]
    running = tuple(
        RunningSince(row.id, row.start, shape=None if row.shape < 0 else row.shape) for row in runs.itertuples()
    )
    gone = tuple(EndedJob(replace(past[row.id], runtime=row.end - row.start), row.start) for row in ended.itertuples())
    left = [job for job in workload.jobs if job.id not in set(ended["id"])]
    return replace(workload, jobs=tuple(left), records=None), MachineState(at, running, ended=gone)
