"""Convert a campaign file to its cells and their workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from os import PathLike
from pathlib import Path

from ...analysis.conclusions import Basis
from ...base import InputError, read_bounded
from ...base.argument_types import names_wrong_types
from ...simulation import Budget, Overrun, SameInstant
from ...simulation.trimming import steady_state
from ...workloads import OperatingConditions, Workload, closed_loop, generate, read, resample
from ...workloads.formats.memory_needs import half_the_memory
from ...workloads.operating_conditions import NO_CONDITIONS
from ...workloads.sources import Source, resolve
from .campaign_file import CONDITIONS, CampaignTable, WorkloadTable, read_campaign
from .cells import Cell
from .molding_specs import molded
from .samples import Loaders
from .toml_lines import line_of
from .versions import canonical_dispatcher, canonical_predictor

#: Options of reading by which papers count jobs and processors.
_COUNTS = ("zero_runtime", "unknown_runtime", "processors")


@dataclass(frozen=True)
class WorkloadSource:
    """Source of the jobs of a ``[[workload]]``.

    Attributes
    ----------
    table
        The table in the campaign file.
    source
        The resolved source.
    machine
        The file of the machine, or ``None``.
    reader
        Reads a trace. A trace of several tables is read once.
    conditions
        Failures, cap and signal.
    """

    table: WorkloadTable
    source: Source
    machine: Path | None
    reader: Callable[..., Workload] = field(default=read, repr=False)
    conditions: OperatingConditions = NO_CONDITIONS

    @property
    def fails(self) -> bool:
        """Whether each seed has failures of its own."""
        return isinstance(self.conditions.failures, str)

    def load(self, seed: int = 0) -> Workload:
        """Return the jobs, the first or the slice of them, moldable if requested."""
        table = self.table
        if self.source.spec is not None:
            workload = generate(self.source.spec, seed=seed)
        else:
            head = table.head if table.slice is None else table.slice[1]
            options = (self.machine, table.lenient, table.strict, table.default_walltime, head, table.timezone)
            given = {name: value for name in _COUNTS if (value := getattr(table, name)) is not None}
            workload = self.reader(self.source.file(), *options, **given)
        if table.head is not None:
            workload = workload.head(table.head)
        elif table.slice is not None:
            workload = workload.slice(*table.slice)
        return molded(workload, table.mold, seed)


@dataclass(frozen=True)
class CampaignPlan:
    """The cells of a campaign.

    Attributes
    ----------
    name
        Of the campaign file, without its suffix. Empty for a plan that the store does not record.
    cells
        Every cell once, in the order of workload, seed, jitter, dispatcher and so on. Cells on the same jobs follow
        each other.
    rows
        The rows of a table. They also have cells that differ only in their workload's name, warm-up or cool-down. No
        result depends on these.
    loaders
        Digest of a workload to the function that returns it.
    """

    name: str
    cells: tuple[Cell, ...]
    rows: tuple[Cell, ...]
    loaders: Loaders = field(repr=False)
    _last: dict[str, Workload] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, name: str, rows: Iterable[Cell], loaders: Loaders) -> CampaignPlan:
        """Return the plan of these cells. Each is simulated once."""
        rows, cells = tuple(rows), dict[str, Cell]()
        for cell in rows:
            cells.setdefault(cell.key, cell)
        return cls(name, tuple(cells.values()), rows, loaders)

    def workload(self, digest: str) -> Workload:
        """Return the jobs with a digest; the last ones are cached."""
        if digest not in self._last:
            workload = self.loaders[digest]()
            self._last.clear()
            self._last[digest] = workload
        return self._last[digest]


@names_wrong_types
def plan_campaign(path: str | PathLike[str], cache: Path | None = None) -> CampaignPlan:
    """Read a campaign file and its workloads, and return the cells to simulate.

    Parameters
    ----------
    path
        The file; traces are relative to its folder.
    cache
        A folder for parsed large traces, as of :func:`hpcdispatch.workloads.read`.

    Raises
    ------
    InputError
        If the file or a workload is invalid, before any simulation.
    OSError
        If a file cannot be read or downloaded.

    Warns
    -----
    TraceWarning
        As :func:`hpcdispatch.workloads.read`.
    """
    path = Path(path)
    table = read_campaign(path)
    reader = lru_cache(maxsize=None)(partial(read, cache=cache, memory=half_the_memory()))
    sources = [_resolve(path, table, index, reader) for index in range(len(table.workload))]
    loaders: Loaders = {}
    rows = [cell for index, source in enumerate(sources) for cell in _cells(path, table, index, source, loaders)]
    return CampaignPlan.of(path.stem, rows, loaders)


def _cells(path: Path, table: CampaignTable, index: int, source: WorkloadSource, loaders: Loaders) -> list[Cell]:
    """Return the cells of one ``[[workload]]``, and add the loaders of its jobs."""
    own, cells = source.table, list[Cell]()
    parts: list[tuple[str, str, str, SameInstant]] = list(
        product(
            map(canonical_dispatcher, table.dispatchers),
            map(canonical_predictor, table.predictors),
            [str(Overrun.parse(overrun)) for overrun in table.overrun],
            table.same_instant,
        )
    )
    shifts = table.jitter if own.jitter is None else own.jitter
    cuts = (own.warm_up or table.warm_up, own.cool_down or table.cool_down)
    digest, jobs = "", 0
    sampled = source.source.sampled
    drawn = not sampled and (len(table.seeds) > 1 and not any(shifts) if table.resample is None else table.resample)
    budget = Budget(table.cell_budget.decisions, table.cell_budget.seconds)
    for seed in table.seeds:
        if not digest or sampled or drawn or source.fails:
            workload = _loaded(path, index, source, seed, loaders, drawn=drawn)
            digest = workload.digest()
            jobs = len(workload)
            try:
                steady_state(workload.frame()["submit"].to_numpy(), *cuts)
            except InputError as error:
                key = "warm_up" if cuts[0].amount else "cool_down"
                where = _where(path, (key,) if getattr(own, key) is None else ("workload", index, key))
                raise InputError(f"{where} {index + 1}, {own.label}: {error}") from None
        for jitter, rest in product(shifts, parts):
            # Other failures of one trace, as shifts of it, are no other samples of the workload.
            one = bool(jitter) or (source.fails and len(table.seeds) > 1)
            basis: Basis = "independent" if sampled else "resamples" if drawn else "shifts" if one else "trace"
            sample = own.label, jobs, digest, jitter or None, seed
            cells.append(Cell(*sample, *rest, *cuts, basis, budget=budget, signal=source.conditions.grid))
    return cells


def _loaded(
    path: Path, index: int, source: WorkloadSource, seed: int, loaders: Loaders, *, drawn: bool = False
) -> Workload:
    """Return the jobs of a seed, resampled if `drawn` is set. Keep their loader, and a trace itself."""

    def load() -> Workload:
        sample = resample(source.load(seed), seed) if drawn else source.load(seed)
        sample = closed_loop(sample) if source.table.users == "react" else sample
        return source.conditions.on(sample, seed)

    try:
        workload = load()
    except (InputError, OSError) as error:
        if isinstance(error, OSError) and not source.conditions:
            raise
        raise InputError(f"{_where(path, ('workload', index, 'source'))} {index + 1}: {error}") from None
    key = "head" if source.table.slice is None else "slice"
    if not len(workload):
        where = _where(path, ("workload", index, key))
        raise InputError(f"{where} {index + 1} {key}: expected at least one job of it, got none")
    again = drawn or source.source.sampled or source.fails
    loaders.setdefault(workload.digest(), load if again else lambda: workload)
    return workload


def _resolve(path: Path, table: CampaignTable, index: int, reader: Callable[..., Workload]) -> WorkloadSource:
    """Return the resolved source of a workload."""
    own = table.workload[index]
    try:
        source = resolve(own.source, path.parent)
    except InputError as error:
        raise InputError(f"{_where(path, ('workload', index, 'source'))} {index + 1} source: {error}") from None
    reading = ("machine", "lenient", "strict", "timezone", "default_walltime", *_COUNTS)
    for key in reading if source.spec is not None else ():
        if key in own.model_fields_set:
            where = f"{_where(path, ('workload', index, key))} {index + 1} {key}"
            raise InputError(f"{where}: it says how to read a trace, and {own.source} is generated")
    given = next((key for key in CONDITIONS if getattr(own, key) is not None), "source")
    try:
        conditions = own.conditions(path.parent)
    except (InputError, OSError) as error:
        told = f"{_where(path, ('workload', index, given))} {index + 1}"
        raise InputError(f"{told}: {error}") from None
    return WorkloadSource(own, source, None if own.machine is None else path.parent / own.machine, reader, conditions)


def _where(path: Path, key: tuple[int | str, ...]) -> str:
    return f"{path}:{line_of(read_bounded(path, 'a campaign').decode('utf-8-sig'), key)}: workload"
