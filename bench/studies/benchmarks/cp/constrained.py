"""Random small simulations under a power cap and a maintenance window, counted second by second.

``python -m hpcdispatch.bench.studies.benchmarks.cp.constrained`` draws machines, jobs, caps and windows, and counts
watts and closed nodes from the records alone. Some requests are too short, predictions are wrong, and jobs are killed
at their requests. Beside it the same without the constraints, which shows what the count sees. Exit code 1 if one is
broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import NamedTuple

import click
import numpy as np

from .....dispatchers import create_dispatcher
from .....simulation import Result, simulate
from .....workloads import Job, Machine, Power, Reservation, Workload
from ....reports.tables import Table
from ...printed_tables import show

DISPATCHERS = ("hcp3", "pcp-fast", "pcp3", "hcp3:blocked=3", "hcp1", "pcp1", "hcp", "pcp")
_PREDICTORS = ("walltime", "last2", "heuristic", "oracle")
#: Steps of the local search and seconds of the solver: jobs are few.
_EFFORT = "iterations=50,d=0.0002,d_max=0.0004"


class Case(NamedTuple):
    """A workload and what it must meet.

    Attributes
    ----------
    workload
        Jobs and machine.
    cap, core, gpu
        Watts in all, and of a unit of each.
    nodes, begin, end, every
        The nodes that are closed in [begin, end), again after so many seconds, or ``None``.
    predictor
        What is believed of run times.
    """

    workload: Workload
    cap: int
    core: int
    gpu: int
    nodes: tuple[int, ...]
    begin: int
    end: int
    every: int | None
    predictor: str

    @property
    def ruled(self) -> Workload:
        """The workload on a machine that has both as rules."""
        closed = Reservation(self.begin, self.end, self.nodes, every=self.every)
        power = Power({"core": self.core, "gpu": self.gpu}, cap=self.cap)
        return replace(self.workload, machine=replace(self.workload.machine, reservations=(closed,), power=power))


def drawn(seed: int, jobs: int = 10) -> Case:
    """Return a random case."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 6))
    machine = Machine(("core", "gpu"), np.column_stack((rng.integers(2, 6, nodes), rng.integers(0, 3, nodes))))
    submit = np.cumsum(rng.integers(0, 20, jobs))
    runtime = rng.integers(0, 60, jobs)
    request = np.maximum((runtime * rng.uniform(0.7, 3, jobs)).astype(int), 1)
    made = []
    for index in range(jobs):
        node = machine.capacity[rng.integers(nodes)]
        per_node = {"core": int(rng.integers(1, node[0] + 1)), "gpu": int(rng.integers(0, node[1] + 1))}
        numbers = (int(submit[index]), int(runtime[index]), int(request[index]), int(rng.integers(1, 3)))
        made.append(Job(str(index), *numbers, per_node=per_node, user=f"u{rng.integers(3)}", name=f"j{index}"))
    core, gpu = int(rng.integers(5, 15)), int(rng.integers(20, 80))
    most = max(job.nodes * (core * job.per_node["core"] + gpu * job.per_node["gpu"]) for job in made)
    closed = np.sort(rng.permutation(nodes)[: rng.integers(1, nodes + 1)])
    begin = int(rng.integers(0, 150))
    end = begin + int(rng.integers(1, 80))
    every = end - begin + int(rng.integers(80, 250)) if rng.random() < 0.3 else None
    cap = int(most * rng.uniform(0.8, 1.6)) + 1
    return Case(Workload(tuple(made), machine), cap, core, gpu, tuple(closed.tolist()), begin, end, every,
                _PREDICTORS[seed // len(DISPATCHERS) % len(_PREDICTORS)])  # fmt: skip


def broken(case: Case, result: Result) -> set[str]:
    """Return which of the two a schedule breaks in some second."""
    jobs = {job.id: job for job in case.workload.jobs}
    last = int(result.attempts["end"].max()) if len(result.attempts) else 0
    second = np.arange(last)
    since = second - case.begin
    since = np.where(since >= 0, since % case.every, since) if case.every is not None else since
    shut = (since >= 0) & (since < case.end - case.begin)
    watts, wrong = np.zeros(last), set[str]()
    for id_, start, end, placement in zip(*(result.attempts[name] for name in ("id", "start", "end", "placement")),
                                          strict=True):  # fmt: skip
        per_node = jobs[id_].per_node
        watts[start:end] += len(placement) * (case.core * per_node.get("core", 0) + case.gpu * per_node.get("gpu", 0))
        if shut[start:end].any() and set(case.nodes) & set(placement.tolist()):
            wrong.add("maintenance")
    return wrong | ({"power"} if (watts > case.cap).any() else set())


def simulated(case: Case, name: str, constrained: bool) -> Result:
    """Return the records of a case under a dispatcher with or without the constraints."""
    spec = f"{name}{',' if ':' in name else ':'}"
    effort = _EFFORT if name not in ("hcp", "pcp") else _EFFORT.partition(",")[2]
    workload = case.ruled if constrained else case.workload
    return simulate(workload, create_dispatcher(f"{spec}{effort}"), case.predictor, overrun="kill")


class Count(NamedTuple):
    """What came of simulations of one dispatcher.

    Attributes
    ----------
    simulations, started, rejected
        How many, and jobs of them, with the constraints.
    kept, without
        How often each of the two was broken with and without the constraints.
    """

    simulations: int
    started: int
    rejected: int
    kept: Counter[str]
    without: Counter[str]


def counted(name: str, seeds: Sequence[int]) -> Count:
    """Simulate cases with and without their constraints."""
    kept, without, started, rejected = Counter[str](), Counter[str](), 0, 0
    for seed in seeds:
        case = drawn(seed)
        result = simulated(case, name, constrained=True)
        kept.update(broken(case, result))
        without.update(broken(case, simulated(case, name, constrained=False)))
        started += int((result.jobs["start"] >= 0).sum())
        rejected += int((result.jobs["status"] == "rejected").sum())
    return Count(len(seeds), started, rejected, kept, without)


def shares(simulations: int) -> Iterator[tuple[str, list[int]]]:
    """Yield each dispatcher with the seeds of its simulations."""
    names = list(islice(cycle(DISPATCHERS), simulations))
    for name in DISPATCHERS:
        yield name, [seed for seed, owner in enumerate(names) if owner == name]


@click.command(help=__doc__)
@click.option("--simulations", type=click.IntRange(min=1), default=1000, show_default=True, help="How many in all.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def main(simulations: int, as_markdown: bool) -> None:
    """Simulate and print; exit code 1 if a constraint is broken."""
    columns = ("dispatcher", "simulations", "jobs started", "rejected", "cap broken", "window broken",
               "cap broken without", "window broken without")  # fmt: skip
    rows, wrong = [], 0
    for name, seeds in shares(simulations):
        if seeds:
            count = counted(name, seeds)
            wrong += count.kept.total()
            numbers = [count.simulations, count.started, count.rejected]
            numbers += [table[what] for table in (count.kept, count.without) for what in ("power", "maintenance")]
            rows.append([name, *map(str, numbers)])
    note = "Counted second by second from the records; without: the same dispatcher that is told of neither."
    show(
        [Table("Random simulations under a power cap and a maintenance window", columns, rows, note=note)], as_markdown
    )
    if wrong:
        raise click.ClickException(f"{wrong} simulations break a constraint")


if __name__ == "__main__":
    main()
