"""One registered part explained: what it is, whose it is, and each of its options, from its docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any

from ..base import Option, Registry

_NAMES = re.compile(r"[\w, ]+$")


def description(registry: Registry, name: str) -> str:
    """Return the text of a part's docstring before its first section, its paper among it."""
    told = "\n\n".join(_text(source) for source in _sources(registry.factory(name))[:1])
    summary = registry.summary(name)
    return told if told.startswith(summary) else f"{summary}\n\n{told}".strip()


def meanings(registry: Registry, name: str) -> dict[str, str]:
    """Return option to meaning and range, as the docstrings of a part and of its options say them."""
    found: dict[str, str] = {}
    for source in _sources(registry.factory(name)):
        for key, text in _entries(source).items():
            found.setdefault(key, text)
    return found


def choices_and_default(option: Option) -> str:
    """Return the choices or the type of an option, and its default."""
    shown = str(option)
    return shown if option.default is not inspect.Parameter.empty else f"{shown} (must be given)"


def _sources(factory: Any) -> list[str]:
    """Return the docstrings that may tell of a part and its options: its own, those of its options and bases."""
    built = getattr(factory, "build", factory)
    options = getattr(factory, "options", None)
    documented = getattr(factory, "documented", ())
    kinds = [*(documented or [built]), *([] if options is None or isinstance(options, type) else [type(options)])]
    kinds += [getattr(built, "Options", None), getattr(built, "__init__", None)]
    found = []
    for kind in kinds:
        for part in kind.__mro__[:-1] if inspect.isclass(kind) else (kind,):
            text = inspect.getdoc(part) if part is not None else None
            if text and text not in found:
                found.append(text)
    return found


def _text(doc: str) -> str:
    """Return a docstring up to its first section."""
    told = re.split(r"\n[^\n]+\n-{3,}\n", doc, maxsplit=1)[0].strip()
    return _plain(re.sub(r"(?<=\S)\n(?=\w)", " ", told))


def _plain(text: str) -> str:
    """Return a text without the marks of docstrings."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")


def _entries(doc: str) -> dict[str, str]:
    """Return name to text of the entries of the sections on parameters and attributes."""
    found: dict[str, str] = {}
    for section in re.findall(r"(?:^|\n)(?:Parameters|Attributes)\n-{3,}\n(.*?)(?=\n\S[^\n]*\n-{3,}\n|\Z)", doc, re.S):
        names: list[str] = []
        for line in section.splitlines():
            if line and not line.startswith(" ") and _NAMES.match(line.partition(":")[0]):
                names = [name.strip() for name in line.partition(":")[0].split(",")]
            else:
                for name in names:
                    found[name] = _plain(f"{found.get(name, '')} {line.strip()}".strip())
    return found
