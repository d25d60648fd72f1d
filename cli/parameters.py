"""Parameters of a command, declared in the annotations of its function.

A parameter is ``nodes: Annotated[int, option("Nodes that are needed.", "K")]``. A dataclass stands for its
fields. Types, flags, choices and whether an option must be given follow from the annotation. A value with the
name ``TIME`` is a duration, one with the name ``N`` a whole number from 1 on.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from .durations import Duration, Whole

_TYPES: dict[Any, Any] = {Path: click.Path(path_type=Path), str: str, int: int, float: float}
#: Types that the name of a value says.
_NAMED: dict[str | None, click.ParamType[Any]] = {"TIME": Duration(), "N": Whole(1)}


@dataclass(frozen=True, slots=True)
class Declared:
    """An option or an argument, without what its annotation says.

    A `group` heads the option and those after it in the help.
    """

    kind: type[click.Parameter]
    group: str | None
    attributes: Mapping[str, Any]

    def parameter(self, name: str, hint: Any) -> Any:
        """Return the parameter of click for a parameter `name` with the type `hint`."""
        given = {"type": None, **self.attributes}
        optional = get_origin(hint) in (UnionType, Union) and NoneType in get_args(hint)
        plain = get_args(hint)[0] if optional else hint
        if given["type"] is None:
            choices = click.Choice(get_args(plain)) if get_origin(plain) is Literal else None
            given["type"] = choices or _NAMED.get(given["metavar"]) or _TYPES.get(plain)
        if self.kind is click.Argument:
            several = {"nargs": -1} if get_origin(plain) is tuple else {"required": not optional}
            return click.Argument([name], **{**several, **given})
        names = [given.pop("name", None) or f"--{name.replace('_', '-')}", name]
        if plain is bool:
            given["is_flag"] = True
        if get_origin(plain) is tuple:
            given["multiple"] = True
        if plain is Path and given["metavar"] is None:
            given["metavar"] = "FILE"
        required = not (optional or plain is bool or "multiple" in given or "default" in given)
        return click.Option(names, **{"required": required, "show_default": given.get("default", "") != "", **given})


def option(
    help: str, metavar: str | None = None, type: Any = None, *, group: str | None = None, **more: Any
) -> Declared:
    """Declare an option. In `more` are ``name``, for another name on the command line, and attributes of click."""
    return Declared(click.Option, group, {"help": help, "metavar": metavar, "type": type, **more})


def argument(metavar: str | None = None, type: Any = None, **more: Any) -> Declared:
    """Declare an argument. In `more` are attributes of click."""
    return Declared(click.Argument, None, {"metavar": metavar, "type": type, **more})


def parameters(function: Callable[..., Any]) -> list[click.Parameter]:
    """Return the parameters that the annotations of a function declare. An option has its ``group``."""
    params, group = [], None
    for name, hint, declared in _declared(function):
        parameter = declared.parameter(name, hint)
        group = declared.group or group
        if group is not None:
            parameter.group = group
        params.append(parameter)
    return params


def gathering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes the fields of each dataclass among the annotations in place of it."""
    kinds: dict[str, Any] = {name: kind for name, kind in get_type_hints(function).items() if is_dataclass(kind)}

    @functools.wraps(function)
    def command(*args: Any, **given: Any) -> Any:
        made = {name: kind(**{each: given.pop(each) for each in get_type_hints(kind)}) for name, kind in kinds.items()}
        return function(*args, **made, **given)

    return command


def _declared(kind: Any) -> Iterator[tuple[str, Any, Declared]]:
    """Find each declared parameter with its name and its type, those of dataclasses in their place."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if get_origin(hint) is Annotated:
            yield name, *get_args(hint)[:2]
        elif is_dataclass(hint):
            yield from _declared(hint)
