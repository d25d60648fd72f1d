"""Options of several commands, and the types of their values."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import click

from ..analysis import LEAST_TO_TRUST
from ..base import InputError, shown
from ..base.checks import MOST_JOBS, MOST_PROCESSORS, MOST_STEPS
from ..bench.campaigns.molding_specs import check_molding
from ..bench.campaigns.samples import Users, seed_range
from ..bench.reports.number_formats import count
from ..dispatchers import create_dispatcher
from ..predictors import Empirical
from ..predictors import create as create_predictor
from ..simulation import SameInstant, conventions
from ..simulation.trimming import Cut
from ..workloads import OperatingConditions
from ..workloads.formats.read_log import DefaultWalltime
from ..workloads.formats.run_times import Unit
from .app import READING
from .command_errors import say
from .completion import part_names
from .durations import Duration, Whole
from .parameters import Declared, option

#: Commas before the next item of a list, not before another ``key=value`` of the same item.
_BETWEEN = re.compile(r",(?!\s*[^,:=]*=)")


class _DefaultWalltime(Duration):
    """A walltime, ``runtime`` or ``drop``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return seconds, ``runtime`` or ``drop``."""
        return value if value in ("runtime", "drop") else super().convert(value, param, ctx)


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    match = re.fullmatch(r"(\d{1,12})([KMGT]?)B?", (value or "").strip().upper())
    if value is not None and (match is None or not int(match[1])):
        raise click.BadParameter(f"expected a size such as 8GB, got {shown(value)}", ctx, param)
    return None if match is None else int(match[1]) * 1000 ** "_KMGT".index(match[2] or "_")


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NoCacheOption = Annotated[bool, option("Read large traces anew, and do not keep what was read for the next time.")]


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How a trace is read; see :func:`hpcdispatch.workloads.read`. `no_cache` neither reads nor writes the cache."""

    machine: Annotated[
        Path | None,
        option(
            "The machine, an AccaSim system file in JSON. Without it: one pool of as many cores as the trace says.",
            group=READING,
        ),
    ] = None
    lenient: Annotated[bool, option("Drop malformed records, counted and listed, instead of stopping.")] = False
    strict: Annotated[bool, option("Refuse a trace with records that could never run, instead of dropping them.")] = (
        False
    )
    default_walltime: Annotated[
        DefaultWalltime,
        option(
            "Walltime of jobs without one; drop leaves them out. Default: the largest of their queue.",
            "TIME|runtime|drop",
            _DefaultWalltime(1),
        ),
    ] = None
    head: Annotated[
        int | None, option("Take the first N jobs, and read no further.", "N", click.IntRange(min=1, max=MOST_JOBS))
    ] = None
    timezone: Annotated[
        str | None,
        option("Zone of the local times that sacct prints, such as Europe/Berlin. Default: as they stand.", "ZONE"),
    ] = None
    format: Annotated[
        str | None,
        option(
            "swf, sacct, jsonl, a public data set such as pm100, or a column map. Default: by the file.",
            "NAME|MAP.toml",
        ),
    ] = None
    cluster: Annotated[str | None, option("Which cluster, of an accounting with the jobs of several.", "NAME")] = None
    delimiter: Annotated[str | None, option("Between the fields of sacct. Default: as its header shows.", "TEXT")] = (
        None
    )
    columns: Annotated[str | None, option("The columns of what sacct prints without a header.", "NAMES")] = None
    keep_zero: Annotated[
        bool, option("Keep jobs with a recorded run time of 0 as one second, but for cancelled ones.")
    ] = False
    zero_runtime: Annotated[
        int | None, option("Run time of all jobs with a recorded one of 0, as papers count them.", "TIME", Duration())
    ] = None
    unknown_runtime: Annotated[
        int | None, option("Run time of jobs of which it is unknown (-1), as papers count them.", "TIME", Duration(1))
    ] = None
    processors: Annotated[
        int | None,
        option(
            "The machine is a pool of so many cores, whatever the header says.",
            "N",
            click.IntRange(min=1, max=MOST_PROCESSORS),
        ),
    ] = None
    max_size: Annotated[
        int | None,
        option(
            "Largest file that is read, such as 8GB; raises the other bounds in proportion. Default: 4GB.",
            "SIZE",
            str,
            callback=_size,
        ),
    ] = None
    no_cache: NoCacheOption = False

    def under(self, name: str | None, trace: str) -> "ReadingOptions":
        """Return the options with the settings of conventions, if any, where none is given."""
        if name is None:
            return self
        options = conventions(name).reading(trace)
        if self.machine is not None:
            options.pop("processors", None)
        return replace(self, **{key: value for key, value in options.items() if getattr(self, key) is None})


@dataclass(frozen=True, slots=True)
class ConditionOptions:
    """What the machine meets over time, the same for every dispatcher."""

    failures: Annotated[
        str | None,
        option("Nodes fail: mtbf=5y,repair=4h, or a log with node,begin,end.", "SPEC|FILE", group="Power and failures"),
    ] = None
    signal: Annotated[
        Path | None, option("Emissions or cost: a CSV file with time and g_per_kwh or price_per_mwh.", type=_FILE)
    ] = None
    may_wait: Annotated[
        int | None, option("Put jobs off for the best hour of the signal, by at most this.", "TIME")
    ] = None
    power_cap: Annotated[
        Path | None, option("Cap on the power over time: a CSV file with time and watts.", type=_FILE)
    ] = None

    def read(self) -> OperatingConditions:
        """Return the conditions.

        Raises
        ------
        InputError
            If the signal is malformed, or `may_wait` is without a signal.
        """
        if self.may_wait is not None and self.signal is None:
            raise InputError("--may-wait: expected --signal FILE beside it")
        return OperatingConditions(self.failures, self.signal, self.may_wait, self.power_cap)


def seed_option(help: str, group: str | None = None) -> Declared:
    """Return the seed of random numbers."""
    return option(help, "N", Whole(0), default=0, group=group)


def _molding(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        check_molding(value)
    return value


def _conventions(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Make the settings of conventions the defaults of the options."""
    if value is None or ctx.resilient_parsing:
        return value
    rules = conventions(value)
    known = {each.name for each in ctx.command.params}
    given = {**rules.simulate, "predictor": rules.predictor, "predictors": (rules.predictor,)}
    ctx.default_map = {**(ctx.default_map or {}), **{name: each for name, each in given.items() if name in known}}
    return rules.name


class _Cut(click.ParamType[Cut]):
    """An amount of a workload: ``5%``, ``200 jobs`` or a time."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Cut:
        """Return the amount."""
        try:
            return value if isinstance(value, Cut) else Cut.parse(str(value))
        except InputError as error:
            self.fail(str(error), param, ctx)


class _Seeds(click.ParamType[Any]):
    """A number of seeds, or a range of them such as ``20-29``."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | range:
        """Return the number, or the seeds."""
        text = str(value).strip()
        seeds = seed_range(text)
        if seeds is not None:
            if not 1 <= len(seeds) <= MOST_STEPS:
                self.fail(
                    f"expected 1 to {MOST_STEPS} seeds, the last not before the first, got {shown(value)}", param, ctx
                )
            return seeds
        if re.fullmatch(r"\d{1,15}", text) is None:
            self.fail(
                f"expected a number of samples such as 10, or a range such as 20-29, got {shown(value)}", param, ctx
            )
        if not 1 <= int(text) <= MOST_STEPS:
            self.fail(f"expected 1 to {MOST_STEPS} samples, got {shown(value)}", param, ctx)
        return int(text)


SEEDS = _Seeds()
WarmUpOption = Annotated[
    Cut | None,
    option(
        "Leave the first jobs by submission out of all metrics: 5%, 200 jobs, 12h, 2d.  [default: none]",
        "AMOUNT",
        _Cut(),
    ),
]
CoolDownOption = Annotated[Cut | None, option("Leave the last ones out, likewise.  [default: none]", "AMOUNT", _Cut())]
OverrunOption = Annotated[
    str,
    option(
        "What a job does at its walltime; as in resubmit:factor=1.5,cap=2d.",
        "run|kill|resubmit",
        default="run",
        group="Simulation",
    ),
]
SameInstantOption = Annotated[
    SameInstant,
    option(
        "Dispatch once a second, or after each event.",
        "batch|sequence|arrivals-first|arrivals-alone-first",
        default="batch",
    ),
]
ConventionsOption = Annotated[
    str | None,
    option(
        "Read and simulate as a paper does, where no other option says otherwise: sc15, rlscheduler, hpcopt.",
        "NAME",
        is_eager=True,
        callback=_conventions,
    ),
]
UsersOption = Annotated[
    Users,
    option(
        "React: a job of a session follows the end of the one before. The recorded times are run as well.",
        "replay|react",
        default="replay",
    ),
]
MoldOption = Annotated[
    str | None, option("Make the jobs moldable, such as downey or amdahl:serial=0.1.", "SPEEDUP", callback=_molding)
]
WorkersOption = Annotated[
    int | None, option("Processes; 1 is this one.  [default: the cores]", "N", click.IntRange(1, 1024))
]
CheckOption = Annotated[bool, option("Check each schedule against the invariants.", name="--check")]
UnitOption = Annotated[Unit, option("Of plain numbers in the file.", default="s")]
ColumnOption = Annotated[
    str | None, option("Column of the run times, where there are several.", "NAME", group="Requests")
]
LongestOption = Annotated[
    int | None, option("The last request.  [default: the longest run]", "TIME", Duration(1), name="--max")
]


def dispatchers_option(default: str, help: str = "Names with options.", *, group: str) -> Declared:
    """Return the option for the dispatchers to compare."""
    return option(
        f"{help}  [default: {default}]",
        "A,B,...",
        default=(default,),
        show_default=False,
        group=group,
        shell_complete=part_names("dispatchers", several=True),
    )


def predictors_option(default: str, help: str = "Names with options.", group: str | None = None) -> Declared:
    """Return the option for the predictors to compare."""
    return option(
        f"{help}  [default: {default}]",
        "X,Y,...",
        default=(default,),
        show_default=False,
        group=group,
        shell_complete=part_names("predictors", several=True),
    )


def split_specs(values: tuple[str, ...], kind: str) -> list[str]:
    """Split lists such as ``easy,conservative:compress=once,placement=best-fit,fcfs`` into their items.

    A comma separates items unless a ``key=value`` follows. That belongs to the item before.

    Raises
    ------
    InputError
        If an item is empty or occurs twice.
    """
    items = [item.strip() for value in values for item in _BETWEEN.split(value)]
    for item in items:
        if not item:
            raise InputError(f"--{kind}s: expected names separated by commas, got an empty one in {','.join(values)!r}")
        if items.count(item) > 1:
            raise InputError(f"--{kind}s: {item!r} is given twice")
    return items


def validate(dispatchers: Sequence[str], predictors: Sequence[str]) -> None:
    """Build every part once, so that a bad name or option fails before the trace is read; see :func:`say_few_runs`.

    Raises
    ------
    InputError
        For an unknown name or option, or an invalid value.
    """
    for dispatcher in dispatchers:
        create_dispatcher(dispatcher)
    say_few_runs(predictors)


def say_few_runs(predictors: Iterable[str]) -> None:
    """Build every predictor once. Print one line on those with distributions from too few runs."""
    beliefs = {predictor: create_predictor(predictor) for predictor in predictors}
    least = {name: made.least for name, made in beliefs.items() if isinstance(made, Empirical)}
    few = [name for name, runs in least.items() if runs < LEAST_TO_TRUST]
    if few:
        runs = count(min(least[name] for name in few), "past run")
        say("note", f"{', '.join(few)}: laws of {runs} tell little; expected at least {LEAST_TO_TRUST}")


def check_writable(path: Path | None, option: str, kinds: Iterable[str]) -> None:
    """Refuse a file that cannot be written, before any computation.

    Parameters
    ----------
    path
        The file; ``None`` passes.
    option
        Its option, for the message.
    kinds
        The allowed suffixes, without the dot.

    Raises
    ------
    InputError
        For another suffix, a folder of this name, or a missing folder.
    """
    if path is None:
        return
    if path.suffix.lower().removeprefix(".") not in kinds:
        known = " or ".join(f".{kind}" for kind in kinds)
        raise InputError(f"{option} {path}: expected a file name ending in {known}, got suffix {path.suffix!r}")
    if path.is_dir():
        raise InputError(f"{option} {path}: expected a file to write to, got a directory")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: no such directory to write to: {path.parent}")


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_folder(path: Path | None) -> None:
    """Make the folder for results before any simulation, so that a bad name loses no work.

    Raises
    ------
    InputError
        If it cannot be made, or is a file.
    """
    if path is None:
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{path}: expected a directory for --out, got a file") from None
