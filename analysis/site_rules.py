"""Convert the rules of a Slurm site to rules of its machine. Those hold under every dispatcher."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ..base import InputError
from ..dispatchers.protocol import JobView
from ..workloads import Job, Limit, Machine, Reservation, Workload
from ..workloads.formats.slots import GPU, MEMORY
from ..workloads.machine import with_rules
from ..workloads.machine_rules import MachineRules
from ..workloads.slurm_conf import APART, GPU_TYPE, SlurmSite
from ..workloads.slurm_limits import JOBS, SiteLimits, SlurmLimits
from ..workloads.slurm_reservations import SlurmReservation

#: Rules of a site that only ``slurm`` has: a setting, its usual values, and its description.
_ABSENT = (
    ("PreemptType", ("", "preempt/none", "(null)"), "preemption"),
    ("PriorityWeightFairshare", ("", "0"), "fair share"),
    ("PriorityWeightAge", ("", "0"), "age and size in the priority"),
    ("PriorityWeightQOS", ("", "0"), "priority of QOS"),
    ("PriorityWeightPartition", ("", "0"), "priority of partitions"),
)


@dataclass(frozen=True, slots=True)
class SiteLimit:
    """A limit of a site as a limit of its machine.

    Attributes
    ----------
    whose
        Its owner, as in ``QOS capped of user ann``.
    limit
        The limit.
    """

    whose: str
    limit: Limit


def under_rules(
    workload: Workload,
    site: SlurmSite,
    limits: SlurmLimits | None,
    reservations: Sequence[SlurmReservation],
    epoch: int,
    running: Collection[str] = (),
) -> tuple[Workload, list[str]]:
    """Return the jobs of a site on a machine with its rules, and the rules that are missing.

    A job that exceeds a limit by itself is held: it waits for ever. If it runs already, no limit counts it.

    Parameters
    ----------
    workload
        The jobs.
    site, limits, reservations
        Its configuration, the output of ``sacctmgr``, and that of ``scontrol show reservation``.
    epoch
        Seconds since 1970 at time 0 of the workload.
    running
        Jobs that run when the simulation begins.

    Raises
    ------
    InputError
        If two reservations exclude each other on a node.
    """
    asked = {job.reservation for job in workload.jobs}
    kept = tuple(
        machine_reservation(each, epoch, asked, workload.machine)
        for each in reservations
        if each.nodes and (each.end > epoch or each.repeat)
    )
    named = {each.name for each in kept}
    missing = absent_rules(site)
    machine_limits: list[SiteLimit] = []
    jobs = [job if job.reservation in named else replace(job, reservation="") for job in workload.jobs]
    if limits is not None:
        rows = SiteLimits(limits, site, workload.machine)
        machine_limits, left_out = site_limits(rows, jobs, workload.machine)
        missing += left_out
        for place, job in enumerate(jobs):
            if rows.over(JobView(job, workload.machine)):
                beyond = {"qos": f"{job.qos} beyond a limit"} if job.id in running else {"hold": True}
                jobs[place] = replace(job, **beyond)
    machine = workload.machine
    rules = MachineRules(kept, machine.outages, machine.licences, tuple(each.limit for each in machine_limits))
    try:
        return replace(workload, jobs=tuple(jobs), machine=with_rules(machine, rules)), missing
    except ValueError as error:
        raise InputError(f"reservations: {error}") from None


def machine_reservation(
    reservation: SlurmReservation, epoch: int, asked: Collection[str], machine: Machine
) -> Reservation:
    """Return a reservation of Slurm as one of the machine. It has a name if jobs name it."""
    begin, end = reservation.start - epoch, reservation.end - epoch
    if reservation.repeat:  # The first one at or after time 0.
        later = -(begin // reservation.repeat) * reservation.repeat
        begin, end = begin + later, end + later
    amounts = None
    if reservation.cores:
        amounts = {machine.resources[machine.primary]: max(reservation.cores)}
    name = reservation.name if reservation.name in asked else ""
    every = reservation.repeat or None
    return Reservation(max(begin, 0), end, reservation.nodes, name, amounts, every=every)


def site_limits(limits: SiteLimits, jobs: Iterable[Job], machine: Machine) -> tuple[list[SiteLimit], list[str]]:
    """Return the limits of the jobs as limits of the machine, and those that have no such form."""
    members: dict[tuple[tuple[str, ...], str, int], list[tuple[str, str, str, str]]] = {}
    for user, group, queue, qos in dict.fromkeys((job.user, job.group, job.queue, job.qos) for job in jobs):
        one = JobView(Job("any", 0, 0, 1, user=user, group=group, queue=queue, qos=qos), machine)
        for whose, most in limits.groups(one):
            for name, amount in most.items():
                members.setdefault((whose, name, amount), []).append((user, group, queue, qos))
    machine_limits, left_out = [], dict[str, None]()
    resources = {JOBS: JOBS, "cpu": machine.resources[machine.primary], "mem": MEMORY, "gres/gpu": GPU, "node": APART}
    for (whose, name, amount), among in members.items():
        of = resources.get(name, name.replace("gres/gpu:", GPU_TYPE))
        if of == JOBS or of in machine.resources:
            machine_limits.append(SiteLimit(_told(whose), Limit(amount, of, "all", among=tuple(among))))
        else:
            left_out[f"limit of {name}"] = None
    return machine_limits, list(left_out)


def absent_rules(site: SlurmSite) -> list[str]:
    """Return the rules of the site that only ``slurm`` has: tiers, preemption, priorities."""
    settings = site.settings
    rules = [told for key, usual, told in _ABSENT if settings.get(key.lower(), "").lower() not in usual]
    tiers = len({partition.tier for partition in site.partitions}) > 1
    return [*(["tiers of partitions"] if tiers else []), *rules]


def _told(whose: tuple[str, ...]) -> str:
    """Return the owner of a limit in words."""
    kind, *names = whose
    first = {"quality": "QOS", "association": "account", "user": "account"}[kind.partition(" ")[0]]
    second = "account" if kind == "quality account" else "user"
    return f"{first} {names[0]}" + (f" of {second} {names[1]}" if len(names) > 1 and names[1] else "")
