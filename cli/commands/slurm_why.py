"""``hpcdispatch slurm why``: explain why a job waits, and what would start it sooner."""

from dataclasses import asdict
from typing import Annotated, Any

from rich.console import RenderableType

from ...analysis.site_rules import site_limits
from ...analysis.waiting_reasons import Question, WaitingReason, why_waiting
from ...bench.reports.number_formats import count
from ...bench.reports.tables import Table
from ...dispatchers import Slurm
from ...dispatchers.protocol import JobView
from ...workloads import Job, Reservation
from ...workloads.slurm_limits import SiteLimits
from ..app import subcommand
from ..output import exact, finish, headed
from ..parameters import argument
from ..site_options import SnapshotFiles
from ..slurm_moment import SiteAnswers, SlurmMoment, moment_of


@subcommand(
    "why",
    "hpcdispatch slurm why 4711",
    "hpcdispatch slurm why 4711 --squeue squeue.json --sinfo sinfo.json --now 1795308804 --config slurm.conf "
    "--sacct jobs.sacct",
)
def why(
    job: Annotated[str, argument()],
    moment: SnapshotFiles,
    answers: SiteAnswers,
) -> None:
    """Explain why JOB waits: the limit, reservation, resource or job in its way, and what would start it sooner.

    Slurm's rules run forward without a change, then with one change at a time. Jobs run until their walltimes, and no
    new ones arrive.
    """
    with moment_of(moment, answers, "running Slurm's rules forward") as now:
        held = now.held(job)
        if held is not None and held.reason:
            _print_held(job, held.reason)
            return
        id_ = now.waiting(job)
        explanation = why_waiting(question_of(now), id_)
    waiting = now.snapshot.by_id()
    _print(explanation, waiting[id_].reason if id_ in waiting else "")


def question_of(now: SlurmMoment) -> Question:
    """Return the question for a moment."""
    jobs = now.workload.jobs
    machine = now.workload.machine
    rows = None if now.limits is None else SiteLimits(now.limits, now.site, machine)
    limits = [] if rows is None else site_limits(rows, jobs, machine)[0]
    reservations = [
        Reservation(max(start - now.zero, 0), end - now.zero, each.nodes, each.name)
        for each in now.reservations
        if each.nodes
        for start, end in each.spans(now.snapshot.now)
    ]

    def slurm(reserved: bool, limited: bool) -> Slurm:
        off = {"reservations": ""} if not reserved else {}
        return now.slurm(**off, **({"limits": ""} if not limited else {}))

    def beyond(one: Job) -> set[str]:
        return set() if rows is None else rows.over(JobView(one, machine))

    return Question(now.workload, now.state, slurm, limits, reservations, beyond, now.site.nodes)


def _print_held(job: str, reason: str) -> None:
    """Print a job that waits until a user changes it. The model does not plan such jobs."""
    said = f"it waits for {reason}, until its owner or an operator changes that"
    fields: dict[str, Any] = {"job": job, "kind": "held", "detail": said, "wait": None, "ahead": [], "sooner": []}
    finish(f"Job {job} never starts as it is: {said}.", {**fields, "slurm": reason})


def _print(explanation: WaitingReason, reason: str) -> None:
    rows = [(each.change, exact(each.wait)) for each in explanation.sooner]
    tables = [Table("", ("with", headed("it starts in")), rows).terminal()] if rows else []
    ahead = (
        f"Before it: {', '.join(explanation.ahead[:8])}{', ...' if len(explanation.ahead) > 8 else ''}"
        if explanation.ahead
        else ""
    )
    when = f"starts in {exact(explanation.wait)} at the latest" if explanation.wait >= 0 else "never starts"
    said = f"Slurm says {reason}. " if reason and reason != "None" else ""
    best = explanation.sooner[0] if explanation.sooner else None
    more = f" With {best.change} it starts in {exact(best.wait)}." if best is not None else ""
    waits = f"Job {explanation.job} {when} in the model: {explanation.detail}."
    lines: list[RenderableType] = [
        *filter(None, [said + count(len(explanation.ahead), "job") + " ahead", ahead]),
        *tables,
    ]
    fields = {**asdict(explanation), "sooner": [each._asdict() for each in explanation.sooner], "slurm": reason}
    finish(f"{waits}{more}", fields, *lines)
