"""The compared schedulers and changes of a site, each with its jobs and its machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base import InputError, shown
from ..dispatchers import Dispatcher, Slurm, create_dispatcher
from ..workloads import Job, MachineState, Workload, recorded_state
from ..workloads.machine_state import stop_time
from ..workloads.slurm_conf import PARTITION, SlurmSite, read_slurm_conf, slurm_seconds
from ..workloads.slurm_limits import SlurmLimits, read_slurm_limits
from ..workloads.slurm_reservations import SlurmReservation, inferred_reservations, read_slurm_reservations
from ..workloads.slurm_workload import started_at
from .site_rules import under_rules
from .site_scenarios import FORMS, SiteScenario, Texts, read_scenario

#: Reads the accounting records with a configuration.
Load = Callable[[Path], Workload]


@dataclass(frozen=True, slots=True)
class SiteCase:
    """A scheduler on a site, or a change of the site.

    Attributes
    ----------
    name
        Its label.
    workload, state
        The jobs from the beginning on, and those that run then.
    dispatcher
        The scheduler.
    notes
        Remarks for the user.
    predictor
        Of run times.
    """

    name: str
    workload: Workload
    state: MachineState
    dispatcher: str | Dispatcher
    notes: tuple[str, ...] = ()
    predictor: str = "walltime"


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """A site's record from a beginning on.

    Attributes
    ----------
    texts
        The files of the site.
    shares
        Of accounts and users, as an option of ``slurm``.
    load
        Reads the accounting records.
    begin
        Seconds after the first submission; ``None``: when the first job ends.
    workload, state
        The jobs from then on, and those that run.
    site
        The configuration.
    inferred
        Reservations that jobs name and no file describes, as far as their jobs show them.
    stop_time
        Seconds that preempted jobs kept their nodes, the median of the record. ``None``: none was preempted.
    """

    texts: Texts
    shares: str
    load: Load
    begin: int | None
    workload: Workload
    state: MachineState
    site: SlurmSite
    inferred: tuple[SlurmReservation, ...] = ()
    stop_time: int | None = None

    @classmethod
    def read(cls, texts: Texts, shares: str, load: Load, begin: int | None, last: int = 0, most: int = 0) -> SiteRecord:
        """Read the record. Raise :class:`InputError` if a file is invalid.

        Parameters
        ----------
        texts, shares, load, begin
            See the attributes.
        last, most
            Without `begin`, a record of more than `most` jobs begins with its last so many. Earlier jobs count as past
            usage. 0: no record is shortened.
        """
        whole = load(texts.config)
        if begin is None and last and len(whole) > max(last, most):
            begin = int(whole.columns.submit[-last])
        workload, state = recorded_state(whole, begin)
        zero = started_at(whole)
        jobs = workload.columns
        assert workload.records is not None
        finished = float((jobs.submit + workload.records["wait"].fillna(0).to_numpy() + jobs.runtime).max())
        texts = replace(texts, zero=zero, begin=zero + state.at, end=zero + int(finished))
        site = read_slurm_conf(texts.config)
        known = {each.name for each in read_slurm_reservations(texts.reservations, site)} if texts.reservations else ()
        inferred = inferred_reservations(whole, site, known, zero)
        return cls(texts, shares, load, begin, workload, state, site, inferred, stop_time(whole))

    def limits(self) -> SlurmLimits | None:
        """Return the associations and QOS of the site's cluster, ``None`` if no file of them is given."""
        if not self.texts.limits:
            return None
        return read_slurm_limits(self.texts.limits, self.site.settings.get("clustername", ""))

    def slurm(self, **changed: str) -> Slurm:
        """Return the site's scheduler, with other options."""
        own: dict[str, Any] = {"config": str(self.texts.config), "limits": self.texts.limits, "shares": self.shares}
        own["reservations"] = str(self.texts.reservations or "")
        if self.stop_time is not None:
            own["stop_time"] = self.stop_time
        return Slurm(**(own | {"epoch": self.texts.zero} | changed)).with_reservations(self.inferred)

    def baseline(self) -> SiteCase:
        """Return the site without changes."""
        notes = tuple(
            f"reservation {each.name} is known only from its jobs: its nodes and times are guessed from them"
            for each in self.inferred
        )
        return SiteCase("slurm", self.workload, self.state, self.slurm(), notes)

    def rivals(self, specs: Iterable[str]) -> list[SiteCase]:
        """Return other dispatchers under the site's limits and reservations, or ``slurm`` with other options."""
        cases: list[SiteCase] = []
        ruled: tuple[Workload, tuple[str, ...]] | None = None
        for spec in specs:
            made = create_dispatcher(spec)
            if isinstance(made, Slurm):
                given = dict(made.given)
                scenario = SiteScenario(spec)
                if given.get("config"):  # Another configuration is another machine.
                    scenario.config = Path(str(given.pop("config")))
                cases.append(self._changed(scenario, given, None))
                continue
            ruled = ruled or self._under_rules()
            workload, notes = ruled
            cases.append(SiteCase(spec, workload, self.state, spec, notes))
        return cases

    def _under_rules(self) -> tuple[Workload, tuple[str, ...]]:
        """Return the jobs under the site's rules, and a note on the missing rules."""
        site, limits = self.site, self.limits()
        reserved = read_slurm_reservations(self.texts.reservations, site) if self.texts.reservations else ()
        reserved += self.inferred
        running = {since.id for since in self.state.running}
        workload, missing = under_rules(self.workload, site, limits, reserved, self.texts.zero, running)
        return workload, (f"it has no {', '.join(missing)}",) if missing else ()

    def scenario(self, text: str, folder: Path) -> SiteCase:
        """Return the site with changes. New files go into `folder`."""
        scenario = read_scenario(text, self.texts)
        try:
            return self._changed(scenario, dict(scenario.parameters), folder)
        except InputError as error:
            if str(folder) not in str(error):
                raise
            # The file was written here: name the option instead.
            raise InputError(f"--scenario {text}: {re.sub(r'^.*?: ', '', str(error))}") from None

    def _changed(self, scenario: SiteScenario, given: dict[str, object], folder: Path | None) -> SiteCase:
        files: dict[str, object] = {"config": str(scenario.config or self.texts.config)}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            files = dict(scenario.write(self.texts, folder))
        config = Path(str(files["config"]))
        notes = list[str]()
        site = read_slurm_conf(config)
        workload, state = self.workload, self.state
        if scenario.changes_machine:
            workload, state = recorded_state(self.load(config), self.begin)
        spec = ",".join(f"{name}={value}" for name, value in scenario.parameters.items())
        if scenario.parameters:
            given = dict(_parameters(spec))
        jobs = list(workload.jobs)
        for old, new in scenario.moves:
            jobs = _moved(jobs, old, new, site, workload, notes)
        jobs = _walltimes(jobs, state, site, scenario, notes)
        jobs = _on_their_nodes(jobs, state, workload)
        machine = workload.machine
        if scenario.outages:
            machine = replace(machine, outages=(*machine.outages, *scenario.outages))
        workload = replace(workload, jobs=tuple(jobs), machine=machine)
        if scenario.load != 1:
            workload = _faster(workload, state.at, scenario.load)
        return SiteCase(scenario.name, workload, state, self.slurm(**{**files, **given}), tuple(notes))  # type: ignore[arg-type]


def _parameters(spec: str) -> dict[str, object]:
    """Return checked parameters of slurm."""
    try:
        made = create_dispatcher(f"slurm:{spec}")
    except InputError as error:
        told, known, _ = str(error).partition("; known: ")
        more = (
            f"; expected a parameter that hpcdispatch list slurm shows, or one of {', '.join(FORMS)}" if known else ""
        )
        raise InputError(f"--scenario: {told}{more}") from None
    assert isinstance(made, Slurm)
    return made.given


def _moved(jobs: Sequence[Job], old: str, new: str, site: SlurmSite, workload: Workload, notes: list[str]) -> list[Job]:
    """Return the jobs. Those of a partition move to another if its walltime and its nodes allow it."""
    longest = next(each.max_time for each in site.partitions if each.name == new) or 0
    changed_jobs, count = [], 0
    for job in jobs:
        if job.queue == old and job.walltime <= longest:
            amounts = dict(job.per_node)
            amounts[f"{PARTITION}{new}"] = amounts.pop(f"{PARTITION}{old}", 1)
            if workload.machine.slots(amounts) >= job.nodes:
                changed_jobs.append(replace(job, queue=new, per_node=amounts))
                count += 1
                continue
        changed_jobs.append(job)
    notes.append(f"{count:,} jobs of {old} go to {new}")
    return changed_jobs


def _walltimes(
    jobs: Sequence[Job], state: MachineState, site: SlurmSite, scenario: SiteScenario, notes: list[str]
) -> list[Job]:
    """Return the jobs with walltimes changed to the new default and cut to the new `MaxTime`."""
    running = {since.id for since in state.running}
    defaults = dict[str, int | None]()
    longest = {each.name: each.max_time for each in site.partitions}
    if scenario.default_time:
        defaults = {each.name: _default(each.name, site) for each in site.partitions}
    changed_jobs = []
    unasked = 0
    cut = 0
    for job in jobs:
        walltime = job.walltime
        if walltime == defaults.get(job.queue, -1):
            walltime = scenario.default_time
            unasked = unasked + 1
        most = longest.get(job.queue) if scenario.changes_machine else None
        if most is not None and walltime > most:
            walltime, cut = most, cut + 1
        if walltime == job.walltime or job.id in running:
            changed_jobs.append(job)
        else:
            changed_jobs.append(replace(job, walltime=walltime, runtime=min(job.runtime, walltime), soft_walltime=None))
    if scenario.default_time:
        notes.append(f"{unasked:,} jobs ask for the default walltime of their partition")
    if cut:
        notes.append(f"{cut:,} jobs ask for more than MaxTime; they end at it")
    return changed_jobs


def _default(partition: str, site: SlurmSite) -> int | None:
    """Return the walltime of jobs that request none: ``DefaultTime``, else ``MaxTime``."""
    for table in site.tables:
        if "partitionname" in table and table["name"] == partition and table.get("defaulttime"):
            return slurm_seconds(table["defaulttime"], f"partition {shown(partition)}")
    return next(each.max_time for each in site.partitions if each.name == partition)


def _on_their_nodes(jobs: Sequence[Job], state: MachineState, workload: Workload) -> list[Job]:
    """Return the jobs. Running jobs drop amounts, such as a partition's, that their nodes no longer have for all."""
    where = {since.id: since.placement for since in state.running if since.placement}
    machine = workload.machine
    places = {name: place for place, name in enumerate(machine.resources)}
    taken = np.zeros(machine.capacity.shape, np.int64)
    for job in jobs:
        for name, amount in job.per_node.items() if job.id in where else ():
            np.add.at(taken[:, places[name]], list(where[job.id]), amount)
    short, most = taken > machine.capacity, machine.capacity.max(axis=0)
    running = {since.id for since in state.running}
    changed_jobs = []
    for job in jobs:
        if job.id in running:
            nodes = where.get(job.id)
            gone = {
                name
                for name, amount in job.per_node.items()
                if (amount > most[places[name]] if nodes is None else short[list(nodes), places[name]].any())
            }
            amounts = {name: n for name, n in job.per_node.items() if name not in gone}
            if len(amounts) < len(job.per_node):
                job = replace(job, per_node=amounts)  # noqa: PLW2901
        changed_jobs.append(job)
    return changed_jobs


def _faster(workload: Workload, at: int, load: float) -> Workload:
    """Return the jobs, with submissions after a time `load` times as frequent."""

    def sooner(time: int) -> int:
        return time if time <= at else at + int((time - at) / load)

    jobs = tuple(replace(job, submit=sooner(job.submit), begin=sooner(job.begin)) for job in workload.jobs)
    return replace(workload, jobs=jobs)
