"""``hpcdispatch list``: everything that is registered, third parties' parts included."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import click
from rich.text import Text

from ...base import InputError, Option, Registry
from ...dispatchers import registry as dispatchers
from ...dispatchers.cp import constraints, objectives
from ...predictors import registry as predictors
from ...workloads import GENERATORS
from ...workloads.fetching import TRACES
from ..app import debug_option
from ..help_texts import examples
from ..output import console, pairs, print_json
from ..shared_options import json_option

KINDS: dict[str, Registry] = {
    "dispatchers": dispatchers,
    "objectives": objectives,
    "constraints": constraints,
    "predictors": predictors,
    "workloads": GENERATORS,
}


@click.command(
    "list",
    epilog=examples(
        "hpcdispatch list",
    ),
)
@json_option
@debug_option
def command(as_json: bool) -> None:
    """List dispatchers, objectives, constraints, predictors and workloads with one line each and their options.

    An option is shown as key=default, with its choices in brackets where it has some. It is given after the name, as
    in conservative:compress=once,placement=best-fit. A part that cannot be loaded is listed with its error.
    """
    found = {kind: [_entry(registry, name) for name in registry.names()] for kind, registry in KINDS.items()}
    if as_json:
        print_json({**found, "traces": list(TRACES)})
        return
    out = console()
    for kind, entries in found.items():
        out.print(Text(kind, style="bold underline"))
        out.print(pairs([(entry["name"], _lines(entry)) for entry in entries]))
        out.print()
    out.print(Text("published traces", style="bold underline"))
    out.print(", ".join(TRACES))


def _entry(registry: Registry, name: str) -> dict[str, Any]:
    try:
        options = [_option(option) for option in registry.options(name)]
        return {"name": name, "summary": registry.summary(name), "options": options, "error": None}
    except InputError as error:
        return {"name": name, "summary": "", "options": [], "error": str(error)}


def _option(option: Option) -> dict[str, Any]:
    required = option.default is inspect.Parameter.empty
    literal = typing.get_origin(option.annotation) is typing.Literal
    return {
        "name": option.name,
        "default": None if required else option.default,
        "required": required,
        "choices": list(typing.get_args(option.annotation)) if literal else None,
        "shown": str(option),
    }


def _lines(entry: dict[str, Any]) -> str:
    if entry["error"]:
        return f"cannot be used: {entry['error']}"
    return "\n".join([entry["summary"] or "(no description)", *(f"  {option['shown']}" for option in entry["options"])])
