"""Options of several commands, and the types of their values."""

import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

import click

from ..analysis import LEAST_TO_TRUST
from ..base import InputError, shown
from ..base.checks import MOST_JOBS
from ..bench.campaigns.molding_specs import check_molding
from ..bench.reports.number_formats import count
from ..dispatchers import create_dispatcher
from ..predictors import Empirical
from ..predictors import create as create_predictor
from ..simulation import SameInstant
from ..workloads.formats.read_log import DefaultWalltime
from ..workloads.formats.run_times import Unit
from .app import READING, options
from .command_errors import say
from .durations import Duration

#: Commas before the next item of a list, not before another ``key=value`` of the same item.
_BETWEEN = re.compile(r",(?!\s*[^,:=]*=)")


class _DefaultWalltime(Duration):
    """A walltime, or ``runtime``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return seconds, or ``runtime``."""
        return value if value == "runtime" else super().convert(value, param, ctx)


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    found = re.fullmatch(r"(\d{1,12})([KMGT]?)B?", (value or "").strip().upper())
    if value is not None and (found is None or not int(found[1])):
        raise click.BadParameter(f"expected a size such as 8GB, got {shown(value)}", ctx, param)
    return None if found is None else int(found[1]) * 1000 ** "_KMGT".index(found[2] or "_")


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How a trace is read; see :func:`hpcdispatch.workloads.read`. `no_cache` neither reads nor writes the cache."""

    machine: Path | None = None
    lenient: bool = False
    strict: bool = False
    default_walltime: DefaultWalltime = None
    head: int | None = None
    timezone: str | None = None
    format: str | None = None
    cluster: str | None = None
    delimiter: str | None = None
    columns: str | None = None
    keep_zero: bool = False
    max_size: int | None = None
    no_cache: bool = False


def path_option(name: str, help: str, metavar: str = "FILE") -> Callable[..., Any]:
    """Return an option for a path, which need not exist."""
    return click.option(name, type=click.Path(path_type=Path), metavar=metavar, help=help)


def seed_option(help: str) -> Callable[..., Any]:
    """Return the option ``--seed``."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", show_default=True, help=help)


no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Read large traces anew, and do not keep what was read for the next time."
)

_READING = (
    click.option(
        "--machine",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The machine, an AccaSim system file in JSON. Without it: one pool of as many cores as the trace says.",
    ),
    click.option("--lenient", is_flag=True, help="Drop malformed records, counted and listed, instead of stopping."),
    click.option(
        "--strict", is_flag=True, help="Refuse a trace with records that could never run, instead of dropping them."
    ),
    click.option(
        "--default-walltime",
        type=_DefaultWalltime(1),
        metavar="TIME|runtime",
        help="Walltime of jobs without one. Default: the largest of their queue.",
    ),
    click.option(
        "--head",
        type=click.IntRange(min=1, max=MOST_JOBS),
        metavar="N",
        help="Take the first N jobs, and read no further.",
    ),
    click.option(
        "--timezone",
        metavar="ZONE",
        help="Zone of the local times that sacct prints, such as Europe/Berlin. Default: as they stand.",
    ),
    click.option(
        "--format",
        metavar="NAME|MAP.toml",
        help="swf, sacct, jsonl, a public data set such as pm100, or a column map. Default: by the file.",
    ),
    click.option("--cluster", metavar="NAME", help="Which cluster, of an accounting with the jobs of several."),
    click.option("--delimiter", metavar="TEXT", help="Between the fields of sacct. Default: as its header shows."),
    click.option("--columns", metavar="NAMES", help="The columns of what sacct prints without a header."),
    click.option("--keep-zero", is_flag=True, help="Keep jobs with a recorded run time of 0 as one second."),
    click.option(
        "--max-size",
        callback=_size,
        metavar="SIZE",
        help="Largest file that is read, such as 8GB; raises the other bounds in proportion. Default: 4GB.",
    ),
    no_cache_option,
)


def gathered(name: str, kind: type[Any], group: str, declared: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return a decorator that adds a group of options to a command. The command gets them as one dataclass object."""
    names = [field.name for field in fields(kind)]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*args: Any, **given: Any) -> None:
            function(*args, **{name: kind(**{each: given.pop(each) for each in names})}, **given)

        made: Callable[..., None] = options(group, *declared)(command)
        return made

    return decorate


reading_options = gathered("reading", ReadingOptions, READING, _READING)


overrun_option = click.option(
    "--overrun",
    default="run",
    show_default=True,
    metavar="run|kill|resubmit",
    help="What a job does at its walltime; as in resubmit:factor=1.5,cap=2d.",
)

same_instant_option = click.option(
    "--same-instant",
    type=click.Choice(get_args(SameInstant)),
    default="batch",
    show_default=True,
    metavar="batch|sequence",
    help="Dispatch once a second, or after each event.",
)


def _molding(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        check_molding(value)
    return value


mold_option = click.option(
    "--mold", callback=_molding, metavar="SPEEDUP", help="Make the jobs moldable, such as downey or amdahl:serial=0.1."
)


def dispatchers_option(default: str, help: str = "Names with options.") -> Callable[..., Any]:
    """Return the option for several dispatchers."""
    return click.option(
        "--dispatchers", multiple=True, default=(default,), metavar="A,B,...", help=f"{help}  [default: {default}]"
    )


def predictors_option(default: str, help: str = "Names with options.") -> Callable[..., Any]:
    """Return the option for several predictors."""
    return click.option(
        "--predictors", multiple=True, default=(default,), metavar="X,Y,...", help=f"{help}  [default: {default}]"
    )


workers_option = click.option(
    "--workers", type=click.IntRange(1, 1024), metavar="N", help="Processes; 1 is this one.  [default: the cores]"
)
check_option = click.option("--check", "checked", is_flag=True, help="Check each schedule against the invariants.")
unit_option = click.option(
    "--unit", type=click.Choice(get_args(Unit)), default="s", show_default=True, help="Of plain numbers in the file."
)
column_option = click.option("--column", metavar="NAME", help="Column of the run times, where there are several.")
longest_option = click.option(
    "--max", "longest", type=Duration(1), metavar="TIME",
    help="The last request.  [default: the longest run]",
)  # fmt: skip


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
