"""List settings of Slurm and options of jobs that the dispatcher ``slurm`` does not model."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import pandas as pd

from .formats.sacct import UNTOLD
from .slurm_conf import SlurmSite, expand_names, meets
from .slurm_topology import SWITCH

#: Key: values without an effect, and what other values change. Values are compared in lower case.
_SETTINGS: Mapping[str, tuple[Collection[str], str]] = {
    "SchedulerType": (("sched/backfill",), "which jobs start"),
    "PriorityType": (("priority/multifactor", "priority/basic"), "the order"),
    "PriorityFlags": (("fair_tree", "accrue_always"), "the order"),
    "PriorityWeightAssoc": (("0",), "the order"),
    "PriorityUsageResetPeriod": (("none",), "the order"),
    "FairShareDampeningFactor": (("1",), "the order"),
    "PrioritySiteFactorPlugin": (("site_factor/none",), "the order"),
    "PreemptType": (("preempt/none", "preempt/partition_prio", "preempt/qos"), "which jobs stop"),
    "PreemptMode": (("off", "requeue", "cancel"), "which jobs stop"),
    "PreemptParameters": ((), "which jobs stop"),
    "SelectType": (("select/cons_tres", "select/cons_res", "select/linear"), "on which nodes, and beside which jobs"),
    "TopologyPlugin": (("topology/none", "topology/default", "topology/flat"), "on which nodes"),
    "TopologyParam": ((), "on which nodes"),
    "OverTimeLimit": (("0", "0 min"), "when jobs are killed"),
    "CompleteWait": (("0", "0 sec"), "when nodes are free"),
    "SuspendTime": (("-1", "0", "infinite", "0 sec", "-1 sec"), "when nodes are up"),
    "MaxMemPerCPU": (("0", "unlimited"), "how many cores jobs take"),
    "MaxMemPerNode": (("0", "unlimited"), "which jobs start"),
    "BurstBufferType": ((), "when data is there"),
    "MCSPlugin": (("mcs/none", "mcs/label=none"), "beside which jobs"),
}
#: The same for the fields of partitions and of nodes.
_FIELDS: Mapping[str, tuple[Collection[str], str]] = {
    "OverSubscribe": (("no", "exclusive"), "beside which jobs"),
    "Shared": (("no", "exclusive"), "beside which jobs"),
    "PreemptMode": (("off", "requeue", "cancel"), "which jobs stop"),
    "GraceTime": (("0",), "which jobs stop"),
    "LLN": (("no",), "on which nodes"),
    "ExclusiveUser": (("no",), "beside which jobs"),
    "ExclusiveTopo": (("no",), "beside which jobs"),
    "MaxCPUsPerSocket": (("unlimited",), "on which nodes"),
    "MaxMemPerCPU": (("0", "unlimited"), "how many cores jobs take"),
    "MaxMemPerNode": (("0", "unlimited"), "which jobs start"),
    "TRESBillingWeights": ((), "the order"),
    "OverTimeLimit": (("none", "0"), "when jobs are killed"),
    "ReqResv": (("no",), "which jobs start"),
    "SelectTypeParameters": ((), "on which nodes"),
    "PowerDownOnIdle": (("no",), "when nodes are up"),
    "SuspendTime": (("-1", "infinite"), "when nodes are up"),
}
_EMPTY = ("", "(null)", "none")
#: Parts of SelectTypeParameters that are modelled, or have no effect.
_SELECTED = (
    "cr_core",
    "cr_core_memory",
    "cr_cpu",
    "cr_cpu_memory",
    "cr_memory",
    "other_cons_tres",
    "other_cons_res",
    "cr_core_default_dist_block",
    "none",
)
#: Parts of SchedulerParameters that are modelled.
MODELLED = (
    "bf_interval",
    "bf_window",
    "bf_resolution",
    "bf_max_job_test",
    "bf_max_job_array_resv",
    "bf_max_job_user",
    "bf_max_job_part",
    "bf_max_job_assoc",
    "bf_max_job_user_part",
    "bf_max_job_start",
    "bf_min_prio_reserve",
    "bf_busy_nodes",
    "batch_sched_delay",
    "sched_interval",
    "default_queue_depth",
    "partition_job_depth",
)
#: Parts of SchedulerParameters on messages and locks, or that describe what is done anyway.
_HARMLESS = (
    "bf_continue",
    "bf_yield_interval",
    "bf_yield_sleep",
    "bf_yield_rpc_cnt",
    "bf_max_time",
    "max_rpc_cnt",
    "sched_max_job_start",
    "sched_min_interval",
    "max_sched_time",
    "defer",
    "defer_batch",
    "nohold_on_prolog_fail",
    "bf_licenses",
    "max_depend_depth",
    "kill_invalid_depend",
    "no_backup_scheduling",
    "requeue_delay",
    "disable_user_top",
    "enable_user_top",
    "max_script_size",
    "max_submit_line_size",
    "bf_hetjob_prio",
    "disable_job_shrink",
    "batch_job_delay",
    "reduce_completing_frag",
    "default_gbytes",
    "bf_node_space_size",
    "max_switch_wait",  # read with the requests of jobs
)


#: Size of the effect by what a setting changes.
_EFFECTS = (
    ("large effect", ("which jobs start", "the order", "which jobs wait", "which jobs stop")),
    ("medium effect", ("how many cores", "when nodes are", "beside which jobs", "no node has it", "of jobs")),
    ("small effect", ("on which nodes", "when jobs are killed", "when data is there")),
)


def unmodelled(
    site: SlurmSite,
    records: pd.DataFrame,
    ids: Sequence[str] = (),
    node_names: Mapping[str, Collection[str]] | None = None,
) -> tuple[str, ...]:
    """Return what is not modelled, the largest expected effect first.

    A line is ``GraceTime=9 (which jobs stop; large effect; 12 jobs of partition all)``: a setting, or an option of
    jobs, with its possible effect and the affected jobs. A setting of partitions or nodes affects their jobs only. What
    affects no job is left out.

    Parameters
    ----------
    site
        The configuration.
    records
        The accounting records of :func:`~hpcdispatch.workloads.formats.sacct.parse_sacct`.
    ids
        Ids of the jobs, for examples.
    node_names
        The names in each node list of the records, if they are known.
    """
    touched = Counter(name for text in records["partitions"] for name in set(text.split(",")))
    for text, jobs in Counter(records["node_list"]).items():
        names = expand_names(text, "field 'NodeList'") if node_names is None and " " not in text else ()
        for name in set(names if node_names is None else node_names[text]):
            touched[f"node {name}"] += jobs
    every = len(records)
    lines = [(line, every, "") for line in _of_settings(site)] + _of_tables(site.tables, touched)
    options: dict[str, list[int]] = {}
    for row, text in enumerate(records["other_options"].tolist()):
        for name in text.split() if text != UNTOLD else ():
            if name == "--switches" and SWITCH in site.levels:
                continue
            options.setdefault(f"{name} (of jobs", []).append(row)
    for row, text in enumerate(records["partitions"].tolist()):
        if "," in text:
            options.setdefault(f"Partition={text} (which jobs start, only in the first one", []).append(row)
    for row, text in enumerate(records["constraint"].tolist()):
        if text and ("*" in text or "[" in text):
            options.setdefault(f"-C {text} (of jobs, how many nodes have which feature", []).append(row)
        elif text and not any(meets(text, has) for has in site.features):
            options.setdefault(f"-C {text} (of jobs, no node has it", []).append(row)
    for line, rows in options.items():
        examples = ", ".join(ids[row] for row in rows[:3]) if len(ids) else ""
        lines.append((line, len(rows), f", such as {examples}" if examples else ""))
    ranked = [(_effect(line), -jobs, line, jobs, whose) for line, jobs, whose in lines if jobs or not every]
    return tuple(
        f"{line}; {_EFFECTS[effect][0]}; {jobs:,} {'job' if jobs == 1 else 'jobs'}{whose})"
        for effect, _, line, jobs, whose in sorted(ranked, key=lambda each: each[:2])
    )


def _effect(line: str) -> int:
    """Return the place of the effect of a line in :data:`_EFFECTS`."""
    changes = line.partition(" (")[2]
    return next((place for place, (_, starts) in enumerate(_EFFECTS) if changes.startswith(starts)), 1)


def _of_settings(site: SlurmSite) -> Iterator[str]:
    settings = site.settings
    for key, (usual, changes) in _SETTINGS.items():
        value = settings.get(key.lower(), "")
        if _says_more(value, usual):
            yield f"{key}={value} ({changes}"
    selected = _parts(settings.get("selecttypeparameters", ""))
    if others := [part for part in selected if part not in _SELECTED]:
        yield f"SelectTypeParameters={','.join(others)} (on which nodes"
    if others := [part for part in _parts(settings.get("grestypes", "")) if part != "gpu"]:
        yield f"GresTypes={','.join(others)} (on which nodes"
    known = {*MODELLED, *_HARMLESS}
    given = site.scheduler_parameters.items()
    if others := [f"{name}={value}".removesuffix("=") for name, value in given if name not in known]:
        yield f"SchedulerParameters={','.join(others)} (which jobs start"


def _of_tables(tables: Collection[Mapping[str, str]], touched: Counter[str]) -> list[tuple[str, int, str]]:
    """Return the fields of partitions and nodes, with the number of affected jobs and whose they are."""
    by_line: dict[str, tuple[int, list[str]]] = {}

    def add(line: str, jobs: int, name: str) -> None:
        before, names = by_line.get(line, (0, []))
        by_line[line] = before + jobs, [*names, name]

    for fields in tables:
        node = "nodename" in fields
        name = fields["name"]
        jobs = touched[f"node {name}" if node else name]
        whose = f"node {name}" if node else f"partition {name}"
        for key, (usual, changes) in _FIELDS.items():
            value = fields.get(key.lower(), "")
            if _says_more(value, usual):
                add(f"{key}={value} ({changes}", jobs, whose)
        if not node and fields.get("state", "UP").upper() != "UP":
            add(f"PartitionName={name} State={fields['state']} (which jobs start", jobs, whose)
        for part in _parts(fields.get("gres", "")) if node else ():
            if not part.startswith("gpu"):
                add(f"Gres={part.partition(':')[0]} (on which nodes", jobs, whose)
    return [
        (line, jobs, f" of {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}")
        for line, (jobs, names) in by_line.items()
    ]


def _parts(text: str) -> list[str]:
    return [part for part in text.lower().replace(" ", "").split(",") if part not in _EMPTY]


def _says_more(value: str, usual: Collection[str]) -> bool:
    return value.lower() not in (*usual, *_EMPTY)
