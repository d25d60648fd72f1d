"""Figure 8 of the ICPP 2019 paper. Two weeks of neuroscience applications on Intrepid (scenario 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from .....models.reservations import discretize, optimal_sequence
from .....workloads import Workload
from .....workloads.generators.applications import HOUR, frozen_law
from .....workloads.generators.intrepid import LARGE, NODES, SPAN, STREAM
from ....campaigns.samples import Generated
from ..claims import elsewhere
from ..outcome import Claim, ComparedFigure, Parameter, StudyOutcome, StudySettings
from . import strategies_compared as runs
from .strategies_compared import ALL_RESPONSE, ATOPT, HPC, METRICS, USE, Contender, Measured, better

#: Work rate of the small jobs on Intrepid (table 2).
RATE = 0.21
#: Printed ratio of ATOptimal over HPC, and with speculative backfilling.
SAID, SAID_SPECULATIVE = 1.2, 1.25
#: What the paper leaves open, as options of the generator.
VARIANTS: Mapping[str, str] = {
    "as printed": "",
    "FSL stochastic": "stream=stochastic",
    "all at 0": "together=true",
    "FSL stochastic, all at 0": "stream=stochastic,together=true",
}
#: Table 2 of the paper's log. The share of small jobs is that of all.
_LOG: Mapping[str, float] = {
    "jobs in the log, in two weeks": 68936 * 14 / 239,
    "small jobs, %": 30.8,
    "job size, nodes": 880.0,
    "job size, node hours": 3089.0,
    "small job size, nodes": 48.6,
    "small job size, node hours": 31.0,
    "rate of small work": RATE,
}


def fig8(means: StudySettings) -> StudyOutcome:
    """Return utilization and response time of two weeks on Intrepid."""
    seeds, size = runs.sizes("fig8", means)
    contenders = [
        Contender(name, over, speculative, f"rate={RATE}" if name == ATOPT else "")
        for over in runs.MOVING
        for name in (HPC, ATOPT)
        for speculative in (False, True)
    ] + runs.PLAIN[:1]
    most = size if means.scale == "smoke" else None
    drawn = {name: Generated(_spec(options), most) for name, options in VARIANTS.items()}
    values = runs.simulate({name: (jobs, contenders) for name, jobs in drawn.items()}, seeds, means)
    shown = (*METRICS, ALL_RESPONSE)
    drawn_ones = [contender.label for contender in contenders if contender.over == "batches"]
    panels = {
        f"{name}: {metric}": {label: each[label][metric] for label in drawn_ones}
        for name, each in values.items()
        for metric in METRICS
    }
    first = [drawn["as printed"](means.seed + seed) for seed in range(seeds)]
    rows = runs.rows(values, shown) + log_statistics(first) + (derivable(),)
    claims = list[Claim]()
    for name, each in values.items():
        own = fig8_claims(each, name)
        claims += elsewhere(own, name) if VARIANTS[name] else own
    return StudyOutcome(_notes(seeds, size), rows, tuple(claims), runs.bars(panels), (), _PARAMETERS, str(seeds))


def _spec(options: str) -> str:
    return "intrepid-neuroscience" + (f":{options}" if options else "")


_PARAMETERS = (
    Parameter(
        "processors of a job of FSL",
        "all alike, as many as give the work rate",
        "the printed rate of 0.21",
        "0.21 may instead be the share of FSL in the job-hours, with the processors of the others",
    ),
    Parameter("law of the other processors", "Beta(2, 2)", "one of the four printed laws", "not measured"),
    Parameter("what is known of FSL, and when jobs are submitted", "four variants", "none is chosen", "all are shown"),
)


def _notes(seeds: int, size: int) -> tuple[str, ...]:
    hours = {
        name: count * float(frozen_law("truncnorm", law).mean()) / HOUR
        for name, count, law in (STREAM, *((name, count, law) for name, (count, law) in LARGE.items()))
    }
    fsl = hours[STREAM[0]]
    total = sum(hours.values())
    return (
        *runs.NOTES,
        f"Runs: {seeds} of {size} submissions within two weeks, a quarter of them large. The paper does not say "
        "whether its response time is that of the large jobs or of all. The jobs are fewer than would fill the "
        "machine. EASY is not in the figure. It stands for a scheduler with reservations that move up when jobs end "
        "early.",
        f"The headline is refuted as printed: with the printed laws no sequence can save a fifth of the reserved "
        f"time (see its row). The printed work rate, {RATE}, is also FSL's share of the job-hours: "
        f"{fsl:.1f} of {total:.1f}, {fsl / total:.3f}.",
        "Rows with a number of the paper: its Table 2, of the log of eight months, beside the generated jobs.",
    )


def reserved_hours() -> dict[str, tuple[int, float, float]]:
    """Return submissions and hours reserved under HPC and at best. They cover the applications with a law."""
    by_application = {}
    for name, (count, hours) in LARGE.items():
        law = frozen_law("truncnorm", hours)
        low, high = law.support()
        best = optimal_sequence(discretize(law, low, high, 200)).expected_makespan
        by_application[name] = count, high / HOUR, best / HOUR
    return by_application


def derivable() -> ComparedFigure:
    """Return the largest saving in reserved time by sequences, %. The laws are the printed ones."""
    each = reserved_hours()
    before = sum(count * hours for count, hours, _ in each.values())
    after = sum(count * hours for count, _, hours in each.values())
    subject = "the printed laws, best sequences against HPC"
    return ComparedFigure(
        subject, "reserved time that is saved, %", 100 * (1 - after / before), 100 * (SAID - 1), digits=1
    )


def log_statistics(drawn: list[Workload]) -> tuple[ComparedFigure, ...]:
    """Return Table 2's values of the log, beside the generated jobs."""
    figures: dict[str, list[float]] = {name: [] for name in _LOG}
    for workload in drawn:
        jobs = workload.jobs
        nodes = np.array([job.nodes for job in jobs])
        work = nodes * np.array([job.runtime for job in jobs]) / HOUR
        small = np.array([job.name == STREAM[0] for job in jobs])
        numbers = (
            len(jobs),
            100 * small.mean(),
            nodes.mean(),
            work.mean(),
            nodes[small].mean(),
            work[small].mean(),
            work[small].sum() / (NODES * SPAN / HOUR),
        )
        for name, number in zip(_LOG, numbers, strict=True):
            figures[name].append(float(number))
    return tuple(
        ComparedFigure("generated jobs beside the log", name, float(np.mean(values)), _LOG[name], digits=2)
        for name, values in figures.items()
    )


def fig8_claims(each: Mapping[str, Measured], variant: str) -> Iterator[Claim]:
    """Yield the claims of figure 8: two weeks on Intrepid."""
    tried = {name: f"{name} speculative" for name in (HPC, ATOPT)}
    sequences = (
        ("ATOptimal", ATOPT, SAID, "+20% utilization, -20% response time"),
        ("ATOptimal with speculative backfilling", tried[ATOPT], SAID_SPECULATIVE, "25-30%"),
    )
    others = (
        (f"{variant}: HPC is better with speculative backfilling", tried[HPC], HPC, "better"),
        (f"{variant}: ATOptimal is better with speculative backfilling", tried[ATOPT], ATOPT, "better"),
        (
            f"Ours: {variant}: ATOptimal is better than HPC also when reservations move up",
            f"{ATOPT} EASY",
            f"{HPC} EASY",
            "",
        ),
    )
    for metric in (*METRICS, ALL_RESPONSE):
        for name, label, gain, said in sequences:
            pair = runs.pair_over([each], metric, label, HPC)
            factor = gain if metric == USE else 2 - gain
            yield better(f"{variant}: {name} is better than HPC", metric, *pair, said)
            text = f"{variant}: {name} gains as much as published, {100 * (factor - 1):+.0f}%"
            yield better(text, metric, *pair, said, factor=factor)
        for text, label, other, said in others:
            yield better(text, metric, *runs.pair_over([each], metric, label, other), said)


__all__ = ["RATE", "USE", "VARIANTS", "derivable", "fig8", "fig8_claims", "log_statistics", "reserved_hours"]
