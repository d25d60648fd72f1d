"""Print the claims of the papers that need their system, by paper.

``python -m hpcdispatch.bench.studies.reproductions.claims_table`` reads the results of the page of reproductions. With
``--write`` it brings the table up to date on the two pages that show it.
"""

from __future__ import annotations

from pathlib import Path

import click

from ....base import InputError
from ....base.unfinished_files import write_whole
from ..one_line_errors import in_one_line
from .documentation import PAGE, in_order, needed_systems
from .outcome_files import load

_ROOT = Path(__file__).parents[3]
#: Pages that show the table between these lines.
PAGES = (_ROOT / "bench" / "studies" / "README.md", _ROOT / "docs" / "evidence" / "reproductions.md")
BEGIN, END = "<!-- claims that need their system: begin -->", "<!-- claims that need their system: end -->"


def table() -> str:
    """Return the table, with the version and the scales that its results were made with."""
    outcomes = in_order(load(PAGE.with_suffix(".json")))
    versions = dict.fromkeys(kept.version or "an unknown version" for kept in outcomes)
    scales = dict.fromkeys(kept.scale for kept in outcomes)
    made = f"Made with hpcdispatch {'; '.join(versions)}, at scale {', '.join(scales)}."
    return f"{made}\n\n{needed_systems(outcomes)}"


def with_table(text: str, name: str) -> str:
    """Return a page with the table between its two lines.

    Raises
    ------
    InputError
        If the page `name` lacks the lines.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"{name}: expected a line {BEGIN!r} and a line {END!r}")
    return f"{before}{BEGIN}\n{table()}{END}{after}"


@click.command(help=__doc__)
@click.option("--write", is_flag=True, help="Write the table into the pages that show it.")
@in_one_line()
def main(write: bool) -> None:
    """Print or write the table."""
    if not write:
        click.echo(table(), nl=False)
        return
    for page in PAGES:
        write_whole(page, with_table(page.read_text(encoding="utf-8"), str(page)))
        click.echo(page)


if __name__ == "__main__":
    main()
