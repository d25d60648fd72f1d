"""Campaign files: TOML with all simulations, checked completely before the first one runs."""

import re
import tomllib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ...base import LONGEST, InputError, read_bounded, shown
from ...base.checks import LARGEST, MOST_STEPS
from ...base.printed import near_name
from ...base.time_texts import seconds_of
from ...simulation import Overrun, SameInstant
from ...simulation.trimming import EXPECTED, NOTHING, Cut
from ...workloads import OperatingConditions
from .molding_specs import check_molding
from .samples import Users, seed_range
from .toml_lines import KeyPath, line_of
from .versions import canonical_dispatcher, canonical_predictor


def _seeds(value: Any) -> Any:
    """Return the seeds 0 to N - 1 for a number of them, and those of a range such as ``20-29``."""
    if value == []:
        raise ValueError("expected at least one seed, got an empty list")
    if isinstance(value, str):
        seeds = seed_range(value)
        if seeds is None:
            raise ValueError(f"expected a number of seeds, a range such as '20-29', or a list, got {shown(value)}")
        if not 1 <= len(seeds) <= MOST_STEPS:
            raise ValueError(f"expected 1 to {MOST_STEPS} seeds, the last not before the first, got {shown(value)}")
        return list(seeds)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_STEPS:
            raise ValueError(f"expected 1 to {MOST_STEPS} seeds, or a list of seeds, got {shown(value)}")
        return list(range(value))
    return value


def _distinct(values: list[Any]) -> list[Any]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{shown(value)} is given twice")
    return values


def _ascending(values: list[int]) -> list[int]:
    if values[0] >= values[1]:
        raise ValueError(f"expected [FIRST, LAST] with FIRST < LAST, got {shown(values)}")
    return values


def _cut(text: Any) -> Any:
    """Return the amount in a text."""
    if not isinstance(text, str):
        raise ValueError(f"expected {EXPECTED}, in quotes, got {shown(text)}")
    return Cut.parse(text)


def _of_text(value: Any) -> Any:
    """Return the seconds in a text such as ``1h30m``, and numbers as they are."""
    return seconds_of(value) if isinstance(value, str) else value


def _several(value: Any) -> Any:
    """Return a list, also for a single value without brackets."""
    return value if isinstance(value, list) else [value]


#: Most bytes of a file: to find the line of an error, the text is parsed many times.
_MOST_BYTES = 1 << 16
#: Of many errors, the first by line is chosen among this many.
_MOST_MISTAKES = 5
#: A key of more parts than any campaign has. The time to read a key grows with their square.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')\s*+\.\s*+){32}""")
_Whole = Annotated[int, Field(ge=0, le=LONGEST)]
_Positive = Annotated[int, Field(ge=1, le=LONGEST)]
_NotEmpty = Annotated[str, Field(min_length=1)]
_Texts = Annotated[list[_NotEmpty], BeforeValidator(_several), Field(min_length=1), AfterValidator(_distinct)]
_Seconds = Annotated[_Whole, BeforeValidator(_of_text)]
_Durations = Annotated[list[_Seconds], BeforeValidator(_several), Field(min_length=1), AfterValidator(_distinct)]
_Cut = Annotated[Cut, BeforeValidator(_cut)]
_Instants = Annotated[list[SameInstant], BeforeValidator(_several), Field(min_length=1), AfterValidator(_distinct)]


#: Keys of a workload's conditions.
CONDITIONS = ("failures", "signal", "may_wait", "power_cap")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WorkloadTable(_Table):
    """One ``[[workload]]``.

    Attributes
    ----------
    source
        A trace file, relative to the folder of the campaign file. Or ``NAME:key=value,...`` of a generator, or the name
        of a published trace.
    name
        Its name in tables; the source by default.
    head, slice
        Only the first jobs. Or only those from the first place on and before the last, counted from 0.
    jitter, warm_up, cool_down
        They replace those of the campaign.
    users
        ``"react"``: within a session the jobs of a user follow the ends of the user's other jobs, see
        :func:`hpcdispatch.workloads.closed_loop`.
    mold
        The speedup that makes the jobs moldable, see :func:`~hpcdispatch.bench.campaigns.molding_specs.molded`.
    failures, signal, may_wait, power_cap
        As in :func:`hpcdispatch.simulation.simulate`. Failures are drawn by the seed; files are relative to the folder
        of the campaign file.
    machine, lenient, strict, default_walltime, zero_runtime, unknown_runtime, processors, timezone
        Reading options, as in :func:`hpcdispatch.workloads.read`.
    """

    source: _NotEmpty
    name: str = ""
    head: _Positive | None = None
    slice: Annotated[list[_Whole], Field(min_length=2, max_length=2), AfterValidator(_ascending)] | None = None
    jitter: _Durations | None = None
    warm_up: _Cut | None = None
    cool_down: _Cut | None = None
    users: Users = "replay"
    mold: _NotEmpty | None = None
    failures: _NotEmpty | None = None
    signal: _NotEmpty | None = None
    may_wait: _NotEmpty | _Whole | None = None
    power_cap: _NotEmpty | None = None
    machine: _NotEmpty | None = None
    lenient: bool = False
    strict: bool = False
    default_walltime: _Positive | Literal["runtime", "drop"] | None = None
    zero_runtime: _Whole | None = None
    unknown_runtime: _Positive | None = None
    processors: _Positive | None = None
    timezone: _NotEmpty | None = None

    @property
    def label(self) -> str:
        """Its name in tables."""
        given = [
            f"{name.replace('_', ' ')} {value}" for name in CONDITIONS if (value := getattr(self, name)) is not None
        ]
        return self.name or ", ".join([self.source, *(["users react"] if self.users == "react" else []), *given])

    def conditions(self, folder: Path) -> OperatingConditions:
        """Return the conditions, with files in a folder.

        Raises
        ------
        InputError, OSError
            As :class:`.OperatingConditions`.
        """
        given = {name: getattr(self, name) for name in CONDITIONS}
        for name, value in given.items():
            law = name == "failures" and "=" in str(value) and not (folder / str(value)).exists()
            if isinstance(value, str) and name != "may_wait" and not law:
                given[name] = folder / value
        return OperatingConditions(**given)


class BudgetTable(_Table):
    """Bounds of a cell, see :class:`hpcdispatch.simulation.Budget`. A cell that exceeds one fails.

    Attributes
    ----------
    decisions, seconds
        Most calls of the dispatcher, and most wall-clock time: seconds, or text such as ``"10m"``.
    """

    decisions: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    seconds: Annotated[float, Field(gt=0, le=LONGEST), BeforeValidator(_of_text)] | None = None


class CampaignTable(_Table):
    """A campaign file.

    Attributes
    ----------
    workload
        The workloads. Each one is combined with every combination of the following.
    dispatchers, predictors
        Names with options.
    overrun, same_instant
        As in :func:`hpcdispatch.simulation.simulate`; one or several.
    jitter
        Largest random shift of a submission, seconds, by the seed; 0 for none. One or several. Shifted copies of a
        trace give a range and no interval.
    warm_up, cool_down
        Jobs at both ends of each workload that are simulated, but not counted in tables and reports.
    seeds
        The seeds, their number, or a range such as ``20-29``.
    resample
        Whether each seed is a resample of a trace; by default if there are several seeds and no jitter.
    cell_budget
        Bounds of each cell.
    """

    workload: Annotated[list[WorkloadTable], Field(min_length=1)]
    dispatchers: _Texts
    predictors: _Texts = ["walltime"]
    overrun: _Texts = ["run"]
    same_instant: _Instants = ["batch"]
    jitter: _Durations = [0]
    warm_up: _Cut = NOTHING
    cool_down: _Cut = NOTHING
    seeds: Annotated[list[_Whole], BeforeValidator(_seeds), Field(min_length=1), AfterValidator(_distinct)] = [0]
    resample: bool | None = None
    cell_budget: BudgetTable = BudgetTable()


def read_campaign(path: str | PathLike[str]) -> CampaignTable:
    """Read and check a campaign file, with the options of dispatchers and predictors.

    Raises
    ------
    InputError
        If the file is invalid. One line has file, line, key, expected and received value.
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    try:
        text = read_bounded(path, "a campaign", _MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected text in UTF-8, got byte {error.object[error.start]:#x}") from None
    if (match := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, match.start()) + 1
        raise InputError(f"{path}:{line}: expected a key of at most 32 parts, got {shown(match[0])}")
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(_syntax(path, str(error))) from None
    except RecursionError:
        raise InputError(f"{path}: expected a campaign, got TOML nested too deeply") from None
    except ValueError:
        raise InputError(f"{path}: expected a campaign, got a number or a date that cannot be read") from None
    try:
        table = CampaignTable.model_validate(read)
    except ValidationError as error:
        raise InputError(_first(path, text, error)) from None
    _check_parts(path, text, table)
    return table


def _syntax(path: Path, message: str) -> str:
    """Return ``FILE:LINE: message`` of ``message (at line LINE, column COLUMN)``."""
    said, _, place = message.rpartition(" (at ")
    words = place.rstrip(")").replace(",", "").split()
    if words[:1] != ["line"]:
        return f"{path}: {message}"
    return f"{path}:{words[1]}: expected TOML, got an error in column {words[-1]}: {said}"


def _first(path: Path, text: str, error: ValidationError) -> str:
    """Return the first error by line."""
    mistakes = []
    for problem in error.errors(include_url=False)[:_MOST_MISTAKES]:
        place: KeyPath = problem["loc"]
        last = place[-1] if place else 0
        if isinstance(last, str) and (last.startswith(("constrained", "literal[")) or last == "int"):
            # Pydantic's name for a member of a union, unless the file has such a key.
            place = place if problem["type"] == "extra_forbidden" else place[:-1]
        mistakes.append((line_of(text, place), _said(place, problem["type"], problem["msg"], problem["input"])))
    line, message = min(mistakes, key=lambda pair: pair[0])
    return f"{path}:{line}: {message}"


def _said(place: KeyPath, kind: str, message: str, value: Any) -> str:
    """Return key, expected and received value."""
    where = " ".join(f"{part + 1}" if isinstance(part, int) else part for part in place)  # entries count from 1
    if kind == "extra_forbidden":
        known = list((WorkloadTable if place[0] == "workload" and len(place) > 1 else CampaignTable).model_fields)
        key = str(place[-1])
        return f"{where}: unknown key {shown(key)}{near_name(key, known)}; known: {', '.join(known)}"
    if kind == "missing":
        return f"{where}: expected this key, got none"
    if kind == "value_error":
        return f"{where}: {message.removeprefix('Value error, ')}"
    expected = message.replace("Input should be", "expected").replace("should have", "expected")
    return f"{where}: {expected}, got {shown(value)}"


def _check_parts(path: Path, text: str, table: CampaignTable) -> None:
    """Build every dispatcher, predictor and overrun policy once, and check for repeated labels."""
    parts: tuple[tuple[str, list[str], Callable[[str], object]], ...] = (
        ("dispatchers", table.dispatchers, canonical_dispatcher),
        ("predictors", table.predictors, canonical_predictor),
        ("overrun", table.overrun, Overrun.parse),
    )
    for key, specs, check in parts:
        for index, spec in enumerate(specs):
            try:
                check(spec)
            except InputError as error:
                raise InputError(f"{path}:{line_of(text, (key, index))}: {key}: {error}") from None
    labels: list[str] = []
    for index, workload in enumerate(table.workload):
        try:
            if workload.mold is not None:
                check_molding(workload.mold)
        except InputError as error:
            line = line_of(text, ("workload", index, "mold"))
            raise InputError(f"{path}:{line}: workload {index + 1} mold: {error}") from None
        if workload.label in labels:
            line = line_of(text, ("workload", index, "name" if workload.name else "source"))
            raise InputError(
                f"{path}:{line}: workload {index + 1}: {shown(workload.label)} is given twice; give it a name"
            )
        if workload.head is not None and workload.slice is not None:
            line = line_of(text, ("workload", index, "slice"))
            raise InputError(f"{path}:{line}: workload {index + 1}: expected head or slice, got both")
        labels.append(workload.label)
