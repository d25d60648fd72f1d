"""Compare version 0 of HCP with others while many jobs wait.

Version 0 takes so long on a long queue that it gets a budget of jobs. With an empty queue all versions do the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from .....workloads import Workload
from ....campaigns.samples import Samples
from ..outcome import Scale, StudySettings
from ..simulations import simulate_all
from .contenders import PREDICTORS, Contest, Runs, after_past
from .eurora import Draws
from .months import SimulatedPart

#: Dispatchers that version 0 is compared with.
LABELS = ("HCP", "HCP1-W", "HCP1-D", "HCP2-D", "HCP3-D", "lookahead-D")
AS_PRINTED = "HCP as printed"
#: A stretch begins when more jobs than this wait under EASY. The triggering job is its first. The paper has some 340
#: waiting jobs.
WAITING = 300
#: Jobs of a stretch that are measured. `PAST`: jobs before them, which EASY dispatches.
BUDGET: dict[Scale, int] = {"smoke": 10, "brief": 60, "small": 200, "full": 500}
PAST: dict[Scale, int] = {"smoke": 40, "brief": 1500, "small": 3000, "full": 5000}


@dataclass(frozen=True)
class CrowdJobs:
    """Some jobs of a sample. The first `past` are not measured."""

    jobs: Samples[Workload]
    past: int

    def simulated(self, pairs: list[tuple[str, str]], means: StudySettings) -> list[SimulatedPart]:
        """Return the simulations of dispatchers and predictors."""
        begun = [(after_past(self.past, dispatcher), predictor) for dispatcher, predictor in pairs]
        return [
            part
            for [part] in simulate_all(
                [(self.jobs, *pair) for pair in begun], means, partial(SimulatedPart.of, past=self.past)
            )
        ]


def crowd_begins(part: SimulatedPart, waiting: int = WAITING) -> int:
    """Return the row of `part.jobs`, by its label, where a long queue begins.

    At its submission more than `waiting` jobs first wait, or else most.
    """
    jobs = part.jobs
    started = np.searchsorted(np.sort(jobs["start"].to_numpy()), jobs["submit"].to_numpy(), side="right")
    many = np.arange(1, len(jobs) + 1) - started
    place = int(np.argmax(many > waiting) if (many > waiting).any() else np.argmax(many))
    return int(jobs.index[place])


def stretches(contest: Contest, means: StudySettings) -> list[CrowdJobs]:
    """Return one stretch of each sample or month. Only the queue under EASY decides which.

    Versions 0 to 2 cannot weigh jobs of a single queue. Such stretches are left out, unless all are such.
    """
    by_kind: dict[bool, list[CrowdJobs]] = {True: [], False: []}
    [drawn] = contest.samples
    assert isinstance(drawn.workload, Draws)
    whole: dict[int, Workload] = {}
    for number, part in enumerate(contest.results(("EASY-W",), means)["EASY-W"]):
        seed = 0 if contest.monthly else number
        workload = whole.setdefault(seed, drawn.workload(seed))
        first = crowd_begins(part)
        begin = max(first - PAST[means.scale], 0)
        end = first + BUDGET[means.scale]
        jobs = Samples(workload.slice(begin, end), label=f"{drawn.label}, jobs {begin:,}-{end:,} of seed {seed}")
        queues = {job.queue for job in workload.jobs[first:end]}
        by_kind[len(queues) > 1].append(CrowdJobs(jobs, max(first - begin, 1)))
    return by_kind[True] or by_kind[False]


def early(contest: Contest, means: StudySettings) -> Runs:
    """Return HCP as in its authors' code, and others on the same jobs. The last one is HCP as printed."""
    pairs = [contest.spec(label) for label in LABELS] + [(f"hcp:ewt={contest.ewt}", PREDICTORS["W"])]
    each = [stretch.simulated(pairs, means) for stretch in stretches(contest, means)]
    return dict(zip((*LABELS, AS_PRINTED), map(list, zip(*each, strict=True)), strict=True))


def note(scale: Scale, stretches: int) -> str:
    """Return which jobs version 0 was run on, and how many stretches."""
    return (
        f"HCP, version 0, has a budget: {BUDGET[scale]:,} jobs of each draw or month. They begin with the first job "
        f"that meets a queue of more than {WAITING} under EASY, or else with the longest queue. EASY dispatches the "
        f"{PAST[scale]:,} jobs before them. The other rows with a budget have the same jobs. Where all these jobs "
        f"are of one queue they are left out; there are {stretches}. It is run as the "
        "authors' code has it: the jobs after the first 100 are not in the model. As the paper has it, at the end of "
        "the horizon, they leave no schedule once they are too many to run side by side."
    )
