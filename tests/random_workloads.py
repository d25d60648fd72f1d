"""Strategies for hypothesis: small machines, jobs that fit on them, and workloads."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from hpcdispatch.workloads import Checkpoint, Job, Machine, Provenance, Shape, Workload

_RESOURCES = ("core", "mem", "gpu")


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Generate a machine of up to 4 nodes and 3 resources.

    A node has 1 to 8 cores, and up to 8 of each other resource. Some machines name a resource that none of their nodes
    has.
    """
    nodes = draw(st.integers(1, 4))
    count = draw(st.integers(1, len(_RESOURCES)))
    cores = st.integers(1, 8)
    others = st.lists(st.integers(0, 8), min_size=count - 1, max_size=count - 1)
    rows = [[draw(cores), *draw(others)] for _ in range(nodes)]
    nowhere = draw(st.integers(0, 2 * count - 1))  # The resource that no node has, in about half of the machines.
    if 0 < nowhere < count:
        for row in rows:
            row[nowhere] = 0
    return Machine(_RESOURCES[:count], np.array(rows, dtype=np.int64))


@st.composite
def jobs(
    draw: st.DrawFn,
    machine: Machine,
    *,
    id: str = "1",
    submit: int = 0,
    max_time: int = 60,
    moldable: bool = False,
) -> Job:
    """Generate a job that fits on the empty machine.

    It may run for 0 s, and overrun its walltime.

    Parameters
    ----------
    draw
        Supplied by hypothesis.
    machine
        Machine of the job.
    id, submit
        Id and submission.
    max_time
        Longest run time and walltime, seconds.
    moldable
        Whether it may have other shapes and application checkpoints.
    """
    per_node, nodes = draw(_requests(machine))
    extra: dict[str, Any] = {}
    if moldable:
        extra["shapes"] = tuple(draw(st.lists(_shapes(machine, max_time), max_size=2)))
        extra["checkpoint"] = draw(st.none() | st.builds(Checkpoint, interval=st.integers(1, max_time)))
    return Job(
        id=id,
        submit=submit,
        runtime=draw(st.integers(0, max_time)),
        walltime=draw(st.integers(1, max_time)),
        nodes=nodes,
        per_node=per_node,
        user=draw(st.sampled_from(["", "ann", "bob"])),
        name=draw(st.sampled_from(["", "sort", "align_1"])),
        **extra,
    )


@st.composite
def workloads(
    draw: st.DrawFn,
    machine: st.SearchStrategy[Machine] | None = None,
    *,
    max_jobs: int = 12,
    max_time: int = 60,
    moldable: bool = False,
) -> Workload:
    """Generate a workload of up to `max_jobs` jobs, many at the same instants.

    Parameters
    ----------
    draw
        Supplied by hypothesis.
    machine
        Strategy for the machine, by default :func:`machines`.
    max_jobs
        Largest number of jobs.
    max_time
        Longest run time, walltime and gap between submissions, seconds.
    moldable
        Whether jobs may have other shapes and application checkpoints.
    """
    chosen = draw(machines() if machine is None else machine)
    gaps = draw(st.lists(st.just(0) | st.integers(0, max_time), max_size=max_jobs))
    made = [
        draw(jobs(chosen, id=str(index + 1), submit=submit, max_time=max_time, moldable=moldable))
        for index, submit in enumerate(np.cumsum(gaps, dtype=int).tolist())
    ]
    return Workload(tuple(made), chosen, Provenance("hypothesis"))


@st.composite
def _requests(draw: st.DrawFn, machine: Machine) -> tuple[dict[str, int], int]:
    """Generate the amounts of a slot that fits on some node, and a number of slots that fits."""
    node = machine.capacity[draw(st.integers(0, machine.nodes - 1))].tolist()
    amounts = {name: draw(st.integers(0, most)) for name, most in zip(machine.resources, node, strict=True)}
    if not any(amounts.values()):
        amounts[machine.resources[0]] = 1
    return amounts, draw(st.integers(1, machine.slots(amounts)))


@st.composite
def _shapes(draw: st.DrawFn, machine: Machine, max_time: int) -> Shape:
    per_node, nodes = draw(_requests(machine))
    return Shape(nodes, draw(st.integers(0, max_time)), draw(st.integers(1, max_time)), per_node)
