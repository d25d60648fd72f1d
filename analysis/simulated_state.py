"""Convert the machine state of `evict` and `partition` to the state from which a simulation begins."""

import math
from dataclasses import replace

from ..base import InputError
from ..workloads import Job, Machine, MachineState, Provenance, RunningSince, Workload
from .eviction_scenario import JobPart, Scenario, WaitingPart


def from_state(scenario: Scenario, to_come: Workload | None = None) -> tuple[Workload, MachineState]:
    """Return the jobs of a state, with later jobs, and its running jobs.

    Running jobs end as predicted. Waiting jobs run for their walltime.

    Parameters
    ----------
    scenario
        The state.
    to_come
        Jobs submitted later, with time 0 at the instant of the state, and the machine. The machine has the nodes of the
        state, or is a pool of as many units. Without it no jobs follow, and a node is one core.

    Raises
    ------
    InputError
        If the machine differs, a job has no end, or an id stands in both.
    """
    machine = Machine.homogeneous(scenario.machine.nodes, core=1) if to_come is None else to_come.machine
    unit = _unit(scenario, machine)
    at = math.ceil(max(each.before for each in scenario.standing))
    jobs = [_job(each, at, unit) for each in scenario.standing]
    if to_come is not None:
        jobs += [replace(job, submit=job.submit + at) for job in to_come.jobs]
    workload = Workload(
        tuple(sorted(jobs, key=lambda job: job.submit)), machine, Provenance("a state and what comes after it")
    )
    running = tuple(
        RunningSince(
            each.id, at - math.ceil(each.elapsed or 0), (0,) * each.nodes if machine.nodes == 1 else each.placement
        )
        for each in scenario.jobs
    )
    return workload, MachineState(at, running)


def _unit(scenario: Scenario, machine: Machine) -> dict[str, int]:
    """Return the amounts per node of a job of the state."""
    primary = machine.resources[machine.primary]
    nodes = scenario.machine.nodes
    amounts = machine.capacity[:, machine.primary]
    if machine.nodes == nodes:
        return {primary: int(amounts.min())}
    if machine.nodes == 1 and amounts[0] == nodes:
        return {primary: 1}
    raise InputError(f"state: expected the machine of the trace, {machine.describe()}, got {nodes:,} nodes")


def _job(each: JobPart | WaitingPart, at: int, unit: dict[str, int]) -> Job:
    lasts = each.lasts
    if lasts is None:
        raise InputError(f"state: job {each.id}: expected ends, when it is predicted to end, got none")
    return Job(
        each.id,
        at - math.ceil(each.before),
        max(0, math.ceil(lasts)),
        max(1, math.ceil(lasts)),
        each.nodes,
        unit,
        user=each.user,
        group=each.group,
        queue=each.queue,
    )
