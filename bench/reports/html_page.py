"""Write a page of tables and figures that opens offline. Each of them is also a file for a paper."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from ...base import write_whole
from ...workloads.formats.csv_text import csv_text
from .figures import Figure, rounded
from .static_figures import images
from .tables import Table

#: Largest drawing, in bytes, that stands in the page as SVG. A larger one, such as a schedule of many jobs, is a PNG.
_LARGEST_SVG = 100_000
_MEDIA = {"svg": "image/svg+xml", "png": "image/png"}


@dataclass(frozen=True, slots=True)
class PagePart:
    """A table or a figure and the name of its files without an ending."""

    name: str
    content: Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A headline, a note, and the parts below it."""

    title: str
    note: str
    parts: Sequence[PagePart]


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
        The file. The folder has its name, ``report_files`` for ``report.html``. A link in the place of either is
        replaced.
    """
    folder = out.with_name(f"{out.stem}_files")
    if folder.is_symlink():  # it may lead to a folder of somebody else
        folder.unlink()
    pictures = {}
    for part in (part for section in page.sections for part in section.parts):
        drawn = _write_files(part, folder)
        if drawn:
            pictures[part.name] = _picture(drawn)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, _bytes(rendered(page, folder.name, pictures)))
    return folder


def rendered(page: Page, folder: str, pictures: Mapping[str, str]) -> str:
    """Return the HTML of a page.

    Parameters
    ----------
    page
        Its content.
    folder
        Name of the folder of files beside it.
    pictures
        Drawing of each figure as a data URL, by the name of its part.
    """
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - other commands do without
    from markupsafe import Markup  # noqa: PLC0415

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["pieces"] = re.compile(r"(?<=[:,=])(?=\S)").split
    template = environment.from_string(_text("report.html.j2"))
    js = _text("report.js")
    # Only this script runs, and nothing is loaded from elsewhere.
    digest = base64.b64encode(hashlib.sha256(js.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    figures = [part for section in page.sections for part in section.parts if isinstance(part.content, Figure)]
    return template.render(
        page=page,
        policy=policy,
        version=version("hpcdispatch"),
        folder=folder,
        pictures=pictures,
        first=figures[0] if figures else None,
        css=Markup(_text("report.css")),
        js=Markup(js),
    )


def _bytes(text: str) -> bytes:
    """Return a text in UTF-8. What UTF-8 has not, from a name of a file that is no text, becomes an escape."""
    return text.encode("utf-8", "backslashreplace")


def _write_files(part: PagePart, folder: Path) -> dict[str, bytes]:
    """Write a table as CSV, Markdown and LaTeX, and a figure as CSV, PNG, SVG and PDF. Return the drawings."""
    folder.mkdir(parents=True, exist_ok=True)
    content = part.content
    drawn: dict[str, bytes] = {}
    if isinstance(content, Table):
        texts = {"csv": csv_text(content.frame()), "md": content.markdown(escaped=True), "tex": content.latex()}
        data = {kind: _bytes(text) for kind, text in texts.items()}
    else:
        drawn = images(content)
        data = {"csv": _bytes(csv_text(rounded(content.data))), **drawn}
    for kind, written in data.items():
        write_whole(folder / f"{part.name}.{kind}", written)
    return drawn


def _picture(drawn: Mapping[str, bytes]) -> str:
    """Return a drawing as a data URL. An image runs no script, whatever names stand in it."""
    kind = "svg" if len(drawn["svg"]) <= _LARGEST_SVG else "png"
    return f"data:{_MEDIA[kind]};base64,{base64.b64encode(drawn[kind]).decode()}"


@cache
def _text(name: str) -> str:
    return (files("hpcdispatch.bench.reports") / "templates" / name).read_text(encoding="utf-8")
