"""Dispatchers and predictors that the CP 2019 paper compares. The module also selects the jobs for the comparison."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from .....base import parse_spec
from .....simulation import Result
from .....workloads import Machine, Workload, read
from .....workloads.fetching import fetch
from ....campaigns.samples import Samples
from ..outcome import Scale, StudySettings
from ..simulations import simulate_all
from .eurora import EXPECTED_WAITS, Draws, eurora_machine
from .months import SimulatedPart, months_of

#: The paper's -D gives an overrunning job one more second.
PREDICTORS = {"W": "walltime", "R": "oracle", "D": "heuristic:correction=none"}
PCPS = (
    "FCFS-W",
    "EASY-W",
    "PBS",
    "PCP1-W",
    "PCP1-R",
    "PCP1-D",
    "PCP2-D",
    "PCP3-W",
    "PCP3-R",
    "PCP3-D",
    "FAST-W",
    "FAST-R",
    "FAST-D",
)
HCPS = ("FCFS-W", "EASY-W", "PBS", "HCP1-W", "HCP1-R", "HCP1-D", "HCP2-D", "HCP3-W", "HCP3-R", "HCP3-D")
#: FAST is ours: PCP3 that assigns nodes only to the jobs that start now. Queue priorities: a shorter expected wait
#: gives a higher one.
_WAITS = [each.partition(":") for each in EXPECTED_WAITS.split(";")]
QUEUES = ";".join(name for name, _, wait in sorted(_WAITS, key=lambda each: float(each[2])))
#: Jobs of a sample, how many of them EASY dispatches first, and how many samples. At full scale one is cut into its
#: months.
JOBS: dict[Scale, int] = {"smoke": 1000, "brief": 3000, "small": 6000, "full": 400_000}
PAST: dict[Scale, int] = {"smoke": 40, "brief": 1500, "small": 3000, "full": 0}
#: Fewer than 1,000 jobs cannot be generated. This many of them are simulated.
_HEAD: dict[Scale, int | None] = {"smoke": 60, "brief": None, "small": None, "full": None}
DRAWS: dict[Scale, int] = {"smoke": 1, "brief": 5, "small": 5, "full": 1}
#: The budget of PCP's version 0, which cannot finish. In jobs of each sample, counted from the first one.
PCP_BUDGET: dict[Scale, int] = {"smoke": 5, "brief": 10, "small": 20, "full": 100}
#: HPC2N: its machine, the jobs of a stretch, and how many EASY dispatches first. Then the first jobs, at least a year
#: apart.
HPC2N_NODES, HPC2N_CORES = 120, 2
HPC2N_JOBS: dict[Scale, int] = {"smoke": 60, "brief": 1000, "small": 3500, "full": 10_000}
HPC2N_PAST: dict[Scale, int] = {"smoke": 40, "brief": 700, "small": 2500, "full": 2000}
HPC2N_FIRST: dict[Scale, tuple[int, ...]] = {
    "smoke": (20_000,),
    "brief": (20_000, 60_000, 100_000, 140_000, 180_000),
    "small": (20_000, 60_000, 100_000, 140_000, 180_000),
    "full": tuple(range(10_000, 190_000, 20_000)),
}


def in_time(labels: Sequence[str], means: StudySettings) -> tuple[str, ...]:
    """Return the labels without the paper's PCP at the scale ``brief``. A decision of it takes up to half a second."""
    return tuple(label for label in labels if means.scale != "brief" or not label.startswith("PCP"))


#: Stretches of a trace, or samples.
Drawn = Samples[Workload] | Samples[Draws]
#: Labels to the independent parts that were simulated.
Runs = dict[str, list[SimulatedPart]]


@dataclass(frozen=True)
class Contest:
    """The jobs of a reproduction.

    Attributes
    ----------
    samples
        Samples, or one for each stretch.
    ewt
        The expected waits of the queues. Dispatchers of versions 0 to 2 take them as an option.
    queues
        Queues by priority, for PBS.
    past
        The first jobs of each sample. EASY dispatches them, and they are not measured.
    monthly
        Whether a result is cut into months.
    named
        Whether the jobs have names.
    """

    samples: tuple[Drawn, ...]
    ewt: str
    queues: str
    past: int = 0
    monthly: bool = False
    named: bool = True

    @property
    def nodes(self) -> int:
        """Of the machine."""
        first = self.samples[0].workload
        return first.machine.nodes if isinstance(first, Workload) else eurora_machine().nodes

    def spec(self, label: str) -> tuple[str, str]:
        """Return dispatcher and predictor of a label such as ``PCP3-D``. A label without a letter uses the walltime."""
        name, _, letter = label.partition("-")
        predictor = PREDICTORS[letter or "W"]
        if name == "PBS":
            return f"pbs:queues={self.queues}" if self.queues else "pbs", predictor
        if name == "FAST":
            return "pcp-fast", predictor
        options: list[str] = [f"ewt={self.ewt}"] if name in _WEIGHING else []
        options += ["rest=out"] if name == "HCP" else []
        return name.lower() + ":" * bool(options) + ",".join(options), predictor

    def results(self, labels: Sequence[str], means: StudySettings) -> Runs:
        """Return the simulations of labels, part by part."""
        return dict(zip(labels, self.simulated([self.spec(label) for label in labels], means), strict=True))

    def simulated(self, pairs: Sequence[tuple[str, str]], means: StudySettings) -> list[list[SimulatedPart]]:
        """Return the simulations of dispatchers and predictors."""
        if self.past:
            pairs = [(after_past(self.past, dispatcher), predictor) for dispatcher, predictor in pairs]
        return self._parts(pairs, means, None, self.past)

    def cold(self, pairs: Sequence[tuple[str, str]], means: StudySettings, head: int) -> list[list[SimulatedPart]]:
        """Return the same for the first `head` jobs, without an EASY phase."""
        return self._parts(pairs, means, head, 0)

    def _parts(
        self, pairs: Sequence[tuple[str, str]], means: StudySettings, head: int | None, past: int
    ) -> list[list[SimulatedPart]]:
        drawn = [samples if head is None else _shortened(samples, head) for samples in self.samples]

        def parts(result: Result) -> list[SimulatedPart]:
            return months_of(result) if self.monthly and head is None else [SimulatedPart.of(result, past)]

        results = simulate_all([(samples, *pair) for pair in pairs for samples in drawn], means, parts)
        size = len(drawn)
        return [
            [part for each in results[size * place : size * (place + 1)] for seed in each for part in seed]
            for place in range(len(pairs))
        ]


#: Dispatchers that weigh jobs by their queues' expected waits.
_WEIGHING = ("PCP", "PCP1", "PCP2", "HCP", "HCP1", "HCP2")


def after_past(past: int, dispatcher: str) -> str:
    """Return the spec of a dispatcher that begins after the EASY phase."""
    return f"warm-start:jobs={past},over=" + dispatcher.replace(",", "/")


def _shortened(samples: Drawn, head: int) -> Drawn:
    jobs = samples.workload
    label = f"{samples.label}, first {head}"
    if isinstance(jobs, Workload):
        return Samples(jobs.head(head), samples.seeds, label=label)
    shorter = head if jobs.head is None else min(head, jobs.head)
    return Samples(replace(jobs, head=shorter), samples.seeds, label=label)


def eurora(means: StudySettings) -> Contest:
    """Return the samples of :func:`.eurora`."""
    scale = means.scale
    jobs = Draws(JOBS[scale], _HEAD[scale])
    draws = Samples(jobs, len(means.draws(DRAWS)), label=f"eurora:jobs={JOBS[scale]}")
    return Contest((draws,), EXPECTED_WAITS, QUEUES, PAST[scale], scale == "full")


@cache
def _whole_hpc2n() -> Workload:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(fetch("hpc2n"), machine=Machine.homogeneous(HPC2N_NODES, core=HPC2N_CORES))


def hpc2n(means: StudySettings) -> Contest:
    """Return stretches of HPC2N, on its nodes. Its jobs have one queue and no names.

    Another seed takes the stretches behind those of the previous seed. Another number spreads them over the log.
    """
    count = HPC2N_JOBS[means.scale]
    stretches = tuple(
        Samples(_whole_hpc2n().slice(first, first + count), label=f"jobs {first:,}-{first + count:,} of HPC2N")
        for first in hpc2n_firsts(means)
    )
    return Contest(stretches, "3600", "", HPC2N_PAST[means.scale], named=False)


def hpc2n_firsts(means: StudySettings) -> list[int]:
    """Return the first job of each stretch."""
    firsts = HPC2N_FIRST[means.scale]
    if means.seeds is not None:
        firsts = tuple(np.linspace(10_000, 185_000, means.seeds).astype(int).tolist())
    last = len(_whole_hpc2n()) - HPC2N_JOBS[means.scale]
    return [(first + means.seed * HPC2N_JOBS[means.scale]) % last for first in firsts]


def stopped(contest: Contest, means: StudySettings) -> Runs:
    """Return PCP's version 0 under its budget, and version 1 on the same jobs.

    Both begin at the first job of each sample.
    """
    jobs = PCP_BUDGET[means.scale]
    pcp = f"pcp:ewt={contest.ewt},d=0.005,d_max=0.005", PREDICTORS["W"]
    results = contest.cold([pcp, contest.spec("PCP1-W")], means, jobs)
    return {f"{label}, first {jobs} jobs": parts for label, parts in zip(("PCP", "PCP1-W"), results, strict=True)}


def varied(contest: Contest, variants: Mapping[str, tuple[str, str]], means: StudySettings) -> Runs:
    """Return dispatchers with another value of an option, by label."""
    pairs = []
    for label, option in variants.values():
        dispatcher, predictor = contest.spec(label)
        name, given = parse_spec(dispatcher)
        key, _, value = option.partition("=")
        options = {**given, key: value}
        pairs.append((name + ":" + ",".join(f"{key}={options[key]}" for key in options), predictor))
    return dict(zip(variants, contest.simulated(pairs, means), strict=True))


def notes(means: StudySettings) -> tuple[str, ...]:
    """Return what was simulated on Eurora. The notes also say how it differs from the paper."""
    scale = means.scale
    jobs = _HEAD[scale] or JOBS[scale]
    what = (
        "one draw of 400,000 jobs of the workload eurora, cut into its months"
        if scale == "full"
        else f"draws of the workload eurora, {runs_of(means)} of {jobs:,} jobs each, of which EASY dispatches the "
        f"first {PAST[scale]:,}; the last {jobs - PAST[scale]:,} are measured"
    )
    return (
        f"Simulated: {what}. The machine has 64 nodes of 16 cores and 16 GB, half with 2 GPUs each, half with 2 MICs. "
        "The workload is a generator in the image of the paper's trace, which is not public. Jobs run for their real "
        "duration, also past the walltime, as the paper's do.",
        "-W: the walltime; -R: the real duration; -D: the data-driven heuristic, a job that outran it counting "
        "as one of one more second. Brackets: intervals of the mean over the draws or months.",
        "PCP1 to PCP3 are the paper's model: a conditional interval for each job and node, a cumulative for each node "
        "and resource. FAST is ours: PCP3 in which only the jobs that start now have nodes. Limits are deterministic."
        + " At this scale PCP is not run: a decision takes up to half a second."
        * (scale == "brief"),
        "PBS is our model of the scheduler of the paper's machine. It has queues by priority, first come first served "
        "within them, and EASY backfilling by the walltimes. The paper takes PBS from the trace.",
    )


def runs_of(means: StudySettings) -> str:
    """Return the number of samples of the workload."""
    return str(len(means.draws(DRAWS)))


def hpc2n_notes(means: StudySettings) -> tuple[str, ...]:
    """Return what was simulated on HPC2N."""
    scale = means.scale
    return (
        f"Simulated: {len(hpc2n_firsts(means))} stretches of {HPC2N_JOBS[scale]:,} jobs of HPC2N, which do not "
        f"overlap, on its {HPC2N_NODES} nodes of {HPC2N_CORES} cores; EASY dispatches the first "
        f"{HPC2N_PAST[scale]:,} of each, and the others are measured. Jobs run for their real duration, "
        "also past the walltime.",
        "The log has one queue and no names of jobs. So nothing is told of queues and their expected waits (versions 0 "
        "to 2 weigh all jobs alike), nor of a heuristic that goes by names. Each slot is a core, so that no job can "
        "lack a place on the nodes: PCP and HCP differ in their search alone.",
    )
