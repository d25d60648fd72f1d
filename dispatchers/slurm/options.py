"""Options of Slurm's scheduler, with the names and defaults of ``slurm.conf``."""

import re
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Annotated, TypedDict

from ...base import LONGEST, InputError, shown
from ...base.checks import MOST_PROCESSORS, MOST_STEPS, Checked, whole
from ...models.slurm.backfill import BackfillRules
from ...models.slurm.priorities import Weights
from ...workloads.slurm_conf import SlurmSite, read_slurm_conf, slurm_seconds
from ...workloads.slurm_reservations import SlurmReservation, read_slurm_reservations

_MINUTE = 60
_MOST_TESTS = ("bf_max_job_user", "bf_max_job_part", "bf_max_job_assoc", "bf_max_job_user_part")
_Interval = Annotated[int, whole(1, LONGEST)]
_Seconds = Annotated[int, whole(0, LONGEST)]
_Tests = Annotated[int, whole(1, MOST_STEPS)]
_Count = Annotated[int, whole(0, 2**32 - 1)]
_WHOLE = re.compile(r"(\d{1,15})(?: \w+)?")


@dataclass(frozen=True)
class SlurmOptions(Checked):
    """Options of the scheduler in ``slurm.conf``. Defaults are those of Slurm 22.05.

    Attributes
    ----------
    config
        A ``slurm.conf``, or the output of ``scontrol show config``, ``partition`` and ``node -o``. It sets the
        partitions, and all options not given here.
    bf_interval
        Seconds between two backfill cycles.
    bf_window
        How far ahead backfill plans, minutes.
    bf_resolution
        Time grid of backfill's reservations, seconds.
    bf_max_job_test
        Jobs that a backfill cycle considers.
    bf_max_job_array_resv
        Tasks per array for which a backfill cycle reserves nodes.
    bf_max_job_user, bf_max_job_part, bf_max_job_assoc, bf_max_job_user_part
        Jobs that a backfill cycle considers per user, per partition, per association, and per user in a partition. 0
        for all.
    bf_max_job_start
        Jobs that a backfill cycle starts. 0 for all.
    bf_min_prio_reserve
        Least priority for which backfill reserves nodes. A job with less starts at once or not.
    bf_busy_nodes
        Whether backfill plans later starts on nodes with jobs first.
    batch_sched_delay
        Least seconds between two runs of the main scheduler.
    sched_interval
        Seconds between two full passes of the main scheduler.
    default_queue_depth
        Jobs that its other passes consider.
    partition_job_depth
        Jobs per partition that it considers. 0 for all.
    KillWait
        Seconds between the end of a job's walltime and its end.
    PriorityWeightAge
        Weight of the time in the queue. Without any weight, jobs are ordered by submission.
    PriorityWeightFairshare
        Weight of the rank in the fair tree.
    PriorityWeightJobSize
        Weight of the size.
    PriorityWeightPartition
        Weight of the partition's ``PriorityJobFactor``.
    PriorityWeightQOS
        Weight of the QOS's ``Priority``, relative to the largest.
    PriorityWeightTRES
        Weights of what a job requests, relative to what its partition has, as in ``cpu=500;gres/gpu=800``.
    PriorityMaxAge
        Time in the queue at which the age factor reaches 1, as Slurm writes it: ``7-0``, ``00:10:00``, or minutes.
    PriorityDecayHalfLife
        Half-life of usage, as Slurm writes it.
    PriorityCalcPeriod
        Time between two updates of all priorities, as Slurm writes it.
    PriorityFavorSmall
        Whether small jobs get the larger size factor.
    PreemptType
        ``preempt/partition_prio``: jobs of partitions with a lower ``PriorityTier`` may be preempted. ``preempt/qos``:
        jobs of the QOS that a job's own QOS names (``Preempt``, in `limits`). Others: no preemption.
    PreemptMode
        Default mode, if partition or QOS have none: ``REQUEUE``, to start again later, or ``CANCEL``. Others: no
        preemption.
    PreemptExemptTime
        Time that a job runs before it may be preempted, as Slurm writes it.
    stop_time
        Seconds from the preemption of a job until its nodes are free. ``what-if`` takes it from the record.
    JobRequeue
        Whether preempted jobs restart. Otherwise they are cancelled.
    shares
        Shares of accounts and users, as in ``phys=10;chem=20;ann=3``. 1 if not named. A job's account is its group.
    limits
        File with the output of ``sacctmgr -P show assoc`` and ``sacctmgr -P show qos``, or several with ``;`` between.
        It holds limits on running jobs, QOS priorities, and preemption rules.
    reservations
        File with the output of ``SLURM_TIME_FORMAT=%s scontrol show reservation -o``. Needs a configuration, which
        names the nodes.
    epoch
        Seconds since 1970 at time 0. Slurm aligns its windows to them.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """

    config: str = ""
    bf_interval: _Interval = 30
    bf_window: _Interval = 1440
    bf_resolution: _Interval = 60
    bf_max_job_test: _Tests = 500
    bf_max_job_array_resv: _Tests = 20
    bf_max_job_user: _Count = 0
    bf_max_job_part: _Count = 0
    bf_max_job_assoc: _Count = 0
    bf_max_job_user_part: _Count = 0
    bf_max_job_start: _Count = 0
    bf_min_prio_reserve: _Count = 0
    bf_busy_nodes: bool = False
    batch_sched_delay: _Seconds = 3
    sched_interval: _Interval = 60
    default_queue_depth: _Tests = 100
    partition_job_depth: _Count = 0
    KillWait: _Seconds = 30
    PriorityWeightAge: _Count = 0
    PriorityWeightFairshare: _Count = 0
    PriorityWeightJobSize: _Count = 0
    PriorityWeightPartition: _Count = 0
    PriorityWeightQOS: _Count = 0
    PriorityWeightTRES: str = ""
    PriorityMaxAge: str = "7-0"
    PriorityDecayHalfLife: str = "7-0"
    PriorityCalcPeriod: str = "5"
    PriorityFavorSmall: bool = False
    PreemptType: str = "preempt/none"
    PreemptMode: str = "OFF"
    PreemptExemptTime: str = "00:00:00"
    stop_time: _Interval = 1
    JobRequeue: bool = True
    shares: str = ""
    limits: str = ""
    reservations: str = ""
    epoch: _Seconds = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod"):
            seconds(name, getattr(self, name))
        if not seconds("PriorityCalcPeriod", self.PriorityCalcPeriod):
            raise ValueError(f"PriorityCalcPeriod must be above 0, got {shown(self.PriorityCalcPeriod)}")
        shares_of(self.shares)
        tres_weights(self.PriorityWeightTRES)
        _ = self.exempt

    @property
    def exempt(self) -> int:
        """``PreemptExemptTime`` in seconds, 0 for none."""
        text = self.PreemptExemptTime
        return 0 if text.startswith("-") or text.upper() == "NONE" else seconds("PreemptExemptTime", text)

    def rules(self) -> BackfillRules:
        """Return the parameters of a backfill cycle."""
        starts = self.bf_max_job_start or MOST_STEPS
        return BackfillRules(self.bf_window * _MINUTE, self.bf_resolution, self.bf_max_job_test, self.KillWait, starts)

    def tests(self) -> list[int]:
        """Return how many jobs backfill considers per user, partition, association, and user in a partition."""
        return [getattr(self, name) for name in _MOST_TESTS]

    def weights(self) -> Weights:
        """Return the priority weights."""
        return Weights(
            self.PriorityWeightAge,
            self.PriorityWeightFairshare,
            self.PriorityWeightJobSize,
            self.PriorityWeightPartition,
            max(seconds("PriorityMaxAge", self.PriorityMaxAge), 1),
            self.PriorityWeightQOS,
        )


class SlurmGiven(TypedDict, total=False):
    """The options of :class:`SlurmOptions` by name, for type checkers."""

    config: str
    bf_interval: _Interval
    bf_window: _Interval
    bf_resolution: _Interval
    bf_max_job_test: _Tests
    bf_max_job_array_resv: _Tests
    bf_max_job_user: _Count
    bf_max_job_part: _Count
    bf_max_job_assoc: _Count
    bf_max_job_user_part: _Count
    bf_max_job_start: _Count
    bf_min_prio_reserve: _Count
    bf_busy_nodes: bool
    batch_sched_delay: _Seconds
    sched_interval: _Interval
    default_queue_depth: _Tests
    partition_job_depth: _Count
    KillWait: _Seconds
    PriorityWeightAge: _Count
    PriorityWeightFairshare: _Count
    PriorityWeightJobSize: _Count
    PriorityWeightPartition: _Count
    PriorityWeightQOS: _Count
    PriorityWeightTRES: str
    PriorityMaxAge: str
    PriorityDecayHalfLife: str
    PriorityCalcPeriod: str
    PriorityFavorSmall: bool
    PreemptType: str
    PreemptMode: str
    PreemptExemptTime: str
    stop_time: _Interval
    JobRequeue: bool
    shares: str
    limits: str
    reservations: str
    epoch: _Seconds


def charges_ended(site: SlurmSite | None) -> bool:
    """Return whether usage includes jobs that ended between two updates (``AccountingStorageEnforce``)."""
    parts = site.settings.get("accountingstorageenforce", "").lower().split(",") if site is not None else []
    return bool({"limits", "safe", "all"} & {part.strip() for part in parts})


def seconds(name: str, text: str) -> int:
    """Return a time in Slurm's notation as seconds.

    Raises
    ------
    ValueError
        If it is not such a time.
    """
    try:
        duration = slurm_seconds(str(text), name)
    except InputError:
        raise ValueError(f"{name} must be a time such as 5, 00:10:00 or 7-0, got {shown(text)}") from None
    return LONGEST if duration is None else duration


def reserved(options: SlurmOptions, site: SlurmSite | None) -> tuple[SlurmReservation, ...]:
    """Return the advance reservations.

    Raises
    ------
    InputError
        If they are given without a configuration, or are malformed.
    """
    if not options.reservations:
        return ()
    if site is None:
        raise InputError("reservations: expected a configuration beside it (config), which names the nodes, got none")
    return read_slurm_reservations(options.reservations, site)


def shares_of(text: str) -> dict[str, int]:
    """Return the shares by name of an account or user.

    Raises
    ------
    InputError
        If a part is not ``NAME=N``.
    """
    shares = {}
    for part in filter(None, text.split(";")):
        name, _, number = part.partition("=")
        if not name or not number.isdecimal() or len(number) > len(str(MOST_PROCESSORS)):
            raise InputError(f"shares must be parts NAME=N with ; between, got {shown(part)}")
        shares[name] = int(number)
    return shares


def tres_weights(text: str) -> dict[str, float]:
    """Return the weights by the name of a trackable resource, in lower case.

    Raises
    ------
    InputError
        If a part is not ``NAME=N``.
    """
    weights = {}
    for part in filter(None, re.split("[,;]", text.replace(" ", ""))):
        name, _, weight = part.partition("=")
        if not name or not re.fullmatch(r"\d{1,10}(\.\d{1,6})?", weight):
            raise InputError(f"PriorityWeightTRES must be parts NAME=N with , or ; between, got {shown(part)}")
        weights[name.lower()] = float(weight)
    return weights


def configured(options: SlurmOptions, given: Collection[str] = ()) -> tuple[SlurmOptions, SlurmSite | None]:
    """Return the options, completed by their configuration except for `given` ones, and the site."""
    if not options.config:
        return options, None
    site = read_slurm_conf(options.config)
    settings = {**site.settings, **site.scheduler_parameters}
    values: dict[str, object] = {}
    for option in fields(options):
        text = settings.get(option.name.lower())
        if text == "" and isinstance(option.default, bool):  # A part of SchedulerParameters without a value.
            text = "yes"
        if text and text != "(null)" and option.name not in given:
            values[option.name] = _value(option.name, text, option.default, site.source)
    try:
        return replace(options, **values), site  # type: ignore[arg-type]
    except ValueError as error:
        raise InputError(f"{site.source}: {error}") from None


def _value(name: str, text: str, default: object, source: str) -> object:
    if isinstance(default, bool):
        return text.lower() in ("yes", "1", "true")
    if isinstance(default, str):
        return text
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise InputError(f"{source}: field {name!r}: expected a whole number, got {shown(text)}")
    return int(match[1])
