"""Convert a running Slurm cluster to a state for eviction and the choice of a partition size."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ..base import InputError
from ..base.argument_types import names_wrong_types
from ..workloads.slurm_cluster import ClusterJob, Snapshot
from .eviction_scenario import Scenario, checked_scenario

Unit = Literal["node", "core"]


@names_wrong_types
def cluster_state(snapshot: Snapshot, unit: Unit = "node", late: int = 0) -> Scenario:
    """Return the running and waiting jobs of a cluster on its usable nodes.

    Each running job has its elapsed time and the end of its walltime. Waiting jobs without a walltime are left out. A
    node is usable if a job could start or runs on it.

    Parameters
    ----------
    snapshot
        Of :func:`~hpcdispatch.workloads.slurm_cluster.read_cluster`.
    unit
        What counts as a node of the state. Use ``core`` where jobs share nodes.
    late
        Seconds that a job may use its nodes after its walltime.

    Raises
    ------
    InputError
        If no job runs, or a job has no id or no nodes. Also if jobs share a node and `unit` is a node.

    Examples
    --------
    >>> from hpcdispatch.analysis import cluster_state
    >>> from hpcdispatch.workloads import Snapshot
    >>> try:
    ...     cluster_state(Snapshot(now=1767225600, nodes=(), running=(), waiting=()))
    ... except ValueError as error:
    ...     print(error)
    cluster: expected running jobs, got none
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
    places = {node.name: place for place, node in enumerate(there)} if unit == "node" else {}
    jobs = [_part(job, snapshot.now, places, late) for job in snapshot.running]
    waiting = [part for job in snapshot.waiting for part in _waiting(job, snapshot, unit)]
    return checked_scenario({"machine": {"nodes": size}, "jobs": jobs, "waiting": waiting}, "cluster")


def _part(job: ClusterJob, now: int, places: Mapping[str, int], late: int) -> dict[str, Any]:
    """Return a running job, on its nodes if `places` names them, else on a number of cores."""
    start = now if job.start is None else min(job.start, now)
    where: dict[str, Any] = {"nodes": job.cores}
    if places:
        where = {"nodes": len(job.nodes), "placement": tuple(places[name] for name in job.nodes)}
    ends = None if job.limit is None else float(max(0, start + job.limit - now) + late)
    waited = float(max(0, start - job.submit))
    return {"id": job.id, "elapsed": float(now - start), "ends": ends, "waited": waited, **where, **_whose(job)}


def _waiting(job: ClusterJob, snapshot: Snapshot, unit: Unit) -> Iterator[dict[str, Any]]:
    """Yield a waiting job, or each task of an array. Skip jobs without a walltime: no plan can hold them."""
    if job.limit is None or not job.cores:
        return
    per_node = max((node.cores for node in snapshot.nodes), default=1)
    nodes = job.cores if unit == "core" else -(-job.cores // max(per_node, 1))
    waited = float(max(0, snapshot.now - job.submit))
    for id_ in job.ids:
        yield {"id": id_, "nodes": nodes, "waited": waited, "walltime": max(1, job.limit), **_whose(job)}


def _whose(job: ClusterJob) -> dict[str, Any]:
    named = {"user": job.user, "group": job.account, "queue": job.partition}
    return {name: value for name, value in named.items() if value}
