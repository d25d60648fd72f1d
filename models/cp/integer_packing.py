"""The most that can be packed on nodes, as a linear program in integers, solved by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from ...base import IntArray


@dataclass(frozen=True, eq=False)
class Packed:
    """How much of a set of jobs can be packed.

    Attributes
    ----------
    most
        No packing has more weight.
    counts
        A packing, slots by job and node, shape (jobs, nodes), or ``None`` if none was found.
    placed
        Which jobs are in it, shape (jobs,).
    """

    most: int
    counts: IntArray | None
    placed: NDArray[np.bool_]


def pack_most(
    fits: IntArray, slots: IntArray, demand: IntArray, free: IntArray, weight: IntArray, nodes_limit: int
) -> Packed:
    """Pack jobs of the greatest weight at one time.

    Parameters
    ----------
    fits
        Slots of each job that fit on each node alone, shape (jobs, nodes).
    slots, demand
        Shapes (jobs,) and (jobs, resources).
    free
        Shape (nodes, resources).
    weight
        Shape (jobs,), not negative.
    nodes_limit
        Nodes of the search tree after which the bound is what is known: a count, so that the answer is always the same.
    """
    jobs = len(slots)
    job, node = np.nonzero(fits)
    columns = len(job)
    scale = max(1.0, float(weight.max(initial=0)))
    found = scipy.optimize.milp(
        np.concatenate((np.zeros(columns), -weight / scale)),
        integrality=np.ones(columns + jobs, dtype=np.int64),
        bounds=scipy.optimize.Bounds(0, np.concatenate((fits[job, node], np.ones(jobs)))),
        constraints=_capacity_and_slots(job, node, slots, demand, free),
        # HiGHS 1.12's presolve has called packings optimal that are not; see the test.
        options={"node_limit": nodes_limit, "mip_rel_gap": 0.0, "presolve": False},
    )
    most, bound = int(weight.sum()), getattr(found, "mip_dual_bound", None)
    if bound is not None and np.isfinite(bound):
        most = min(most, int(np.floor(-bound * scale * (1 + 1e-7) + 1e-4)))
    if found.x is None:
        return Packed(most, None, np.zeros(jobs, dtype=np.bool_))
    counts = np.zeros_like(fits)
    counts[job, node] = np.rint(found.x[:columns]).astype(np.int64)
    placed = found.x[columns:] > 0.5
    return Packed(most, np.where(placed[:, None], counts, 0), placed)


def _capacity_and_slots(
    job: IntArray, node: IntArray, slots: IntArray, demand: IntArray, free: IntArray
) -> scipy.optimize.LinearConstraint:
    """Keep every node within each resource; a job has all its slots or none.

    Columns: the slots of a job on a node, for each `job` and `node`; then whether a job is placed.
    """
    jobs, resources, columns = len(slots), demand.shape[1], len(job)
    resource_rows = np.repeat(node * resources, resources) + np.tile(np.arange(resources), columns)
    amounts = demand[job].ravel()
    asked = amounts > 0
    rows = np.concatenate((resource_rows[asked], free.size + job, free.size + np.arange(jobs)))
    index = np.concatenate((np.repeat(np.arange(columns), resources)[asked], np.arange(columns + jobs)))
    values = np.concatenate((amounts[asked], np.ones(columns, dtype=np.int64), -slots))
    matrix = scipy.sparse.csr_array(
        (values.astype(np.float64), (rows, index)), shape=(free.size + jobs, columns + jobs)
    )
    upper = np.concatenate((np.maximum(free, 0).ravel(), np.zeros(jobs)))
    lower = np.concatenate((np.full(free.size, -np.inf), np.zeros(jobs)))
    used = np.flatnonzero(np.diff(matrix.indptr))
    return scipy.optimize.LinearConstraint(matrix[used], lower[used], upper[used])
