"""Write a page of tables and figures that opens offline. Each of them is also a file for a paper."""

import base64
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from ...base import write_whole
from ...simulation.plots.style import CLASS_STYLE, COLOURS, DASHES
from ...workloads.formats.csv_text import csv_text
from .figures import Figure, rounded
from .static_figures import images
from .tables import Table


@dataclass(frozen=True, slots=True)
class Part:
    """A table or a figure and the name of its files without an ending."""

    name: str
    content: Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A headline, a note, and the parts below it."""

    title: str
    note: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Page:
    """Content of a page.

    Attributes
    ----------
    title
        Of the page.
    answer
        The result in a sentence.
    facts
        Subject of the page: names and values.
    warnings
        Results that were left out.
    sections
        In order.
    glossary
        Words and their meanings.
    """

    title: str
    answer: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    sections: Sequence[Section]
    glossary: Sequence[tuple[str, str]]


def write_page(page: Page, out: Path) -> Path:
    """Write the page, and the folder of files beside it. Return the folder.

    The page is written last, and in one step.

    Parameters
    ----------
    page
        Its content.
    out
        The file. The folder has its name, ``report_files`` for ``report.html``.
    """
    folder = out.with_name(f"{out.stem}_files")
    for part in (part for section in page.sections for part in section.parts):
        _write_files(part, folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, rendered(page, folder.name))
    return folder


def rendered(page: Page, folder: str) -> str:
    """Return the HTML of a page with its files in a folder beside it."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - other commands do without
    from markupsafe import Markup  # noqa: PLC0415
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "separators": (",", ":"), "allow_nan": False}
    environment.filters["pieces"] = re.compile(r"(?<=[:,=])(?=\S)").split
    template = environment.from_string(_text("report.html.j2"))
    js = _text("report.js")
    plotly = get_plotlyjs()
    # Only these scripts run, and nothing is loaded from elsewhere. Plotly writes styles on its drawings.
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in (js, plotly)]
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {scripts}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return template.render(
        page=page,
        policy=policy,
        version=version("hpcdispatch"),
        folder=folder,
        drawn=_drawn,
        styles={"colours": COLOURS, "dashes": DASHES, "classes": [[name, *look] for name, look in CLASS_STYLE.items()]},
        css=Markup(_text("report.css")),
        js=Markup(js),
        plotly=Markup(plotly),
    )


def _write_files(part: Part, folder: Path) -> None:
    """Write a table as CSV, Markdown and LaTeX, and a figure as CSV, PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    content = part.content
    if isinstance(content, Table):
        texts = {"csv": csv_text(content.frame()), "md": content.markdown(escaped=True), "tex": content.latex()}
        found = {kind: text.encode() for kind, text in texts.items()}
    else:
        found = {"csv": csv_text(rounded(content.data)).encode(), **images(content)}
    for kind, data in found.items():
        write_whole(folder / f"{part.name}.{kind}", data)


def _drawn(name: str, figure: Figure) -> dict[str, Any]:
    """Return the data from which the page draws a figure."""
    return {
        "file": name,
        "kind": figure.kind,
        "x": figure.x,
        "y": figure.y,
        "x_label": figure.x_label,
        "y_label": figure.y_label,
        "log_x": figure.log_x,
        "columns": columns(rounded(figure.data)),
        "window": figure.shown,
        "panels": figure.panels,
        "names": figure.names,
        "places": [figure.place(name) for name in figure.names],
    }


def columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a frame for JSON: numbers, ``None`` for non-finite ones, and texts as codes."""
    found: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            whole = pd.api.types.is_integer_dtype(column)
            found[name] = [
                None if not math.isfinite(value) else int(value) if whole or value.is_integer() else value
                for value in column.tolist()
            ]
        else:
            codes, names = pd.factorize(column)
            found[name] = {"codes": codes.tolist(), "names": [str(category) for category in names]}
    return found


@cache
def _text(name: str) -> str:
    return (files("hpcdispatch.bench.reports") / "templates" / name).read_text(encoding="utf-8")
