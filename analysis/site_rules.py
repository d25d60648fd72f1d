"""The rules of a Slurm site as rules of its machine, which hold under every dispatcher."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..base import InputError
from ..workloads import Machine, Workload
from ..workloads.machine import with_rules
from ..workloads.machine_rules import Limit, Reservation, Rules
from ..workloads.slurm_conf import SlurmSite
from ..workloads.slurm_limits import NORMAL, Most, SlurmLimits
from ..workloads.slurm_reservations import SlurmReservation

#: What a dispatcher other than ``slurm`` does not have of a site: a setting, its usual values, and what it is.
_ABSENT = (
    ("PreemptType", ("", "preempt/none", "(null)"), "preemption"),
    ("PriorityWeightFairshare", ("", "0"), "fair share"),
    ("PriorityWeightAge", ("", "0"), "age and size in the priority"),
    ("PriorityWeightQOS", ("", "0"), "priority of QOS"),
    ("PriorityWeightPartition", ("", "0"), "priority of partitions"),
)


def machine_with_rules(
    workload: Workload, site: SlurmSite, limits: SlurmLimits | None, reservations: Sequence[SlurmReservation],
    epoch: int,
) -> Machine:  # fmt: skip
    """Return the machine of a site's jobs with its limits and reservations as rules.

    Parameters
    ----------
    workload
        The jobs; a reservation is for those that name it.
    site, limits, reservations
        Its configuration, what ``sacctmgr`` says, and what ``scontrol show reservation`` says.
    epoch
        Seconds since 1970 at time 0 of the workload.

    Raises
    ------
    InputError
        If two reservations exclude each other on a node.
    """
    named = {job.reservation for job in workload.jobs}
    kept = tuple(
        Reservation(max(each.start - epoch, 0), each.end - epoch, each.nodes, each.name if each.name in named else "")
        for each in reservations if each.end > epoch
    )  # fmt: skip
    found = tuple(_limits(limits, site, workload)) if limits is not None else ()
    rules = Rules(kept, workload.machine.outages, workload.machine.licences, found)
    try:
        return with_rules(workload.machine, rules)
    except ValueError as error:
        raise InputError(f"reservations: {error}") from None


def absent_rules(site: SlurmSite) -> list[str]:
    """Return what the site has and a dispatcher other than ``slurm`` does not: tiers, preemption, priorities."""
    settings = site.settings
    found = [told for key, usual, told in _ABSENT if settings.get(key.lower(), "").lower() not in usual]
    tiers = len({partition.tier for partition in site.partitions}) > 1
    return [*(["tiers of partitions"] if tiers else []), *found]


def _limits(limits: SlurmLimits, site: SlurmSite, workload: Workload) -> Iterator[Limit]:
    """Yield a limit of the machine for each of the site that some job counts in."""
    accounts = {job.group for job in workload.jobs}
    for (account, user), most in limits.groups.items():
        under = sorted(each for each in accounts if _below(each, account, limits))
        if under:
            yield from _both(
                most, "user" if user else "all", group=account if user else ";".join(under), user=user or "*"
            )
    for (account, user), most in limits.users.items():
        if account in accounts:
            yield from _both(most, "user", group=account, user=user or "*")
    for most_of, by in ((limits.quality, "all"), (limits.quality_users, "user")):
        for name, most in most_of.items():
            yield from _of_quality(name, most, most_of, by, site)


def _of_quality(
    name: str, most: Most, others: Mapping[str, Most], by: str, site: SlurmSite
) -> Iterator[Limit]:  # fmt: skip
    """Yield the limits of a QOS: for jobs in its partitions, and for jobs of it where their partition has none."""
    own = [partition.name for partition in site.partitions if partition.quality == name]
    for place, value in enumerate(most):
        if value is None:
            continue
        part = Most(*(value if other == place else None for other in range(len(most))))
        if own:
            yield from _both(part, by, queue=";".join(own))
        rest = [
            partition.name for partition in site.partitions
            if others.get(partition.quality, Most())[place] is None
        ]  # fmt: skip
        if rest:
            yield from _both(part, by, qos=name if name != NORMAL else f"{NORMAL};", queue=";".join(rest))


def _both(most: Most, by: str, **named: str) -> Iterator[Limit]:
    if most.jobs is not None:
        yield Limit(most.jobs, "jobs", by, **named)  # type: ignore[arg-type]
    if most.cpus is not None:
        yield Limit(most.cpus, "core", by, **named)  # type: ignore[arg-type]


def _below(account: str, above: str, limits: SlurmLimits) -> bool:
    """Return whether an account is another one, or below it."""
    seen = set[str]()
    while account not in seen:
        if account == above:
            return True
        seen.add(account)
        account = limits.parents.get(account, "")
    return False
