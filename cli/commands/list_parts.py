"""``hpcdispatch list``: list all registered parts, those of third parties included."""

import inspect
import re
import typing
from typing import Annotated, Any

from rich.console import RenderableType
from rich.text import Text

from ...base import InputError, Option, Registry, shown
from ...base.printed import near_name
from ...dispatchers import orders
from ...dispatchers import registry as dispatchers
from ...dispatchers.cp import constraints, objectives
from ...dispatchers.portfolio import portfolio_goals
from ...predictors import corrections
from ...predictors import registry as predictors
from ...workloads import GENERATORS
from ...workloads.fetching import RUN_TIMES, TRACES
from ...workloads.sources import EXAMPLE
from ..app import subcommand
from ..completion import part_names
from ..output import finish, pairs
from ..parameters import argument

KINDS: dict[str, Registry] = {
    "dispatchers": dispatchers,
    "objectives": objectives,
    "constraints": constraints,
    "goals": portfolio_goals,
    "orders": orders,
    "predictors": predictors,
    "corrections": corrections,
    "workloads": GENERATORS,
}
_NAMES = re.compile(r"[\w, ]+$")


@subcommand("list", "hpcdispatch list", "hpcdispatch list predictors", "hpcdispatch list easy")
def command(
    name: Annotated[str | None, argument(shell_complete=part_names(*KINDS))],
) -> None:
    """List dispatchers, objectives, constraints, goals, orders of the queue, predictors, corrections and workloads.

    With a kind, such as predictors: the parts of this kind. With NAME: its description, its paper, and of each option
    the meaning, range and default. An option is shown as key=default, with its choices in brackets if it has some.
    Write it after the name, as in conservative:compress=once,placement=best-fit. A part that cannot be loaded is listed
    with its error.
    """
    chosen = {kind: registry for kind, registry in KINDS.items() if name in (kind, kind.removesuffix("s"))}
    if name is not None and not chosen:
        _explain(name)
        return
    kinds = chosen or KINDS
    by_kind = {kind: [_entry(registry, part) for part in registry.names()] for kind, registry in kinds.items()}
    shown: list[RenderableType] = []
    for kind, entries in by_kind.items():
        shown += [Text(kind, style="bold underline"), pairs([(entry["name"], _line(entry)) for entry in entries]), ""]
    if chosen:
        finish("hpcdispatch list NAME explains one, with its options.", by_kind, *shown)
        return
    shown += [Text("published traces", style="bold underline"), ", ".join(TRACES)]
    shown += [Text("sample trace", style="bold underline"), EXAMPLE]
    shown += [Text("published run times", style="bold underline"), ", ".join(RUN_TIMES)]
    finish("hpcdispatch list NAME explains one, with its options.", {**by_kind, "traces": list(TRACES)}, *shown)


def _explain(name: str) -> None:
    """Show the part, or the parts of different kinds, with a name."""
    kinds = {kind: registry for kind, registry in KINDS.items() if name in registry.names()}
    if not kinds:
        known = sorted({known for registry in KINDS.values() for known in registry.names()})
        expected = f"no part of this name{near_name(name, known)}; 'hpcdispatch list' shows them all"
        raise InputError(f"{shown(name)}: {expected}")
    entries = {kind: _explained(registry, name) for kind, registry in kinds.items()}
    told: list[RenderableType] = []
    for kind, entry in entries.items():
        rows = [(option["shown"], option["meaning"]) for option in entry["options"]]
        title = Text(f"{name} ({kind.removesuffix('s')})", style="bold")
        told += [title, Text(entry["description"]), "", pairs(rows) if rows else "It has no options."]
    finish(f"Options are given after the name, as in {_example(name, entries)}.", entries, *told)


def _example(name: str, entries: dict[str, Any]) -> str:
    """Return the part with its first option that has a default."""
    options = [option for entry in entries.values() for option in entry["options"] if option["default"] is not None]
    return f"{name}:{options[0]['name']}={options[0]['default']}" if options else "conservative:compress=once"


def _explained(registry: Registry, name: str) -> dict[str, Any]:
    told = meanings(registry, name)
    options = [
        {**_option(option), "shown": choices_and_default(option), "meaning": told.get(option.name, "")}
        for option in (() if registry is corrections else registry.options(name))
    ]
    return {"name": name, "description": description(registry, name), "options": options}


def _entry(registry: Registry, name: str) -> dict[str, Any]:
    try:
        # A correction is a function: its parameters are no options.
        options = [] if registry is corrections else [_option(option) for option in registry.options(name)]
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


def _line(entry: dict[str, Any]) -> Text:
    """Return the summary of a part, or the reason why it cannot be used."""
    if entry["error"]:
        return Text(f"cannot be used: {entry['error']}")
    return Text(entry["summary"] or "(no description)")


def description(registry: Registry, name: str) -> str:
    """Return the text of a part's docstring before its first section, with its paper."""
    told = "\n\n".join(_text(source) for source in _sources(registry.factory(name))[:1])
    summary = registry.summary(name)
    return told if told.startswith(summary) else f"{summary}\n\n{told}".strip()


def meanings(registry: Registry, name: str) -> dict[str, str]:
    """Return the meaning and range of each option, from the docstrings of a part and of its options."""
    texts: dict[str, str] = {}
    for source in _sources(registry.factory(name)):
        for key, text in _entries(source).items():
            texts.setdefault(key, text)
    for option in () if registry is corrections else registry.options(name):
        if option.meaning:
            texts.setdefault(option.name, option.meaning)
    return texts


def choices_and_default(option: Option) -> str:
    """Return the choices or the type of an option, and its default."""
    shown = str(option)
    return shown if option.default is not inspect.Parameter.empty else f"{shown} (must be given)"


def _sources(factory: Any) -> list[str]:
    """Return the docstrings that may describe a part and its options: its own, those of its options and bases."""
    built = getattr(factory, "build", factory)
    options = getattr(factory, "options", None)
    documented = getattr(factory, "documented", ())
    kinds = [*(documented or [built]), *([] if options is None or isinstance(options, type) else [type(options)])]
    kinds += [getattr(built, "Options", None), getattr(built, "__init__", None)]
    docstrings = []
    for kind in kinds:
        for part in kind.__mro__[:-1] if inspect.isclass(kind) else (kind,):
            text = inspect.getdoc(part) if part is not None else None
            if text and text not in docstrings:
                docstrings.append(text)
    return docstrings


def _text(doc: str) -> str:
    """Return a docstring up to its first section."""
    told = re.split(r"\n[^\n]+\n-{3,}\n", doc, maxsplit=1)[0].strip()
    return _plain(re.sub(r"(?<=\S)\n(?=\w)", " ", told))


def _plain(text: str) -> str:
    """Return a text without the marks of docstrings."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")


def _entries(doc: str) -> dict[str, str]:
    """Return name to text of the entries of the sections on parameters and attributes."""
    texts: dict[str, str] = {}
    for section in re.findall(r"(?:^|\n)(?:Parameters|Attributes)\n-{3,}\n(.*?)(?=\n\S[^\n]*\n-{3,}\n|\Z)", doc, re.S):
        names: list[str] = []
        for line in section.splitlines():
            if line and not line.startswith(" ") and _NAMES.match(line.partition(":")[0]):
                names = [name.strip() for name in line.partition(":")[0].split(",")]
            else:
                for name in names:
                    texts[name] = _plain(f"{texts.get(name, '')} {line.strip()}".strip())
    return texts
