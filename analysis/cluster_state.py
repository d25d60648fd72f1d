"""A running Slurm cluster as the state that eviction and the choice of a partition size begin from."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from ..base import InputError
from ..workloads.slurm_cluster import ClusterJob, Snapshot
from .eviction_scenario import Scenario, checked_scenario

Unit = Literal["node", "core"]


def cluster_state(snapshot: Snapshot, unit: Unit = "node") -> Scenario:
    """Return what runs, for how long it has, and when its limit ends it, on the nodes on which something could start.

    Parameters
    ----------
    snapshot
        Of :func:`~hpcdispatch.workloads.slurm_cluster.read_cluster`.
    unit
        What counts as a node of the state: a node, or a core where jobs share nodes.

    Raises
    ------
    InputError
        If nothing runs, if a job has no id or no nodes, or if jobs share a node and `unit` is a node.
    """
    if not snapshot.running:
        raise InputError("cluster: expected running jobs, got none")
    taken = Counter(name for job in snapshot.running for name in job.nodes)
    shared = next((name for name, jobs in taken.items() if jobs > 1), None)
    if unit == "node" and shared is not None:
        both = " and ".join(job.id for job in snapshot.running if shared in job.nodes)
        raise InputError(f"cluster: jobs {both} share node {shared}; count cores (--unit core)")
    there = [node for node in snapshot.nodes if node.usable or taken[node.name]]
    size = len(there) if unit == "node" else sum(node.cores for node in there)
    jobs = [_part(job, snapshot.now, unit) for job in snapshot.running]
    return checked_scenario({"machine": {"nodes": size}, "jobs": jobs}, "cluster")


def _part(job: ClusterJob, now: int, unit: Unit) -> dict[str, Any]:
    elapsed = max(0, now - (now if job.start is None else job.start))
    ends = None if job.limit is None else float(max(0, job.limit - elapsed))
    nodes = len(job.nodes) if unit == "node" else job.cores
    return {"id": job.id, "nodes": nodes, "elapsed": float(elapsed), "ends": ends}
