"""Which dispatchers and predictors the CP 2019 paper compares, and the jobs they are compared on here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from ....simulation import Result
from ....workloads import Machine, Workload, read
from ....workloads.fetching import fetch
from ....workloads.generators.eurora import EXPECTED_WAITS
from ...campaigns.samples import Generated, Loaders, Samples
from ..outcome import Means, Scale
from ..simulations import finished
from .months import Part, months_of

#: The paper's -D counts a job that outran its prediction as one of one more second.
PREDICTORS = {"W": "walltime", "R": "oracle", "D": "heuristic:correction=none"}
PCPS = ("PBS", "PCP1-W", "PCP1-R", "PCP1-D", "PCP2-D", "PCP3-W", "PCP3-R", "PCP3-D")
HCPS = ("PBS", "HCP", "HCP1-W", "HCP1-R", "HCP1-D", "HCP2-D", "HCP3-W", "HCP3-R", "HCP3-D")
#: Ours, and what else is to be beaten.
OTHERS = ("EASY-W", "EASY-D", "lookahead-D")
#: Queues by priority: the shorter the expected wait the higher.
QUEUES = ";".join(
    name for _, name in sorted((float(each.partition(":")[2]), each.partition(":")[0]) for each in EXPECTED_WAITS.split(";"))
)  # fmt: skip
#: What is simulated: the jobs of a draw, and how many draws. At full scale one draw is cut into its months.
JOBS: dict[Scale, int] = {"smoke": 1000, "small": 1500, "full": 400_000}
DRAWS: dict[Scale, int] = {"smoke": 1, "small": 5, "full": 1}
_HEAD: dict[Scale, int | None] = {"smoke": 25, "small": None, "full": None}
#: The budget, in jobs of each draw, of what cannot finish: version 0 of PCP, and HCP as its paper has it.
BUDGET: dict[Scale, int] = {"smoke": 10, "small": 100, "full": 400}
#: HPC2N: its machine, the jobs of a sample, and the first jobs of the samples, a year apart and more.
HPC2N_NODES, HPC2N_CORES = 120, 2
HPC2N_JOBS: dict[Scale, int] = {"smoke": 25, "small": 1500, "full": 10_000}
HPC2N_FIRST: dict[Scale, tuple[int, ...]] = {
    "smoke": (20_000,),
    "small": (20_000, 60_000, 100_000, 140_000, 180_000),
    "full": tuple(range(10_000, 190_000, 20_000)),
}

#: Labels to the independent parts that were simulated.
Runs = dict[str, list[Part]]


@dataclass(frozen=True)
class Contest:
    """The jobs of a reproduction.

    Attributes
    ----------
    samples
        One for each draw: jobs and how they are called.
    ewt
        The expected waits of the queues, as an option of the dispatchers of versions 0 to 2.
    queues
        Queues by priority, for PBS.
    monthly
        Whether a result is cut into months.
    """

    samples: tuple[Samples[Workload] | Samples[Generated], ...]
    ewt: str
    queues: str
    monthly: bool = False

    def spec(self, label: str) -> tuple[str, str]:
        """Return dispatcher and predictor of a label such as ``PCP3-D``; one without a predictor has the wall-time."""
        name, _, letter = label.partition("-")
        predictor = PREDICTORS[letter or "W"]
        if name == "PBS":
            return f"pbs:queues={self.queues}" if self.queues else "pbs", predictor
        options = [f"ewt={self.ewt}"] if name[3:] in ("", "1", "2") and name[1:3] == "CP" else []
        options += ["rest=out"] if name == "HCP" else []
        return name.lower() + ":" * bool(options) + ",".join(options), predictor

    def results(self, labels: Sequence[str], means: Means) -> Runs:
        """Return what was simulated of labels, part by part."""
        return dict(zip(labels, self.simulated([self.spec(label) for label in labels], means), strict=True))

    def simulated(self, pairs: Sequence[tuple[str, str]], means: Means, head: int | None = None) -> list[list[Part]]:
        """Return what was simulated of dispatchers and predictors, of the first `head` jobs of each draw."""
        loaders: Loaders = {}
        drawn = [_shortened(samples, head) for samples in self.samples]
        cells = [samples.cells(pairs, loaders) for samples in drawn]
        store = finished([cell for each in cells for row in zip(*each, strict=True) for cell in row], loaders, means)
        return [
            [part for each in cells for cell in each[place] for part in self._parts(store.result(cell))]
            for place in range(len(pairs))
        ]

    def _parts(self, result: Result) -> list[Part]:
        return months_of(result) if self.monthly else [Part.of(result)]


def _shortened(samples: Samples[Workload] | Samples[Generated], head: int | None) -> Samples[Workload] | Samples[Generated]:
    if head is None:
        return samples
    jobs = samples.workload
    if isinstance(jobs, Workload):
        return replace(samples, workload=jobs.head(head), label=f"{samples.label}, first {head}")
    shorter = min(head, jobs.head or head)
    return replace(samples, workload=Generated(jobs.spec, shorter), label=f"{samples.label}, first {shorter}")


def eurora(scale: Scale) -> Contest:
    """Return the draws of the workload ``eurora``."""
    jobs = Generated(f"eurora:jobs={JOBS[scale]}", _HEAD[scale])
    return Contest((Samples(jobs, DRAWS[scale], label=jobs.spec),), EXPECTED_WAITS, QUEUES, scale == "full")


@cache
def hpc2n(scale: Scale) -> Contest:
    """Return stretches of HPC2N, on its nodes; its jobs have one queue, and no names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = read(fetch("hpc2n"))
    whole = replace(trace, machine=Machine.homogeneous(HPC2N_NODES, core=HPC2N_CORES))
    count = HPC2N_JOBS[scale]
    stretches = tuple(
        Samples(whole.slice(first, first + count), label=f"jobs {first:,}-{first + count:,} of HPC2N")
        for first in HPC2N_FIRST[scale]
    )
    return Contest(stretches, "3600", "")


def notes(scale: Scale) -> tuple[str, ...]:
    """Return what was simulated on Eurora, and how it differs from the paper."""
    many = f"{DRAWS[scale]} draws" if DRAWS[scale] > 1 else "one draw"
    head = _HEAD[scale]
    jobs = f"{JOBS[scale]:,} jobs" if head is None else f"the first {head} of {JOBS[scale]:,} jobs"
    parts = ", cut into its months" if scale == "full" else ""
    return (
        f"Simulated: {many} of {jobs} of the workload eurora{parts}, on 64 nodes of 16 cores and 16 GB, half with 2 "
        "GPUs each, half with 2 MICs. It is a generator in the image of the paper's trace, which is not public. Jobs run "
        "for their real duration, also past the requested time, as the paper's do.",
        "-W: the requested time; -R: the real duration; -D: the data-driven heuristic, a job that outran it counting as "
        "one of one more second. Brackets: 95% bootstrap intervals of the mean over the draws or months.",
        "PBS is our model of the scheduler of the paper's machine: queues by priority, first come first served within, "
        "EASY backfilling by the requested times. The paper takes PBS from the trace.",
        "HCP is run as the authors' code has it: the jobs after the first 100 are not in the model. As the paper has it, "
        "at the end of the horizon, they leave no schedule once they are too many to run side by side.",
    )


def hpc2n_notes(scale: Scale) -> tuple[str, ...]:
    """Return what was simulated on HPC2N."""
    return (
        f"Simulated: {len(HPC2N_FIRST[scale])} stretches of {HPC2N_JOBS[scale]:,} jobs of HPC2N, which do not overlap, on "
        f"its {HPC2N_NODES} nodes of {HPC2N_CORES} cores. Jobs run for their real duration, also past the requested time.",
        "The log has one queue and no names of jobs. So nothing is told of queues and their expected waits (versions 0 to "
        "2 weigh all jobs alike), nor of a heuristic that goes by names. Each slot is a core, so that no job can lack a "
        "place on the nodes: PCP and HCP differ in their search alone.",
    )


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return float(np.mean(values))
