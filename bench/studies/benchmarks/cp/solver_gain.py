"""Where does CP-SAT pay? The CP dispatchers with CP-SAT, with local search alone, and with list schedules alone.

``python -m hpcdispatch.bench.studies.benchmarks.cp.solver_gain`` varies what should favour a solver. Loads are 0.9 to
1.1 on several resources. Jobs arrive in batches, are wide on few nodes, or are moldable. There is a power cap and one
by the hour. Plans may have blocked jobs. Every sample is simulated with each of the three. Every decision with CP-SAT
is also put to the other two. Predictions are the real run times. So a better plan is worth the most. A control has no
solver where the others have one. All its differences from local search must be zero.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, NamedTuple

import click
import numpy as np

from .....base import FloatArray
from .....dispatchers import Action, Dispatcher, Start, State, create_dispatcher
from .....dispatchers.registered import reported, reset_part
from .....models.moldable import DowneyLaw
from .....simulation import simulate, violations
from .....workloads import Job, Machine, Power, Provenance, Workload, generate, mold
from .....workloads.job import ResourceMap
from ....reports.tables import Table
from ...intervals import ratio_of_means
from ...one_line_errors import in_one_line
from ...printed_tables import show
from .on_nodes import eurora_stream, machine

#: Nodes of the machines with several resources, and of those with wide jobs.
MIXED, FEW = 8, 6
#: Samples, jobs of each, and both of a smoke test.
SEEDS = 10
JOBS = 100
#: Jobs of a sample under a rule over whole plans. The rule links all jobs of a plan. With 100 jobs decisions take up to
#: their whole budget.
RULED_JOBS = 40
SMALL_SEEDS = 2
SMALL_JOBS = 12
#: What is left out for local search alone and for list schedules alone.
SEARCH = "solver=none"
LISTS = "solver=none,iterations=0"
METRICS = ("wait_mean", "bounded_slowdown_mean")
#: Statuses of decisions that no plan was made for.
UNPLANNED = {"none", "trivial", "unchanged"}


def packed(jobs: int, seed: int, load: float) -> Workload:
    """Sample jobs for cores, memory and accelerators on a few nodes of two kinds."""
    return eurora_stream(jobs, seed, load, MIXED)


def batches(jobs: int, seed: int, load: float) -> Workload:
    """Draw the same jobs, all of an hour submitted at its end."""
    drawn = packed(jobs, seed, load)
    rows = tuple(replace(job, submit=(job.submit // 3600 + 1) * 3600) for job in drawn.jobs)
    return Workload(rows, drawn.machine, Provenance(f"batches(jobs={jobs}, seed={seed}, load={load})"))


def wide(jobs: int, seed: int, load: float) -> Workload:
    """Sample jobs that take whole, half or quarter nodes.

    They use 1 to all nodes of one or both kinds. Arrivals are a Poisson process.
    """
    rng = np.random.default_rng(seed)
    made = machine(FEW)
    drawn = []
    for _ in range(jobs):
        accelerator = str(rng.choice(("", "", "gpu", "mic")))
        amounts = {"core": int(rng.choice((4, 8, 16))), "mem": int(rng.choice((2, 8, 16)))}
        if accelerator:
            amounts[accelerator] = 1
        slots = int(rng.integers(1, (FEW // 2 if accelerator else FEW) + 1))
        drawn.append((slots, ResourceMap(amounts), int(np.exp(rng.uniform(np.log(300), np.log(6 * 3600))))))
    work = sum(slots * took * np.array(made.demand(amounts)) for slots, amounts, took in drawn)
    length = float((work / made.capacity.sum(axis=0))[:2].max()) / load
    submits = np.sort(rng.integers(0, round(length), size=jobs)).tolist()
    rows = [
        Job(f"job{number}", submit, took, took, slots, amounts)
        for number, (submit, (slots, amounts, took)) in enumerate(zip(submits, drawn, strict=True))
    ]
    return Workload(tuple(rows), made, Provenance(f"wide(jobs={jobs}, seed={seed}, load={load})"))


def capped(jobs: int, seed: int, load: float) -> Workload:
    """Sample jobs as :func:`packed` does, on a machine with running jobs that use at most 900 W."""
    workload = packed(jobs, seed, load)
    power = Power({"core": 12, "gpu": 150}, cap=900)
    return replace(workload, machine=replace(workload.machine, power=power))


def moldable(jobs: int, seed: int, load: float) -> Workload:
    """Sample jobs of Lublin and Feitelson on 64 processors. Each has up to five sizes by Downey's model."""
    return mold(generate("lublin", seed=seed, jobs=jobs, processors=64, load=load), DowneyLaw(), 5, seed)


def of_users(jobs: int, seed: int, load: float) -> Workload:
    """Sample jobs of Lublin and Feitelson on 64 processors, of a few users."""
    return generate("lublin", seed=seed, jobs=jobs, processors=64, load=load)


class GainCase(NamedTuple):
    """A case: a label, jobs of a load, the dispatcher with its solver and rules, and the jobs of a sample."""

    label: str
    draw: Callable[[int, int, float], Workload]
    load: float
    dispatcher: str
    jobs: int = JOBS

    def made(self, without: str = "") -> Dispatcher:
        """Return the dispatcher, or it without some parts."""
        name, _, options = self.dispatcher.partition(":")
        kept = [option for option in options.split(",") if option and not (without and option.startswith("solver="))]
        options = ",".join((*kept, without) if without else kept)
        return create_dispatcher(f"{name}:{options}" if options else name)


#: 1,536 W from 8 to 20 o'clock, else 900 W, with 12 W per core.
HOURLY = "power-by-hour(1536;8;20;otherwise=900;watts=12)"
#: Rules of a site on the jobs of Lublin and Feitelson.
RULES = {
    "two users never together": "never-together(1;2)",
    "two jobs of each user": "at-most(user;2)",
    "jobs 10 to 19 before 20 to 29": "precedence(1?;2?)",
    "core hours of each user and day": "share(user;300;period=86400)",
    "40 cores from 8 to 20 o'clock": "power-by-hour(40;8;20)",
    "user 2 ends within a day": "deadline(86400;user=2)",
}
#: The paper's model places every planned job on nodes. The other places only jobs that start now.
FULL, FAST = "pcp3", "pcp-fast"
CASES = (
    *(GainCase(f"packing, load {load:g}", packed, load, name) for load in (0.9, 1.0, 1.1) for name in (FAST, FULL)),
    *(GainCase("packing in batches, load 1", batches, 1.0, name) for name in ("hcp3", FAST, FULL)),
    *(GainCase(f"wide jobs, load {load:g}", wide, load, name) for load in (0.9, 1.1) for name in (FAST, FULL)),
    *(GainCase("power cap, load 1", capped, 1.0, name) for name in (FAST, FULL)),
    *(GainCase("power by the hour, load 1", packed, 1.0, f"{name}:constraints={HOURLY}") for name in (FAST, FULL)),
    *(
        GainCase(f"rule: {label}", of_users, 0.9, f"{FAST}:constraints={rule}", RULED_JOBS)
        for label, rule in RULES.items()
    ),
    *(GainCase("blocked jobs planned, load 1", packed, 1.0, f"{name}:blocked=5") for name in (FAST, FULL)),
    *(GainCase("blocked wide jobs planned, load 1", wide, 1.0, f"{name}:blocked=5") for name in (FAST, FULL)),
    GainCase("moldable, load 1", moldable, 1.0, "hcp3:molds=true"),
)
CONTROL = GainCase("control: no solver, load 1", batches, 1.0, f"{FULL}:solver=none")


class Shadowed:
    """A dispatcher that puts each of its decisions to others as well. Nothing of theirs starts.

    Attributes
    ----------
    planned
        Decisions of a plan.
    of_solver
        Those that follow a schedule of CP-SAT.
    differ
        Those in which other jobs start than under each of the others, or elsewhere or on another shape.
    seconds
        CPU time of each decision.
    """

    def __init__(self, dispatcher: Dispatcher, others: Sequence[Dispatcher] = ()) -> None:
        self._made = (dispatcher, *others)

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Begin a simulation: all have the same random numbers."""
        seed = int(rng.integers(2**32))
        for made in self._made:
            reset_part(made, machine, np.random.default_rng(seed))
        self.planned, self.of_solver, self.differ = 0, 0, [0] * (len(self._made) - 1)
        self.seconds: list[float] = []

    def report(self) -> Mapping[str, Any]:
        """Return what the dispatcher reports."""
        return reported(self._made[0])

    def dispatch(self, state: State) -> Sequence[Action]:
        """Decide, and call the others."""
        begin = process_time()
        actions = self._made[0].dispatch(state)
        self.seconds.append(process_time() - begin)
        self.planned += self.report()["status"] not in UNPLANNED
        self.of_solver += self.report()["used"] == "cp-sat"
        for number, other in enumerate(self._made[1:]):
            self.differ[number] += _started(other.dispatch(state)) != _started(actions)
        return actions


def _started(actions: Sequence[Action]) -> set[tuple[int, object]]:
    """Return the jobs that start, each with its shape."""
    return {(action.job.order, action.shape) for action in actions if isinstance(action, Start)}


@dataclass(frozen=True)
class Gain:
    """What CP-SAT brings in one case, over all samples.

    Attributes
    ----------
    case
        What was varied.
    decisions, planned, of_solver, beside_lists, beside_search
        Decisions: all, those of a plan, those by CP-SAT's schedule, those with other starts than lists, than local
        search.
    metrics
        Of each sample with lists alone, local search alone and CP-SAT, by metric, shape (samples, 3).
    ms
        Mean CPU time of a decision with each, milliseconds.
    """

    case: GainCase
    decisions: int
    planned: int
    of_solver: int
    beside_lists: int
    beside_search: int
    metrics: dict[str, FloatArray]
    ms: Sequence[float]

    def row(self) -> list[str]:
        """Return the row of the table."""
        ratios = [_ratio(self.metrics[metric], against) for metric in METRICS for against in (0, 1)]
        counts = (self.decisions, self.planned, self.of_solver, self.beside_lists, self.beside_search)
        times = (f"{ms:.2f}" for ms in self.ms)
        return [self.case.label, self.case.dispatcher, *(f"{count:,}" for count in counts), *ratios, *times]


def _ratio(values: FloatArray, against: int) -> str:
    """Return the metric with CP-SAT over that without, with its interval over the samples."""
    ratio, low, high = ratio_of_means(values[:, 2], values[:, against])
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]" if np.isfinite([ratio, low, high]).all() else "-"


def gain(case: GainCase, jobs: int, seeds: int) -> Gain:
    """Simulate all samples of a case three times; every schedule is checked.

    Raises
    ------
    RuntimeError
        If a schedule breaks an invariant.
    """
    counts = np.zeros(5, dtype=np.int64)
    values = np.zeros((len(METRICS), seeds, 3))
    seconds: list[list[float]] = [[], [], []]
    for seed in range(seeds):
        workload = case.draw(jobs, seed, case.load)
        shadows = case.made(LISTS), case.made(SEARCH)
        for column, shadowed in enumerate(
            (Shadowed(case.made(LISTS)), Shadowed(case.made(SEARCH)), Shadowed(case.made(), shadows))
        ):
            result = simulate(workload, shadowed, predictor="oracle", seed=seed)
            for broken in violations(workload, result):
                raise RuntimeError(f"{case.dispatcher}, {workload.provenance}: {broken}")
            summary = result.summary()
            values[:, seed, column] = [float(summary[metric]) for metric in METRICS]
            seconds[column] += shadowed.seconds
        counts += [len(shadowed.seconds), shadowed.planned, shadowed.of_solver, *shadowed.differ]
    ms = [1e3 * float(np.mean(each)) for each in seconds]
    decisions, planned, of_solver, beside_lists, beside_search = counts.tolist()
    by_metric = dict(zip(METRICS, values, strict=True))
    return Gain(case, decisions, planned, of_solver, beside_lists, beside_search, by_metric, ms)


def table(cases: Sequence[GainCase], jobs: int | None, seeds: int, say: Callable[[str], None]) -> Table:
    """Return what CP-SAT brings in some cases. `jobs` replaces the jobs of a sample of each case."""
    rows = []
    for case in cases:
        say(f"{case.label}, {case.dispatcher}")
        rows.append(gain(case, jobs or case.jobs, seeds).row())
    columns = (
        "case",
        "dispatcher",
        "decisions",
        "planned",
        "by CP-SAT",
        "other than lists",
        "other than local search",
        "wait / lists",
        "wait / local search",
        "slowdown / lists",
        "slowdown / local search",
        "ms, lists",
        "ms, local search",
        "ms, CP-SAT",
    )
    sizes = dict.fromkeys(jobs or case.jobs for case in cases)
    note = (
        f"Jobs a sample: {', '.join(map(str, sizes))}. By CP-SAT: the decision follows a schedule that CP-SAT found. "
        "Other than: other jobs start than with lists alone, or with lists and local search alone, in the same state. "
        "Ratios: the mean with CP-SAT over that without, bounded slowdown, with an interval over the "
        "samples. Time: mean CPU time of a decision. Run times are known. Every schedule passed the independent check."
    )
    return Table(f"What CP-SAT brings, {seeds} samples a row", columns, rows, 2, note=note)


def _say(what: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"running: {what}", err=True)


@click.command(help=__doc__)
@click.option("--case", "only", metavar="WORDS", default="", help="Only cases with these words in their label.")
@click.option("--jobs", type=click.IntRange(min=2), help=f"Of a sample.  [default: {JOBS}; {RULED_JOBS} under rules]")
@click.option("--seeds", type=click.IntRange(min=1), help=f"Samples of a case.  [default: {SEEDS}]")
@click.option("--small", is_flag=True, help="Smoke test: few jobs, two samples.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(only: str, jobs: int | None, seeds: int | None, small: bool, as_markdown: bool) -> None:
    """Print the table."""
    cases = [case for case in (*CASES, CONTROL) if only in case.label]
    if not cases:
        raise click.BadParameter(f"expected words of {', '.join(case.label for case in CASES)}; got {only!r}")
    jobs = jobs or (SMALL_JOBS if small else None)
    seeds = seeds or (SMALL_SEEDS if small else SEEDS)
    show([table(cases, jobs, seeds, _say)], as_markdown)


if __name__ == "__main__":
    main()
