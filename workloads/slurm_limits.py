"""Read associations and qualities of service from ``sacctmgr``: limits, priorities, and preemption."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from os import PathLike
from pathlib import Path
from typing import Protocol, TypeAlias

from ..base import LONGEST, InputError, IntArray, read_bounded, shown
from ..base.checks import LARGEST
from .formats.sacct_fields import kilobytes_of
from .formats.slots import GPU, MEMORY
from .machine import Machine
from .machine_rules import NamedJob
from .slurm_conf import APART, GPU_TYPE, SlurmSite, slurm_seconds

#: The quality of service of jobs that name none, if their association has no other.
NORMAL = "normal"
#: Limits by the name of what they limit: :data:`JOBS`, ``cpu``, ``mem`` (kilobytes), ``gres/gpu``, ``gres/gpu:a100``.
#: With :data:`MINUTES` before the name, they limit the remaining minutes of running jobs times the amount.
Most: TypeAlias = Mapping[str, int]
JOBS = "jobs"
MINUTES = "minutes of "
WALL = "wall"
_MOST_BYTES = 1 << 24
#: The account above all others.
ROOT = "root"
#: The first column of each table.
_ASSOCIATIONS, _QUALITIES = "Account", "Name"
#: Columns of limits: on all jobs together, per user, per account, per job.
_ALL = {"GrpJobs": JOBS, "GrpTRES": "", "GrpTRESRunMins": MINUTES}
_OF_USERS = {"MaxJobsPU": JOBS, "MaxTRESPU": "", "MaxTRESRunMinsPU": MINUTES}
_OF_ACCOUNTS = {"MaxJobsPA": JOBS, "MaxTRESPA": "", "MaxTRESRunMinsPA": MINUTES}
_OF_JOBS = {"MaxTRES": "", "MaxTRESMins": MINUTES, "MaxWall": WALL}
#: Limits at submission, and limits of total usage. None is modelled: recorded jobs have passed the former.
PASSED = (
    "GrpSubmit",
    "MaxSubmit",
    "MaxSubmitPU",
    "MaxSubmitPA",
    "GrpTRESMins",
    "GrpWall",
    "UsageThres",
    "MaxTRESPerNode",
    "MaxJobsAccruePU",
    "MaxJobsAccruePA",
    "MaxJobsAccrue",
    "GrpJobsAccrue",
    "MinPrioThresh",
    "LimitFactor",
)
#: Other names of columns: the full names of options, and names printed with blanks.
_SPELLED = {
    "parname": "ParentName",
    "parentname": "ParentName",
    "maxjobsperuser": "MaxJobsPU",
    "maxtresperuser": "MaxTRESPU",
    "maxsubmitjobsperuser": "MaxSubmitPU",
    "maxjobsperaccount": "MaxJobsPA",
    "maxtresperaccount": "MaxTRESPA",
    "maxtresperjob": "MaxTRES",
    "maxwalldurationperjob": "MaxWall",
    "maxtresminsperjob": "MaxTRESMins",
    "grptresrunmin": "GrpTRESRunMins",
    "grptresrunminutes": "GrpTRESRunMins",
    "defaultqos": "DefQOS",
    "maxsubmitjobs": "MaxSubmit",
    "grpsubmitjobs": "GrpSubmit",
    "usagethreshold": "UsageThres",
} | {
    name.lower(): name
    for name in (
        *_ALL,
        *_OF_USERS,
        *_OF_ACCOUNTS,
        *_OF_JOBS,
        *PASSED,
        "Account",
        "User",
        "Name",
        "Cluster",
        "Partition",
        "DefQOS",
        "Priority",
        "Preempt",
        "PreemptMode",
        "UsageFactor",
        "Flags",
        "MinTRES",
        "GraceTime",
        "PreemptExemptTime",
    )
}


@dataclass(frozen=True, slots=True)
class SlurmAssociation:
    """An account, or a user in one.

    Attributes
    ----------
    all
        Of its jobs together (``GrpJobs``, ``GrpTRES``, ``GrpTRESRunMins``), with those of accounts below it.
    most_jobs
        ``MaxJobs``, of each user in an account; ``None``: that of the account above.
    job
        Of each job (``MaxTRES``, ``MaxTRESMins``, ``MaxWall``, seconds).
    parent
        The account above; empty for the root.
    qos
        ``DefQOS``; empty: none.
    shares
        ``Share``; ``None``: not given, or that of the account above.
    inherits
        Whether it shares what the account above has (``Share=parent``).
    """

    all: Most = field(default_factory=dict)
    most_jobs: int | None = None
    job: Most = field(default_factory=dict)
    parent: str = ""
    qos: str = ""
    shares: int | None = None
    inherits: bool = False


@dataclass(frozen=True, slots=True)
class SlurmQos:
    """A quality of service.

    Attributes
    ----------
    priority, usage_factor
        ``Priority`` and ``UsageFactor``.
    preempt, preempt_mode
        The names of those that its jobs preempt, and how its own jobs are preempted. The mode is in lower case;
        ``cluster`` means that of the cluster.
    flags
        In lower case, such as ``overpartqos``.
    all, users, accounts, job
        Limits of all its jobs, of those per user and per account, and of each job.
    least
        Least request of a job (``MinTRES``).
    exempt
        Seconds that its jobs run before they may be preempted (``PreemptExemptTime``); ``None``: those of the cluster.
    """

    priority: int = 0
    usage_factor: float = 1.0
    preempt: tuple[str, ...] = ()
    preempt_mode: str = "cluster"
    flags: frozenset[str] = frozenset()
    all: Most = field(default_factory=dict)
    users: Most = field(default_factory=dict)
    accounts: Most = field(default_factory=dict)
    job: Most = field(default_factory=dict)
    least: Most = field(default_factory=dict)
    exempt: int | None = None


def member(associations: Collection[tuple[str, str]], account: str, user: str, partition: str) -> str:
    """Return the name of a user in associations, for jobs in a partition.

    A user may have an association for one partition (``User=ann Partition=gpu``). It counts for jobs in that partition
    in place of the user's plain association. Its name is ``ann/gpu``.
    """
    own = f"{user}/{partition}"
    return own if (account, own) in associations else user


@dataclass(frozen=True, slots=True)
class SlurmLimits:
    """The output of ``sacctmgr`` on jobs.

    Attributes
    ----------
    associations
        By account and user; the user of an account is empty. See :func:`member` for those of a partition.
    qualities
        By name.
    passed
        Limits that are given and not modelled, with their values, as in ``MaxSubmitPU=20``.
    guesses
        What the output does not have, what is guessed in its place, and the effect.
    """

    associations: Mapping[tuple[str, str], SlurmAssociation] = field(default_factory=dict)
    qualities: Mapping[str, SlurmQos] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()

    def member(self, account: str, user: str, partition: str) -> str:
        """Return the name of a user in the associations for jobs in a partition, see :func:`member`."""
        return member(self.associations, account, user, partition)

    def above(self, account: str) -> Iterator[str]:
        """Yield an account and those above it."""
        seen = set[str]()
        while account and account not in seen:
            seen.add(account)
            yield account
            account = self.associations.get((account, ""), SlurmAssociation()).parent

    def associated(self, account: str, user: str) -> Iterator[SlurmAssociation]:
        """Yield the associations of a user: its own first, then those of the accounts above."""
        for key in ((account, user), *((each, "") for each in self.above(account))):
            if key in self.associations:
                yield self.associations[key]

    def quality_of(self, name: str, account: str, user: str) -> str:
        """Return the name of a job's quality of service: its own, that of its association, or :data:`NORMAL`."""
        return name or next((each.qos for each in self.associated(account, user) if each.qos), NORMAL)


class LimitedJob(NamedJob, Protocol):
    """The fields of a job that decide its limits and its use of them."""

    @property
    def nodes(self) -> int: ...  # noqa: D102
    @property
    def walltime(self) -> int: ...  # noqa: D102
    @property
    def per_node(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def exclusive(self) -> bool: ...  # noqa: D102
    @property
    def licences(self) -> Mapping[str, int]: ...  # noqa: D102


class SiteLimits:
    """The limits of a site for its jobs.

    Parameters
    ----------
    limits
        The output of ``sacctmgr``.
    site
        The configuration. Its partitions may have a quality of service. ``None``: none.
    machine
        The machine.
    """

    def __init__(self, limits: SlurmLimits, site: SlurmSite | None, machine: Machine) -> None:
        self._limits, self._machine = limits, machine
        self._of_partition = {each.name: each.quality for each in site.partitions} if site else {}
        self._members = {each.name: list(each.nodes) for each in site.partitions} if site else {}

    def name_of(self, job: LimitedJob) -> str:
        """Return the name of the quality of service of a job."""
        user = self._limits.member(job.group, job.user, job.queue)
        return self._limits.quality_of(job.qos, job.group, user)

    def quality(self, job: LimitedJob) -> SlurmQos:
        """Return the quality of service of a job."""
        return self._limits.qualities.get(self.name_of(job), SlurmQos())

    def amounts(self, job: LimitedJob, placed: IntArray | None = None, *, whole: bool = True) -> dict[str, int]:
        """Return the total amounts of a job, by Slurm's names. On known nodes, an exclusive job uses all cores.

        GPUs without a requested type count as those of the type of its nodes. Not `whole`: an exclusive job counts with
        the cores that it requests.
        """
        capacity = self._machine.capacity
        primary = self._machine.primary
        nodes = job.nodes if APART in job.per_node else 1
        names = {MEMORY: "mem", GPU: "gres/gpu", self._machine.resources[primary]: "cpu"}
        amounts = {
            names.get(name, name.replace(GPU_TYPE, "gres/gpu:")): job.nodes * amount
            for name, amount in job.per_node.items()
        }
        if not whole:
            pass
        elif job.exclusive and placed is None:
            amounts["cpu"] = int(capacity[self._members.get(job.queue) or slice(None), primary].min()) * nodes
        elif job.exclusive:
            amounts["cpu"] = int(capacity[placed, primary].sum())
        if placed is not None:
            nodes = len(placed)
            for at, name in enumerate(self._machine.resources):
                plain = name.startswith(GPU_TYPE) and amounts.get("gres/gpu")
                if plain and (capacity[placed, at] > 0).all():
                    amounts.setdefault(name.replace(GPU_TYPE, "gres/gpu:"), amounts["gres/gpu"])
        amounts |= {"node": nodes, "billing": amounts.get("cpu", 0)}
        return amounts | {f"license/{name}": count for name, count in job.licences.items()}

    def total(self, partition: str) -> dict[str, int]:
        """Return what the nodes of a partition have, by Slurm's names."""
        machine = self._machine
        nodes = self._members.get(partition) or list(range(machine.nodes))
        sums = machine.capacity[nodes].sum(axis=0).tolist()
        names = {MEMORY: "mem", GPU: "gres/gpu", machine.resources[machine.primary]: "cpu"}
        totals = {
            names.get(name, name.replace(GPU_TYPE, "gres/gpu:")): int(amount)
            for name, amount in zip(machine.resources, sums, strict=True)
        }
        totals |= {"node": len(nodes), "billing": totals["cpu"]}
        return totals | {f"license/{name}": count for name, count in machine.licences.items()}

    def groups(self, job: LimitedJob) -> Iterator[tuple[tuple[str, ...], Most]]:
        """Yield the limits that apply to a job, with their owners: associations, those above, and both QOS.

        If both qualities of service limit the same amount, that of the partition has priority. With the flag
        ``OverPartQOS``, the job's own has priority.
        """
        limits = self._limits
        account = job.group
        user = limits.member(account, job.user, job.queue)
        associations = limits.associations
        most_jobs = [each.most_jobs for each in limits.associated(account, user) if each.most_jobs is not None]
        if most_jobs:
            yield ("user", account, user), {JOBS: most_jobs[0]}
        for key in ((account, user), *((above, "") for above in limits.above(account))):
            if key in associations:
                yield ("association", *key), associations[key].all
        own = self.name_of(job)
        partition = self._of_partition.get(job.queue, "")
        names = [own, partition] if "overpartqos" in self.quality(job).flags else [partition, own]
        before = SlurmQos()
        for name in dict.fromkeys(filter(None, names)):
            quality = limits.qualities.get(name, SlurmQos())
            for kind, most, taken in (
                (("quality", name), quality.all, before.all),
                (("quality user", name, job.user), quality.users, before.users),
                (("quality account", name, account), quality.accounts, before.accounts),
            ):
                yield kind, {each: amount for each, amount in most.items() if each not in taken}
            before = quality

    def over(self, job: LimitedJob) -> set[str]:
        """Return the limits that a job exceeds by itself. Such a job waits for ever."""
        user = self._limits.member(job.group, job.user, job.queue)
        minutes = -(-job.walltime // 60)
        plain = self.amounts(job)
        amounts = plain | {f"{MINUTES}{name}": amount * minutes for name, amount in plain.items()}
        amounts |= {WALL: 60 * minutes, JOBS: 1}
        quality = self.quality(job)
        partition = self._limits.qualities.get(self._of_partition.get(job.queue, ""), SlurmQos())
        above = [each.job for each in self._limits.associated(job.group, user)]
        most = [most for _, most in self.groups(job)] + [{**quality.job, **partition.job}, *above]
        least = [least for each in (quality, partition) for least in each.least.items()]
        limits = {name for each in most for name, amount in each.items() if amounts.get(name, 0) > amount}
        return limits | {name for name, amount in least if amounts.get(name, 0) < amount}


def read_slurm_limits(path: str | PathLike[str], cluster: str = "") -> SlurmLimits:
    """Read the output of ``sacctmgr -P show assoc`` and ``sacctmgr -P show qos``, with any columns.

    It is in one file, or in several with ``;`` between their names. Tables with other columns of the same rows extend
    them. Without ``ParentName``, the accounts above others are guessed from the order of the rows.

    Parameters
    ----------
    path
        The files.
    cluster
        ``ClusterName``: associations of other clusters are left out. Empty: those of all clusters count.

    Raises
    ------
    InputError
        For a line without a header, or an invalid value, with file and line. Also if there is no content, or only
        associations of other clusters.
    """
    associations: dict[tuple[str, str], SlurmAssociation] = {}
    qualities: dict[str, SlurmQos] = {}
    passed: dict[str, None] = {}
    tables: dict[tuple[str, ...], tuple[str, dict[str, str]]] = {}
    others = dict[str, None]()
    for part in str(path).split(";"):
        for where, row in _rows(Path(part)):
            if cluster and row.get("Cluster", cluster).lower() != cluster.lower():
                others[row["Cluster"]] = None
                continue
            key = tuple(row.get(name, "") for name in (_QUALITIES, _ASSOCIATIONS, "User", "Partition"))
            tables[key] = where, tables.get(key, ("", {}))[1] | row
    usual = ("", "1.000000", "1", "0.000000", "0")
    for where, row in tables.values():
        passed |= dict.fromkeys(f"{name}={row[name]}" for name in PASSED if row.get(name, "") not in usual)
        if _ASSOCIATIONS in row:
            share = row.get("Share", row.get("Fairshare", ""))
            user = "/".join(filter(None, (row.get("User", ""), row.get("Partition", ""))))
            associations[row[_ASSOCIATIONS], user] = SlurmAssociation(
                _most(row, _ALL, where),
                _whole(row.get("MaxJobs", ""), where),
                _most(row, _OF_JOBS, where),
                row.get("ParentName", ""),
                row.get("DefQOS", ""),
                int(share) if share.isdecimal() else None,
                share.lower() == "parent",
            )
        else:
            qualities[row[_QUALITIES]] = _quality(row, where)
    if others and not associations:
        listed = ", ".join(list(others)[:5])
        raise InputError(f"{path}: expected associations of cluster {shown(cluster)}, got those of {listed}")
    if not associations and not qualities:
        raise InputError(f"{path}: expected what sacctmgr -P show assoc or qos prints, got no line of it")
    guesses = []
    columns = {name for _, row in tables.values() if _ASSOCIATIONS in row for name in row}
    if associations and "ParentName" not in columns:
        guessed = _guessed_parents([row for _, row in tables.values() if _ASSOCIATIONS in row])
        for account, parent in guessed.items():
            associations[account, ""] = replace(associations[account, ""], parent=parent)
        if len(guessed) > 1:
            guesses.append(
                f"{path} has no ParentName: which account is above which is guessed from their order, and decides fair "
                "share and limits of accounts; print it with sacctmgr show assoc format=...,ParentName"
            )
    if associations and not columns & {"Share", "Fairshare"}:
        guesses.append(
            f"{path} has no Share: all accounts and users have equal shares, which decides the order of jobs"
        )
    return SlurmLimits(associations, qualities, tuple(passed), tuple(guesses))


def _guessed_parents(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the account above each account, guessed from the order of the rows.

    sacctmgr prints each account before the accounts below it, and sorts those of one level by name. So an account
    without users of its own is above the next one if that name comes earlier in the alphabet. An account without users
    has the level of the last such account; any other is beside the account before it.
    """
    accounts = [row[_ASSOCIATIONS] for row in rows if not row.get("User") and not row.get("Partition")]
    with_users = {row[_ASSOCIATIONS] for row in rows if row.get("User")}
    parents: dict[str, str] = {}
    above: list[str] = []  # accounts without users, the last one innermost
    before = ""
    for account in accounts:
        if account == ROOT:
            continue
        if before and before not in with_users and account < before:
            above.append(before)
        elif account not in with_users and above and account > above[-1]:
            above.pop()
        parents[account] = above[-1] if above else ROOT
        before = account
    return parents


def _quality(row: Mapping[str, str], where: str) -> SlurmQos:
    factor = row.get("UsageFactor", "") or "1"
    exempt = row.get("PreemptExemptTime", "")
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", factor):
        raise InputError(f"{where}: field 'UsageFactor': expected a number, got {shown(factor)}")
    every, users, accounts, one, least = (
        _most(row, columns, where) for columns in (_ALL, _OF_USERS, _OF_ACCOUNTS, _OF_JOBS, {"MinTRES": ""})
    )
    return SlurmQos(
        _whole(row.get("Priority", ""), where) or 0,
        float(factor),
        tuple(filter(None, row.get("Preempt", "").split(","))),
        row.get("PreemptMode", "").lower() or "cluster",
        frozenset(filter(None, row.get("Flags", "").lower().split(","))),
        every,
        users,
        accounts,
        one,
        least,
        slurm_seconds(exempt, where) if exempt else None,
    )


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of all tables, each with its place."""
    header: list[str] = []
    text = read_bounded(path, "limits of Slurm", _MOST_BYTES).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split("|")]
        where = f"{path}:{number}"
        if {_ASSOCIATIONS, "User"} <= set(cells) or cells[0] == _QUALITIES:
            header = [_SPELLED.get(cell.lower().replace(" ", ""), cell) for cell in cells]
        elif line.strip():
            if not header:
                raise InputError(
                    f"{where}: expected the first line of sacctmgr -P show assoc or qos, got {shown(line)}"
                )
            if len(cells) != len(header):
                raise InputError(f"{where}: expected {len(header)} fields of sacctmgr -P, got {len(cells)}")
            yield where, dict(zip(header, cells, strict=True))


def _most(row: Mapping[str, str], columns: Mapping[str, str], where: str) -> Most:
    """Return the limits in some columns by the name of what they limit."""
    limits: dict[str, int] = {}
    for column, kind in columns.items():
        text = row.get(column, "")
        if kind == JOBS:
            count = _whole(text, where)
            limits |= {} if count is None else {JOBS: count}
        elif kind == WALL:
            wall = slurm_seconds(text, where) if text else None
            limits |= {} if wall is None else {WALL: wall}
        else:
            for part in filter(None, text.split(",")):
                name, _, amount = part.partition("=")
                number = kilobytes_of(amount) if name == "mem" else int(amount) if amount.isdecimal() else nan
                if not name or not number <= LARGEST:
                    raise InputError(f"{where}: field {column!r}: expected NAME=N, got {shown(part)}")
                limits[f"{kind}{name.lower()}"] = int(number)
    return limits


def _whole(text: str, where: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > len(str(LONGEST)):
        raise InputError(f"{where}: expected a whole number up to {LONGEST}, got {shown(text)}")
    return int(text)
