"""What a configuration of Slurm says that the dispatcher ``slurm`` does not do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from .slurm_conf import SlurmSite

#: Key: values that change nothing, and what others change. Values are compared in small letters.
_SETTINGS: Mapping[str, tuple[Collection[str], str]] = {
    "SchedulerType": (("sched/backfill",), "who starts"),
    "PriorityType": (("priority/multifactor", "priority/basic"), "the order"),
    "PriorityFlags": (("fair_tree",), "the order"),
    "PriorityWeightAssoc": (("0",), "the order"),
    "PriorityWeightQOS": (("0",), "the order"),
    "PriorityWeightTRES": ((), "the order"),
    "PriorityUsageResetPeriod": (("none",), "the order"),
    "FairShareDampeningFactor": (("1",), "the order"),
    "PreemptType": (("preempt/none", "preempt/partition_prio"), "who gives way"),
    "PreemptMode": (("off", "requeue", "cancel"), "who gives way"),
    "PreemptParameters": ((), "who gives way"),
    "PreemptExemptTime": (("-1", "0", "00:00:00", "none"), "who gives way"),
    "SelectType": (("select/cons_tres", "select/cons_res"), "on which nodes, and with whom"),
    "TopologyPlugin": (("topology/none", "topology/default"), "on which nodes"),
    "Licenses": ((), "who has to wait"),
    "OverTimeLimit": (("0", "0 min"), "when jobs are killed"),
    "CompleteWait": (("0", "0 sec"), "when nodes are free"),
}
#: The same for the fields of partitions and of nodes.
_FIELDS: Mapping[str, tuple[Collection[str], str]] = {
    "OverSubscribe": (("no",), "with whom nodes are shared"),
    "QoS": (("n/a",), "who has to wait"),
    "PreemptMode": (("off", "requeue", "cancel"), "who gives way"),
    "GraceTime": (("0",), "who gives way"),
    "MaxNodes": (("unlimited",), "who may start"),
}
_EMPTY = ("", "(null)", "none")
#: Parts of SchedulerParameters that are modelled.
MODELLED = (
    "bf_interval", "bf_window", "bf_resolution", "bf_max_job_test", "bf_max_job_array_resv", "batch_sched_delay",
    "sched_interval", "default_queue_depth",
)  # fmt: skip
#: Parts of SchedulerParameters that are about messages and locks, or say what is done anyhow.
_HARMLESS = ("bf_continue", "bf_yield_interval", "bf_yield_sleep", "bf_max_time", "max_rpc_cnt", "sched_max_job_start")
#: What enforcing associations brings that holds no job back.
_ASSOCIATIONS = ("associations", "wckeys", "nosteps", "nojobs")


def unmodelled(site: SlurmSite) -> tuple[str, ...]:
    """Return the settings that are not modelled, each with what it may change, as ``GraceTime=9 (who gives way)``."""
    return tuple(dict.fromkeys([*_of_settings(site), *_of_tables(site.tables)]))


def _of_settings(site: SlurmSite) -> Iterator[str]:
    settings = site.settings
    for key, (usual, changes) in _SETTINGS.items():
        value = settings.get(key.lower(), "")
        if _says_more(value, usual):
            yield f"{key}={value} ({changes})"
    parts = settings.get("accountingstorageenforce", "").lower().replace(" ", "").split(",")
    if enforced := [part for part in parts if part not in (*_ASSOCIATIONS, *_EMPTY)]:
        yield f"AccountingStorageEnforce={','.join(enforced)} (who has to wait, as far as no limits are given)"
    known = {*MODELLED, *_HARMLESS}
    given = site.scheduler_parameters.items()
    if others := [f"{name}={value}".removesuffix("=") for name, value in given if name not in known]:
        yield f"SchedulerParameters={','.join(others)} (who starts)"


def _of_tables(tables: Collection[Mapping[str, str]]) -> Iterator[str]:
    for fields in tables:
        for key, (usual, changes) in _FIELDS.items():
            value = fields.get(key.lower(), "")
            if _says_more(value, usual):
                yield f"{key}={value} ({changes})"


def _says_more(value: str, usual: Collection[str]) -> bool:
    return value.lower() not in (*usual, *_EMPTY)
