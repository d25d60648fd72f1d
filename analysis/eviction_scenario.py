"""Scenarios of eviction: the jobs that run at one instant, from a file or a generator."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..base import LONGEST, InputError, shown, write_whole
from ..base.argument_types import names_wrong_types
from ..base.checks import LARGEST, MOST_NODES
from ..base.files import read_json
from ..models.eviction import RunningJob, Storage, Write, WritingJob, writing_job
from ..workloads import Workload

#: The smallest amount above zero.
_LEAST = 1e-9
_Positive = Annotated[float, Field(ge=_LEAST, le=LARGEST, allow_inf_nan=False, strict=True)]
_NotNegative = Annotated[float, Field(ge=0, le=LONGEST, allow_inf_nan=False, strict=True)]
_Nodes = Annotated[int, Field(ge=1, le=MOST_NODES, strict=True)]
_Seconds = Annotated[int, Field(ge=1, le=LONGEST, strict=True)]
_NotNegativeWhole = Annotated[int, Field(ge=0, le=LONGEST, strict=True)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
_Name = Annotated[str, Field(min_length=1)]
_Places = Annotated[tuple[Annotated[int, Field(ge=0, lt=MOST_NODES, strict=True)], ...], Field(min_length=1)]

#: Messages that replace those of pydantic for some kinds of error.
_EXPECTED = {
    "model_type": "expected an object",
    "tuple_type": "expected a list",
    "too_short": "expected at least one job",
    "string_too_short": "expected a text that is not empty",
}
#: Fields of a job that need other fields.
_WANTS = {
    "interval": ("elapsed",),
    "application_size": ("elapsed", "interval"),
    "write": ("interval",),
    "unsure": ("ends",),
}
#: Fields of a job that exclude each other.
_EITHER = (("loss", "elapsed"), ("system_checkpoint", "system_size"), ("application_checkpoint", "application_size"))


class _ScenarioModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MachinePart(_ScenarioModel):
    """The machine.

    Attributes
    ----------
    nodes
        Number of nodes. Nodes without a job are idle.
    name
        Of the machine.
    """

    nodes: _Nodes
    name: str = ""


class StoragePart(_ScenarioModel):
    """The file system for checkpoints; by default that of Theta.

    Attributes
    ----------
    aggregate, node
        Bandwidth of the file system, and the most that one node writes, GB/s.
    """

    aggregate: _Positive = Storage().aggregate
    node: _Positive = Storage().node


class JobPart(_ScenarioModel):
    """A running job.

    Attributes
    ----------
    id, nodes
        Its name, and its number of nodes.
    loss, elapsed
        Node-hours lost by a kill, or the seconds it has run. In the second case the loss is the time since the last
        application checkpoint.
    interval
        Seconds of run time between application checkpoints.
    system_checkpoint, system_size
        Seconds of a system checkpoint, or its size, GB per node. The size is the memory in use. Without either there is
        no such checkpoint.
    application_checkpoint, application_size
        The same for an application checkpoint. The seconds include the wait until it is due. The size needs `elapsed`
        and `interval`.
    write
        Seconds to write an application checkpoint when it is due; needs `interval`.
    restart
        Seconds that it needs after an eviction before it continues.
    ends, unsure
        Seconds until its predicted end, and the probability that it runs longer. Without `ends`, plans do not rely on
        its end.
    placement, waited
        Its nodes, counted from 0, and the seconds it had waited. Simulations that begin here use both.
    user, group, queue
        Of the job, for the same simulations.
    """

    id: _Name
    nodes: _Nodes
    loss: _NotNegative | None = None
    elapsed: _NotNegative | None = None
    interval: _Seconds | None = None
    system_checkpoint: _NotNegative | None = None
    system_size: _Positive | None = None
    application_checkpoint: _NotNegative | None = None
    application_size: _NotNegative | None = None
    write: _NotNegativeWhole = 0
    restart: _NotNegativeWhole = 0
    ends: _NotNegative | None = None
    unsure: _Share = 0.0
    placement: _Places | None = None
    waited: _NotNegative = 0.0
    user: str = ""
    group: str = ""
    queue: str = ""

    @property
    def before(self) -> float:
        """Seconds since its submission."""
        return (self.elapsed or 0) + self.waited

    @property
    def lasts(self) -> float | None:
        """Predicted run time in all, seconds; ``None`` if unknown."""
        return None if self.ends is None else (self.elapsed or 0) + self.ends

    @model_validator(mode="after")
    def _consistent(self) -> JobPart:
        given = {name for name in self.model_fields_set if getattr(self, name) is not None}
        for names in _EITHER:
            if given.issuperset(names):
                raise ValueError(f"expected {' or '.join(names)}, got both")
        if not given & {"loss", "elapsed"}:
            raise ValueError("expected loss or elapsed, got neither")
        for name, others in _WANTS.items():
            for other in others:
                if name in given and other not in given:
                    raise ValueError(f"{name} wants {other} beside it, got none")
        if self.placement is not None and len(self.placement) != self.nodes:
            raise ValueError(f"placement: expected {self.nodes} nodes, got {len(self.placement)}")
        return self


class WaitingPart(_ScenarioModel):
    """A waiting job: its nodes, its wait so far and its walltime, seconds."""

    id: _Name
    nodes: _Nodes
    waited: _NotNegative
    walltime: _Seconds
    user: str = ""
    group: str = ""
    queue: str = ""

    @property
    def before(self) -> float:
        """Seconds since its submission."""
        return self.waited

    @property
    def lasts(self) -> float:
        """Its walltime, seconds."""
        return self.walltime


class Scenario(_ScenarioModel):
    """The jobs that run on a machine at one instant.

    Attributes
    ----------
    machine, storage
        The machine, and the file system for checkpoints.
    jobs
        Running jobs. Together they have at most the nodes of the machine.
    waiting
        Waiting jobs, for simulations that begin here. No job is evicted for them.

    Examples
    --------
    >>> from hpcdispatch.analysis import Scenario
    >>> scenario = Scenario(machine={"nodes": 8}, jobs=[{"id": "a", "nodes": 4, "elapsed": 3600}])
    >>> scenario.machine.nodes - sum(job.nodes for job in scenario.jobs)
    4
    """

    machine: MachinePart
    storage: StoragePart = StoragePart()
    jobs: Annotated[tuple[JobPart, ...], Field(min_length=1)]
    waiting: tuple[WaitingPart, ...] = ()

    if not TYPE_CHECKING:  # Type checkers take the arguments from the fields.

        def __init__(self, /, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise InputError(f"Scenario: {_said(error)}") from None

    @property
    def standing(self) -> tuple[JobPart | WaitingPart, ...]:
        """The running and the waiting jobs."""
        return *self.jobs, *self.waiting

    @property
    def idle(self) -> int:
        """Nodes on which no job runs."""
        return self.machine.nodes - sum(job.nodes for job in self.jobs)

    @model_validator(mode="after")
    def _fits(self) -> Scenario:
        seen: set[str] = set()
        for standing in self.standing:
            if standing.id in seen:
                raise ValueError(f"jobs: id {standing.id!r} must be unique, got it twice")
            seen.add(standing.id)
        for job in self.jobs:
            beyond = [node for node in job.placement or () if node >= self.machine.nodes]
            if beyond:
                raise ValueError(f"jobs: job {job.id}: expected nodes below {self.machine.nodes}, got {beyond[0]}")
        if self.idle < 0:
            raise ValueError(
                f"jobs: expected at most the {self.machine.nodes:,} nodes of the machine, "
                f"got {self.machine.nodes - self.idle:,}"
            )
        return self

    def running(self) -> list[RunningJob]:
        """Return the jobs with the times of their checkpoints, as if each job wrote alone."""
        return [job.alone(self.bandwidth) for job in self.writing()]

    def writing(self) -> list[WritingJob]:
        """Return the jobs with their checkpoints. A checkpoint given by its time is as if it filled the file system."""
        return [_writing(job, self.bandwidth) for job in self.jobs]

    @property
    def bandwidth(self) -> Storage:
        """The file system for checkpoints, as the plans need it."""
        return Storage(self.storage.aggregate, self.storage.node)


def _writing(job: JobPart, storage: Storage) -> WritingJob:
    made = writing_job(job.id, job.nodes, job.elapsed or 0, job, storage, ends=job.ends, unsure=job.unsure)
    given: dict[str, Any] = {}
    if job.loss is not None:
        given = {"loss": job.loss, "risk": Fraction(job.unsure) * (Fraction(job.loss) + Fraction(made.restart))}
    for kind in ("system", "application"):
        time = getattr(job, f"{kind}_checkpoint")
        if time is not None:
            given[kind] = Write(time * storage.aggregate, time)
    return replace(made, **given)


@names_wrong_types
def scenario_of(workload: Workload) -> Scenario:
    """Return the jobs that run at ``provenance.options["instant"]``, as if each started at its submission.

    Raises
    ------
    InputError
        If the workload has no instant, or its jobs need more nodes than the machine has.

    Examples
    --------
    >>> from hpcdispatch.analysis import scenario_of
    >>> from hpcdispatch.workloads import theta_scenario
    >>> scenario = scenario_of(theta_scenario(jobs=5, nodes=1024, seed=1))
    >>> len(scenario.jobs)
    5
    """
    instant = workload.provenance.options.get("instant")
    if instant is None:
        raise InputError(f"{workload.provenance.source}: expected a scenario, got a workload without an instant")
    jobs = []
    for job in workload.jobs:
        if not job.submit <= instant < job.submit + job.runtime:
            continue
        part: dict[str, Any] = {"id": job.id, "nodes": job.nodes, "elapsed": instant - job.submit}
        if job.checkpoint is not None and job.checkpoint.system_size:
            part["system_size"] = job.checkpoint.system_size
        if job.checkpoint is not None and job.checkpoint.interval is not None:
            part |= {"application_size": job.checkpoint.application_size, "interval": job.checkpoint.interval}
        if job.checkpoint is not None:
            part |= {name: cost for name in ("write", "restart") if (cost := getattr(job.checkpoint, name))}
        jobs.append(part)
    machine = {"nodes": workload.machine.nodes, "name": workload.machine.name}
    return checked_scenario({"machine": machine, "jobs": jobs}, workload.provenance.source)


@names_wrong_types
def read_scenario(path: str | PathLike[str]) -> Scenario:
    """Read and check a scenario: JSON with the fields of :class:`Scenario`.

    Raises
    ------
    InputError
        If the scenario is invalid. One line names file, field, expected and received value.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hpcdispatch.analysis import Scenario, read_scenario, write_scenario
    >>> scenario = Scenario(machine={"nodes": 8}, jobs=[{"id": "a", "nodes": 4, "elapsed": 3600}])
    >>> with TemporaryDirectory() as folder:
    ...     write_scenario(scenario, f"{folder}/scenario.json")
    ...     same = read_scenario(f"{folder}/scenario.json")
    >>> same == scenario
    True
    """
    return checked_scenario(read_json(Path(path), "a scenario in JSON"), str(path))


@names_wrong_types
def write_scenario(scenario: Scenario, path: str | PathLike[str]) -> None:
    """Write a scenario that :func:`read_scenario` reads back.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from hpcdispatch.analysis import Scenario, read_scenario, write_scenario
    >>> scenario = Scenario(machine={"nodes": 8}, jobs=[{"id": "a", "nodes": 4, "elapsed": 3600}])
    >>> with TemporaryDirectory() as folder:
    ...     write_scenario(scenario, f"{folder}/scenario.json")
    ...     read_scenario(f"{folder}/scenario.json").jobs[0].id
    'a'
    """
    text = scenario.model_dump_json(indent=2, exclude_unset=True)
    write_whole(Path(path), text + "\n")


def checked_scenario(found: Any, where: str) -> Scenario:
    """Return a scenario from its fields.

    Raises
    ------
    InputError
        If the fields are invalid. The message begins with `where`.
    """
    if not isinstance(found, dict):
        raise InputError(f"{where}: expected an object, got {type(found).__name__}")
    try:
        return Scenario(**found)
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix('Scenario: ')}") from None


def _said(error: ValidationError) -> str:
    """Return the first error as field, expected and received value. An unknown field comes before a missing one."""
    errors = error.errors(include_url=False)
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    place = f"{field}: " if field else ""
    kind = first["type"]
    if kind == "extra_forbidden":
        parts: dict[object, type[_ScenarioModel]] = {
            "machine": MachinePart,
            "storage": StoragePart,
            "jobs": JobPart,
            "waiting": WaitingPart,
        }
        owner = Scenario if len(first["loc"]) == 1 else parts[first["loc"][0]]
        return f"{place}unknown field; known: {', '.join(owner.model_fields)}"
    if kind == "missing":
        return f"{place}expected this field, got none"
    if kind == "value_error":
        return place + first["msg"].removeprefix("Value error, ")
    expected = _EXPECTED.get(kind) or first["msg"].replace("Input should be", "expected")
    received = first["input"]
    nested = isinstance(received, dict | list | tuple | BaseModel)
    return f"{place}{expected}, got {type(received).__name__ if nested else shown(received)}"
