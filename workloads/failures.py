"""Failures of nodes: drawn from mean times between failures, or read from a log of a machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base import LONGEST, InputError, check_choice, shown, time_text
from ..base.argument_types import names_wrong_types
from ..base.checks import check_number, check_whole
from ..base.time_texts import seconds_option
from .formats.named_columns import named_columns
from .job import Job, Shape
from .machine import Machine
from .machine_rules import Nodes, Outage, nodes_of
from .workload import Workload

#: Columns of a log of failures.
COLUMNS = ("node", "begin", "end")
#: Most failures that are drawn or read.
_MOST = 2_000_000
_DAY = 86400


@dataclass(frozen=True, slots=True)
class FailureLaw:
    """Failures of a class of nodes, independent of each other.

    Attributes
    ----------
    mtbf
        Mean time between failures of one node, seconds: the mean of the exponential law of the time from its repair to
        its next failure.
    repair
        Time to repair, seconds.
    nodes
        ``"all"``, indices and ranges such as ``"0-15;20"``, or a sequence of indices.
    requeue
        Whether jobs on a failed node return to the queue, with the work of their last checkpoint. Otherwise they end
        as killed.

    Raises
    ------
    ValueError
        If a time is below 1 s, or `nodes` are no nodes.

    Examples
    --------
    >>> from hpcdispatch.testing import cluster
    >>> from hpcdispatch.workloads import FailureLaw, with_failures
    >>> law = FailureLaw(mtbf=86400.0, repair=3600, nodes="0-2")
    >>> failing = with_failures(cluster(), [law], seed=1)
    >>> {node for outage in failing.machine.outages for node in outage.nodes} <= {0, 1, 2}
    True
    """

    mtbf: float
    repair: int
    nodes: Nodes = "all"
    requeue: bool = True

    def __post_init__(self) -> None:
        check_number("failures: mtbf", self.mtbf, least=1)
        check_whole("failures: repair", self.repair, 1)
        if self.nodes != "all":
            object.__setattr__(self, "nodes", nodes_of("failures", self.nodes))

    def draw(self, nodes: Sequence[int], begin: int, until: int, rng: np.random.Generator) -> Iterator[Outage]:
        """Yield the failures of these nodes in [begin, until), node by node."""
        for node in nodes:
            now = float(begin)
            while (now := now + rng.exponential(self.mtbf)) < until:
                at = math.floor(now)
                yield Outage(at, at + self.repair, (int(node),), announced=False, requeue=self.requeue)
                now = at + self.repair


class LoggedFailure(NamedTuple):
    """A row of a log of failures.

    Attributes
    ----------
    where
        File and line, for messages.
    node
        Index of the node.
    begin, end
        Seconds on the clock of the workload.
    """

    where: str
    node: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class FailureLog:
    """A log of failures of nodes, read once for several workloads.

    Attributes
    ----------
    path
        The file.
    rows
        Its failures, in the order of the file.
    """

    path: Path
    rows: tuple[LoggedFailure, ...]

    @classmethod
    def read(cls, path: str | PathLike[str]) -> FailureLog:
        """Read CSV with the columns ``node``, ``begin`` and ``end``.

        Raises
        ------
        InputError
            If it is not such a file. The message has the line.
        OSError
            If it cannot be read.
        """
        where = Path(path)
        return cls(where, tuple(_rows(where)))

    def outages(self, machine: Machine, requeue: bool) -> Iterator[Outage]:
        """Yield the failures on a machine.

        Raises
        ------
        ValueError
            If a node is not in the machine, or a failure does not end after its begin.
        """
        for where, node, begin, end in self.rows:
            _check_nodes(where, (node,), machine)
            try:
                yield Outage(begin, end, (node,), announced=False, requeue=requeue)
            except ValueError as error:
                raise ValueError(f"{where}: {str(error).removeprefix('outage: ')}") from None


@names_wrong_types
def with_failures(
    workload: Workload,
    failures: str | PathLike[str] | FailureLog | Sequence[FailureLaw],
    seed: int = 0,
    requeue: bool = True,
) -> Workload:
    """Return the workload on its machine with nodes that fail and return. No dispatcher knows of it before.

    On a pool each unit of its resource is a node. Failures are drawn until the last submission and twice the time that
    the work of all jobs takes on the whole machine. The last note in ``provenance`` says until when, and how many.

    Parameters
    ----------
    workload
        Jobs and machine; it is not changed.
    failures
        ``"mtbf=5y,repair=4h"`` for each node; of several classes, ``"nodes=0-63,mtbf=5y,repair=4h+nodes=64-99,..."``.
        With ``requeue=no`` jobs end as killed. Or the path of a log: CSV with the columns ``node`` (its index),
        ``begin`` and ``end``, seconds on the clock of the workload. Or a log that has been read, or laws.
    seed
        Of the random numbers.
    requeue
        Whether jobs return to the queue, with the work of their last checkpoint, after failures of a log or of a text
        that does not say so. Otherwise they end as killed.

    Raises
    ------
    InputError
        If a field is out of its range, or a node is not in the machine.
    OSError
        If the log cannot be read.

    Examples
    --------
    >>> from hpcdispatch.testing import cluster
    >>> from hpcdispatch.workloads import with_failures
    >>> failing = with_failures(cluster(), "mtbf=1d,repair=1h", seed=1)
    >>> failing.machine.outages[0].announced
    False
    """
    try:
        placed, period = _on_nodes(workload), _period(workload)
        machine = placed.machine
        if isinstance(failures, PathLike) or (isinstance(failures, str) and names_log(failures)):
            failures = FailureLog.read(failures)
        if isinstance(failures, FailureLog):
            outages = list(failures.outages(machine, requeue))
            source, told = str(failures.path), f"failures of nodes from {failures.path.name}"
            period = period[0], LONGEST
        else:
            laws = list(_laws(failures, requeue)) if isinstance(failures, str) else failures
            outages = _drawn(laws, machine, period, seed)
            source = failures if isinstance(failures, str) else f"{len(laws)} laws"
            told = f"failures of nodes drawn until t={period[1]:,}: {source}"
    except ValueError as error:
        raise InputError(str(error)) from None
    if placed is not workload:
        told += f"; each of the {machine.nodes:,} units of the pool is a node"
    outages.sort(key=lambda each: each.begin)
    drawn = {"source": source, "seed": seed, "count": len(outages), "until": period[1]}
    options = {**workload.provenance.options, "failures": drawn}
    notes = (*workload.provenance.notes, f"{len(outages):,} {told}")
    return replace(
        placed,
        machine=replace(machine, outages=(*machine.outages, *outages)),
        provenance=replace(workload.provenance, notes=notes, options=options),
    )


def names_log(text: str) -> bool:
    """Return whether a text is the path of a log, and not a law such as ``"mtbf=5y,repair=4h"``."""
    return "=" not in text or Path(text).exists()


def _on_nodes(workload: Workload) -> Workload:
    """Return the workload, on a pool with its units as nodes."""
    machine = workload.machine
    if machine.nodes > 1:
        return workload
    if len(machine.resources) > 1 or machine.rules.closing:
        what = ", ".join(machine.resources)
        raise ValueError(f"failures: expected a machine with nodes, got a pool of {what}; give a machine file")
    (name,) = machine.resources

    def asked(part: Job | Shape, per_node: Mapping[str, int]) -> dict[str, Any]:
        units = part.nodes * per_node.get(name, 0)
        return {"nodes": max(units, 1), "per_node": {name: min(units, 1)}}

    jobs = [
        replace(
            job,
            **asked(job, job.per_node),
            shapes=tuple(replace(each, **asked(each, each.per_node or job.per_node)) for each in job.shapes),
        )
        for job in workload.jobs
    ]
    nodes = replace(machine, capacity=np.ones((int(machine.capacity[0, 0]), 1), dtype=np.int64))
    return replace(workload, jobs=jobs, machine=nodes)


def _period(workload: Workload) -> tuple[int, int]:
    """Return between which times failures are drawn, seconds."""
    jobs, machine = workload.columns, workload.machine
    if not len(jobs):
        raise ValueError("failures: expected jobs, got a workload without any")
    primary = machine.resources[machine.primary]
    units = jobs.nodes * jobs.per_node.numbers(lambda amounts: amounts.get(primary, 0))
    work = float((units * jobs.runtime).sum()) / max(float(machine.capacity[:, machine.primary].sum()), 1.0)
    last = int(jobs.submit[-1])
    return int(jobs.submit[0]), last + 2 * math.ceil(work) + 2 * int(jobs.runtime.max()) + _DAY


def _laws(text: str, requeue: bool) -> Iterator[FailureLaw]:
    """Yield the laws of a specification."""
    for part in text.split("+"):
        given: dict[str, str] = {}
        for item in part.split(","):
            name, sign, value = item.partition("=")
            if not sign or name not in ("mtbf", "repair", "nodes", "requeue") or name in given:
                expected = "mtbf=5y,repair=4h, with nodes=0-63 and requeue=no if need be"
                raise ValueError(f"failures: expected {expected}, got {shown(item)}")
            given[name] = value
        for name in ("mtbf", "repair"):
            if name not in given:
                raise ValueError(f"failures: expected {name}= with a time, got {shown(part)}")
        again = given.get("requeue", "yes" if requeue else "no")
        check_choice("failures: requeue", again, ("yes", "no"))
        mtbf, repair = (_seconds(f"failures: {name}", given[name]) for name in ("mtbf", "repair"))
        yield FailureLaw(mtbf, repair, given.get("nodes", "all"), again == "yes")


def _seconds(name: str, text: str) -> int:
    """Return a time of at least a second, also in years."""
    number = text.removesuffix("y")
    try:
        years = float(number) if number != text else math.nan
    except ValueError:
        years = math.nan
    return seconds_option(name, text if math.isnan(years) else years * 365 * _DAY, 1)


def _drawn(laws: Sequence[FailureLaw], machine: Machine, period: tuple[int, int], seed: int) -> list[Outage]:
    rng = np.random.default_rng(seed)
    seen: set[int] = set()
    drawn: list[Outage] = []
    for law in laws:
        nodes = range(machine.nodes) if law.nodes == "all" else [int(node) for node in law.nodes]
        _check_nodes("failures", nodes, machine)
        if twice := seen.intersection(nodes):
            raise ValueError(f"failures: node {min(twice)} is in two classes")
        seen.update(nodes)
        expected = len(nodes) * (period[1] - period[0]) / (law.mtbf + law.repair)
        if expected > _MOST:
            raise ValueError(
                f"failures: expected at most {_MOST:,} of them, got about {expected:,.0f} with mtbf "
                f"{time_text(law.mtbf)}; the time is that of one node"
            )
        drawn += law.draw(nodes, *period, rng)
    return drawn


def _check_nodes(where: str, nodes: Sequence[int], machine: Machine) -> None:
    wrong = [node for node in nodes if not 0 <= node < machine.nodes]
    if wrong:
        raise ValueError(f"{where}: nodes must lie in 0..{machine.nodes - 1}, got {wrong[0]}")


def _rows(path: Path) -> Iterator[LoggedFailure]:
    """Yield the rows of a log."""

    def choose(heads: list[str]) -> Sequence[str]:
        if lacking := [name for name in COLUMNS if name not in heads]:
            raise InputError(f"{path}: expected columns {', '.join(COLUMNS)}, got none named {lacking[0]}")
        return COLUMNS

    for where, _, values in named_columns(path, choose, _MOST, "failures"):
        try:
            node, begin, end = (int(value or "") for value in values)
        except ValueError:
            given = ", ".join(f"{name}={shown(value)}" for name, value in zip(COLUMNS, values, strict=True))
            raise InputError(f"{where}: expected whole numbers, got {given}") from None
        yield LoggedFailure(where, node, begin, end)
