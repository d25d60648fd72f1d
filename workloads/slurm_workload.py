"""Combine the accounting records and the configuration of a Slurm site to jobs on its machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import pandas as pd

from ..base import InputError, shown
from ..base.printed import first_of
from .formats import read
from .formats.sacct import UNTOLD
from .formats.slots import GPU, MEMORY
from .job import NO_LICENCES, Job, ResourceMap
from .machine import Machine
from .machine_state import EndedJob, MachineState, RunningSince
from .slurm_cluster import ClusterJob, Snapshot
from .slurm_conf import (
    APART,
    BY_CORE,
    FEATURE,
    GPU_TYPE,
    PARTITION,
    SlurmPartition,
    SlurmSite,
    expand_names,
    meets,
    read_slurm_conf,
    slurm_seconds,
)
from .slurm_reservations import SlurmReservation
from .slurm_unmodelled import unmodelled
from .workload import Provenance, Workload

#: The useful columns of ``sacct``.
SACCT_COLUMNS = (
    "JobID,User,Account,Partition,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,ReqNodes,NNodes,NCPUS,ReqTRES,"
    "AllocTRES,State,NodeList,Reservation,QOS,Constraints,SubmitLine"
)
#: Unknown properties of jobs without a command line, and the columns that tell some of them.
_GUESSED = ("nodes or tasks", "memory by core or by node", "whole nodes")
_TOLD = {"QOS": "qos", "features": "constraint"}
#: Arguments of ``scontrol show`` for a site.
SCONTROL_SHOWN = (("config",), ("partition", "-o"), ("node", "-o"))


def slurm_workload(sacct: str | PathLike[str], config: str | PathLike[str], **options: Any) -> Workload:
    """Return the jobs of accounting records with their requests, on the machine of a configuration.

    A slot of a job uses one unit of its partition's resource. Of several partitions it is the first one known. Its
    slots are the nodes of ``-N``, with equal cores, on different nodes; or the tasks of ``-n`` anywhere. Its group is
    its account.

    Parameters
    ----------
    sacct
        Output of ``sacct -P``, best with ``ReqNodes``, ``ReqCPUS`` and ``SubmitLine``.
    config
        ``slurm.conf``, or the output of ``scontrol show config``, ``partition`` and ``node -o``.
    options
        Of the reader, see :func:`~hpcdispatch.workloads.read`.

    Raises
    ------
    InputError
        If either is invalid, or a job names a partition that the configuration does not have.
    """
    site = read_slurm_conf(config)
    most = {partition.name: partition.max_time for partition in site.partitions}
    workload = read(sacct, partition_limits=most, components=True, **options)
    records = workload.records
    if records is None or "nodes_asked" not in records:
        raise InputError(f"{sacct}: expected output of sacct -P, got another trace")
    constraints = met_by_some(site, records["constraint"])
    node_names = {text: _names(text, site) for text in records["node_list"].unique()}
    used = {name for names in node_names.values() for name in names}
    closed = [name for name in site.away if name not in used]
    machine = site.machine(constraints, closed)
    jobs = tuple(_jobs(workload, records, machine, site))
    notes = [note for note in workload.provenance.notes if not note.startswith("no machine was given")]
    for names, what in (
        (closed, "are down or drained, and take no job"),
        ([name for name in site.away if name in used], "are down or drained, and count, since jobs ran there"),
    ):
        if names:
            notes.append(f"{site.source} has {len(names)} nodes that {what}: {first_of(names, 5)}")
    notes += site.missing
    if untold := int((records["other_options"] == UNTOLD).sum()):
        told = {"qos": any(workload.columns.qos.values), "constraint": bool((records["constraint"] != "").any())}
        parts = [*_GUESSED, *(name for name, column in _TOLD.items() if not told[column])]
        what = f"{', '.join(parts[:-1])} and {parts[-1]}"
        notes.append(
            f"{untold:,} of {len(records):,} jobs have no SubmitLine: {what} are guessed, which costs accuracy"
        )
    left_out = unmodelled(site, records, [job.id for job in workload.jobs], node_names)
    notes += [f"{site.source}: not modelled: {line}" for line in left_out]
    shown_options = {**workload.provenance.options, "config": str(config)}
    provenance = replace(workload.provenance, options=shown_options, notes=tuple(notes))
    on_nodes = [" ".join(node_names[text]) for text in records["node_list"].tolist()]
    records = records.assign(placement=_placements(jobs, records, machine, site, node_names), on_nodes=on_nodes)
    return Workload(jobs, machine, provenance, records.drop(columns=["node_list", "other_options"]))


def met_by_some(site: SlurmSite, constraints: Iterable[str]) -> list[str]:
    """Return the distinct constraints that some node meets."""
    different = dict.fromkeys(text for text in constraints if text)
    return [text for text in different if any(meets(text, has) for has in site.features)]


def started_at(workload: Workload) -> int:
    """Return the seconds since 1970 at time 0 of a workload, 0 if its trace does not say."""
    for line in workload.provenance.header:
        name, _, value = line.removeprefix(";").partition(":")
        if name.strip() == "UnixStartTime" and value.strip().isdecimal():
            return int(value)
    return 0


def _jobs(workload: Workload, records: pd.DataFrame, machine: Machine, site: SlurmSite) -> Iterator[Job]:
    values = [records[name].tolist() for name in _RecordedRequest._fields]
    form = _Form.maker(machine, site)
    # Equal requests have one form, and their maps are one object, hashed once.
    own = [_RecordedRequest._fields.index(name) for name in ("account", "array", "reservation", "switches")]
    forms: dict[tuple[Any, ...], _Form] = {}
    for job, *fields in zip(workload.jobs, *values, strict=True):
        asked = _RecordedRequest(*fields)
        for place in own:
            fields[place] = ""
        key = tuple(fields)
        request = forms.get(key)
        if request is None:
            request = forms[key] = form(job, asked)
        yield replace(
            job,
            nodes=request.slots,
            per_node=request.per_node,
            group=asked.account or job.group,
            queue=request.partition or job.queue,
            array=asked.array,
            reservation=asked.reservation,
            exclusive=request.alone,
            licences=request.licences,
            priority=-int(asked.nice),
            together=job.id.partition("+")[0] if "+" in job.id else "",
            spread=request.spread,
            **_within(asked.switches, site, job.id),
        )


def _within(text: str, site: SlurmSite, id_: str) -> dict[str, Any]:
    """Return the fields of a job for ``--switches`` such as ``2@10:00``; none for an empty text."""
    count, _, wait = text.partition("@")
    return site.switches(int(count or 0), slurm_seconds(wait, f"job {id_}: --switches") if wait else None)


class _Form(NamedTuple):
    """What the jobs of one request have in common."""

    partition: str | None
    slots: int
    per_node: ResourceMap
    alone: bool
    licences: ResourceMap
    spread: tuple[int, int] | None

    @staticmethod
    def maker(machine: Machine, site: SlurmSite) -> Callable[[Job, _RecordedRequest], _Form]:
        """Return a function that makes the form of a job's request."""
        known = {partition.name: partition for partition in site.partitions}
        largest = int(machine.capacity[:, machine.primary].max(initial=0))
        by_core = site.memory_by_core
        maps: dict[tuple[tuple[str, int], ...], ResourceMap] = {}

        def form(job: Job, asked: _RecordedRequest) -> _Form:
            partition = next((name for name in asked.partitions.split(",") if name in known), None)
            if partition is None and known:
                where = f"{site.source}: job {job.id}"
                wanted = f"one of {', '.join(sorted(known))}"
                raise InputError(f"{where}: field 'Partition': expected {wanted}, got {shown(asked.partitions)}")
            alone = asked.exclusive == "yes" or site.whole_nodes
            alone = alone or (partition is not None and known[partition].exclusive)
            if alone:
                asked = asked.of_whole_nodes()
            apart = asked.apart(largest)
            spread = None if alone else asked.spread()
            apart = apart if spread is None else 0
            slots = apart or asked.tasks
            if apart and asked.nodes_by_tasks:
                spread = 1, apart
            per_node = asked.per_slot(machine, slots, by_core=by_core)
            if partition is not None:
                per_node |= of_partition(known[partition], per_node["core"])
            if apart:
                per_node[APART] = 1
            amounts = maps.setdefault(tuple(per_node.items()), ResourceMap(per_node))
            return _Form(partition, slots, amounts, alone, licences_of(asked.licences, machine), spread)

        return form


def of_partition(partition: SlurmPartition, cores: int) -> dict[str, int]:
    """Return the units of a partition's resource for a slot with `cores` cores."""
    return {f"{PARTITION}{partition.name}": 1 if partition.cpus_per_node is None else cores}


def of_gpu_types(text: str, gpus: int, slots: int, machine: Machine) -> dict[str, int]:
    """Return the GPUs by type for a slot, from a request such as ``a100=2`` with `gpus` GPUs in all."""
    counts = dict(part.partition("=")[::2] for part in text.split(",") if part)
    amounts = {kind: gpus if len(counts) == 1 and gpus > 0 else int(count) for kind, count in counts.items()}
    return {
        f"{GPU_TYPE}{kind}": -(-amount // slots)
        for kind, amount in amounts.items()
        if f"{GPU_TYPE}{kind}" in machine.resources
    }


def licences_of(text: str, machine: Machine) -> ResourceMap:
    """Return the machine's licences in a text such as ``matlab:2,abaqus`` or ``matlab=2``."""
    if not text or not machine.licences:
        return NO_LICENCES
    named = (re.split("[:=]", part.partition("@")[0]) + re.split("[:=]", part)[1:2] for part in re.split("[,;]", text))
    counts = {name: int(rest[-1]) if rest and rest[-1].isdecimal() else 1 for name, *rest in named if name}
    return ResourceMap({name: count for name, count in counts.items() if name in machine.licences})


class _RecordedRequest(NamedTuple):
    """The recorded request of a job, see :func:`~hpcdispatch.workloads.formats.sacct.parse_sacct`."""

    partitions: str
    nodes_asked: int
    nodes: int
    requested_processors: int
    task_cores: int
    requested_memory: int
    memory_by: str
    gpus: int
    account: str
    array: str
    reservation: str
    constraint: str
    gpu_types: str
    licences: str
    exclusive: str
    cores_asked: int
    nice: int
    nodes_most: int
    tasks_asked: int
    nodes_by_tasks: bool
    switches: str

    def of_whole_nodes(self) -> _RecordedRequest:
        """Return the request for whole nodes, with its cores and its memory per core."""
        nodes = max(int(self.nodes_asked), int(self.nodes), 1)
        had = int(self.requested_processors)
        cores = int(self.cores_asked)
        cores = min(cores, had) if cores > 0 else had
        memory = int(self.requested_memory) if self.requested_memory > 0 and self.memory_by == "core" else -1
        return self._replace(nodes_asked=nodes, requested_processors=max(cores, nodes), requested_memory=memory)

    @property
    def tasks(self) -> int:
        """The number of tasks, with one core each if unknown."""
        return max(int(self.requested_processors) // int(self.task_cores), 1)

    def apart(self, largest: int) -> int:
        """Return the number of different nodes, 0 if its tasks may fill any.

        These are the requested nodes. A job may instead request memory or GPUs per node. A task then has no share of
        them. Then these are the nodes it had, if its cores fit nodes of at most `largest` cores.
        """
        by_node = self.gpus > 0 or self.memory_by == "node"
        had = int(self.nodes) if by_node and self.nodes > 0 else 0
        return int(self.nodes_asked) or (had if self.requested_processors <= had * largest else 0)

    def spread(self) -> tuple[int, int] | None:
        """Return the least and the largest number of nodes of tasks on a number of nodes, ``None`` if not so requested.

        With memory or GPUs per node, or with one task per node, a slot is a node instead.
        """
        least = int(self.nodes_asked)
        most = max(int(self.nodes_most), least)
        tasks = int(self.tasks_asked)
        by_node = self.gpus > 0 or self.memory_by == "node"
        if by_node or not least or most == 1 or tasks < least or tasks == least == most or tasks != self.tasks:
            return None
        return least, most

    def per_slot(self, machine: Machine, slots: int, *, by_core: bool) -> dict[str, int]:
        """Return a slot's cores, memory and GPUs, rounded up, as far as the machine has these resources."""
        cores = -(-int(self.requested_processors) // slots)
        amounts = {"core": cores}
        if MEMORY in machine.resources and self.requested_memory > 0:
            processors = int(self.requested_processors)
            memory = int(self.requested_memory) * processors
            # Slurm counts megabytes: remove the excess from rounding up each processor's share.
            memory -= memory % 1024 if memory % 1024 < processors else 0
            amounts[MEMORY] = -(-memory // slots)
            if BY_CORE in machine.resources and (self.memory_by == "core" or (by_core and not self.memory_by)):
                amounts[BY_CORE] = 1
        if GPU in machine.resources and self.gpus > 0:
            amounts[GPU] = -(-int(self.gpus) // slots)
            amounts |= of_gpu_types(self.gpu_types, int(self.gpus), slots, machine)
        if f"{FEATURE}{self.constraint}" in machine.resources:
            amounts[f"{FEATURE}{self.constraint}"] = 1
        return amounts


def standing_jobs(
    snapshot: Snapshot,
    site: SlurmSite,
    past: Workload | None = None,
    reservations: Sequence[SlurmReservation] = (),
) -> tuple[Workload, MachineState]:
    """Return the running and waiting jobs of a moment on a site's machine, and the ended ones.

    Jobs that wait for an action are left out: held ones, and those with a failed dependency. Running jobs are on their
    nodes if these are known for each slot. Tasks that request memory or GPUs per node are spread evenly over their
    nodes. These are the current or expected ones. Run times are the walltimes. Jobs without a walltime, or without a
    known partition, are left out. The dispatcher ``slurm`` continues from the priorities of waiting jobs.

    Parameters
    ----------
    snapshot
        The moment.
    site
        Its configuration.
    past
        Its accounting records, from :func:`slurm_workload`.
    reservations
        The advance reservations. Nodes that only they close are open on the machine: the scheduler closes them for as
        long as they last.
    """
    everything = (*snapshot.running, *snapshot.waiting)
    up = {name for job in snapshot.running for name in job.nodes}
    kept = {
        site.nodes[place]
        for each in reservations
        for place in each.nodes
        if any(start <= snapshot.now for start, _ in each.spans(snapshot.now))
    }
    opens = {node.name for node in snapshot.nodes if node.reserved and node.name in kept}
    closed = {node.name for node in snapshot.nodes if not node.usable} - up - opens
    constraints = (job.constraint for job in everything)
    machine = site.machine(met_by_some(site, constraints), closed)
    places = {name: place for place, name in enumerate(site.nodes)}
    known = {partition.name: partition for partition in site.partitions}
    alone = {name for name, each in known.items() if each.exclusive or site.whole_nodes}
    pairs = [
        (replace(job, exclusive=job.exclusive or job.partition.partition(",")[0] in alone), id_)
        for job in everything
        if job.limit
        and job.cores
        and job.partition.partition(",")[0] in known
        and job.starts
        and (job.start is not None or known[job.partition.partition(",")[0]].state not in ("DOWN", "INACTIVE"))
        for id_ in job.ids or (job.id,)
    ]
    zero = min([job.submit for job, _ in pairs] + ([started_at(past)] if past is not None else []), default=0)
    here = {id_ for _, id_ in pairs}
    try:
        jobs = [
            _standing(job, id_, snapshot.now, zero, machine, known[job.partition.partition(",")[0]], here, site)
            for job, id_ in pairs
        ]
    except ValueError as error:
        raise InputError(f"the cluster at {snapshot.now:,} seconds since 1970 (--now): {error}") from None
    jobs.sort(key=lambda job: job.submit)
    running = [
        RunningSince(id_, min(job.start, snapshot.now - 1) - zero, _where(job, places, machine))
        for job, id_ in pairs
        if job.start is not None
    ]
    priorities = {id_: job.priority for job, id_ in pairs if job.priority}
    ended = (
        () if past is None else tuple(each for each in ended_by(past, snapshot.now, zero) if each.job.id not in here)
    )
    provenance = Provenance("a moment of a cluster", header=(f"; UnixStartTime: {zero}",))
    memory = {"Slurm": {"priorities": priorities}} if priorities else {}
    state = MachineState(snapshot.now - zero, tuple(running), ended=ended, memory=memory)
    return Workload(tuple(jobs), machine, provenance), state


def ended_by(past: Workload, now: int, zero: int) -> Iterator[EndedJob]:
    """Yield the accounting's jobs that had ended at `now`, since 1970, on a clock that begins at `zero`."""
    if past.records is None:
        return
    shift = started_at(past) - zero
    for job, wait in zip(past.jobs, past.records["wait"].tolist(), strict=True):
        start = job.submit + int(wait) + shift
        if wait >= 0 and start + job.runtime <= now - zero:
            yield EndedJob(replace(job, submit=job.submit + shift), start)


def _standing(
    job: ClusterJob,
    id_: str,
    now: int,
    zero: int,
    machine: Machine,
    partition: SlurmPartition,
    here: Collection[str],
    site: SlurmSite,
) -> Job:
    apart = _apart(job, machine)
    slots = apart or job.cores
    # Tasks may be spread unevenly over nodes with shared memory or GPUs. Round so that the slots fit the nodes.
    cores = -(-job.cores // slots) if job.apart else job.cores // slots
    cores = -(-cores // partition.threads) * partition.threads if apart and job.start is None else cores
    per_slot = {"core": cores} | of_partition(partition, cores) | ({APART: 1} if apart else {})
    if MEMORY in machine.resources and (memory := job.memory_a_node or job.memory_a_core * cores):
        per_slot |= {MEMORY: 1024 * memory} | ({} if job.memory_a_node else {BY_CORE: 1})
    if GPU in machine.resources and (job.gpus_a_node or job.gpus):
        per_slot[GPU] = job.gpus_a_node or -(-job.gpus // slots)
        per_slot |= of_gpu_types(job.gpu_types, job.gpus, slots, machine)
    if job.start is None and f"{FEATURE}{job.constraint}" in machine.resources:
        per_slot[f"{FEATURE}{job.constraint}"] = 1
    depends = list(_here(job, here))
    assert job.limit is not None
    limit = max(job.limit, now - job.start + 1 if job.start is not None else 1)
    submit = min(job.submit, now - 1, now - 1 if job.start is None else job.start)
    asked = Job(id_, submit - zero, limit, limit, slots, per_slot)
    begin = max(job.begin - zero, 0) if job.begin > now and not depends else 0
    return replace(
        asked,
        user=job.user,
        group=job.account,
        queue=partition.name,
        array=job.array,
        qos=job.qos,
        reservation=job.reservation,
        exclusive=job.exclusive,
        depends=tuple(depends),
        begin=begin,
        licences=licences_of(job.licences, machine),
        priority=-job.nice,
        together=job.together if job.start is None else "",
        **(site.switches(job.switches, job.switch_wait) if job.start is None else {}),
    )


def _here(job: ClusterJob, here: Collection[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the dependencies of a job on jobs that are here. Of a heterogeneous job, that is on its first component."""
    for parent, *rest in job.depends:
        if f"{parent}+0" in here:
            yield f"{parent}+0", *rest
        elif parent in here or any(name.startswith(f"{parent}_") for name in here):
            yield parent, *rest


def _apart(job: ClusterJob, machine: Machine) -> int:
    """Return the number of different nodes of a job: from ``-N``, or for requests per node."""
    by_node = job.exclusive or (MEMORY in machine.resources and job.memory_a_node)
    by_node = by_node or (GPU in machine.resources and (job.gpus_a_node or job.gpus))
    return job.apart or (min(job.had, job.cores) if by_node else 0)


def _where(job: ClusterJob, places: Mapping[str, int], machine: Machine) -> tuple[int, ...] | None:
    """Return the nodes of the slots of a running job, ``None`` if its tasks are on several nodes."""
    nodes = tuple(places[name] for name in job.nodes if name in places)
    slots = _apart(job, machine) or job.cores
    nodes = nodes * slots if len(nodes) == 1 else nodes
    return nodes if len(nodes) == slots else None


def _names(text: str, site: SlurmSite) -> list[str]:
    """Return the names in a NodeList, none in ``None assigned``."""
    return [] if " " in text else expand_names(text, f"{site.source}: field 'NodeList'")


def _placements(
    jobs: tuple[Job, ...],
    records: pd.DataFrame,
    machine: Machine,
    site: SlurmSite,
    names: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the nodes of each job's slots: indices with blanks between. Empty if unknown.

    `names` has the names in each node list. The spread of tasks over several nodes is not recorded, unless they fill
    them.
    """
    places = {name: place for place, name in enumerate(site.nodes)}
    cores = machine.capacity[:, machine.primary].tolist()
    placements = []
    for job, text in zip(jobs, records["node_list"].tolist(), strict=True):
        nodes = [places[name] for name in names[text] if name in places]
        if len(nodes) == 1:
            nodes *= job.nodes
        elif APART not in job.per_node:
            nodes = [node for node in nodes for _ in range(cores[node] // max(job.per_node["core"], 1))]
        placements.append(" ".join(map(str, nodes)) if len(nodes) == job.nodes else "")
    return placements
