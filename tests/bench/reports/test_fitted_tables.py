"""Tables fit the terminal, and lose nothing by it."""

import io
from collections import Counter

import pytest

from hpcdispatch.bench.reports.tables import PlainConsole, Table

MEASURED = Table(
    "",
    ["", "intervals", "paper", "requested resources", "paper", "time, s", "paper"],
    [[f"HCP{number}", "1,402.8 [714.3, 2,091.2]", "99", "35.2", "6,267", "1.5", "374,788"] for number in range(3)],
)
TEXTS = Table(
    "", ["parameter", "value", "chosen by"], [["expected waits", "debug:1800;parallel:21600", "us"]], labels=3
)


def printed(table, width):
    console = PlainConsole(width=width, file=io.StringIO())
    console.print(table.terminal())
    return console.file.getvalue()


@pytest.mark.parametrize("width", [24, 40, 60, 80, 200])
@pytest.mark.parametrize("table", [MEASURED, TEXTS], ids=["numbers", "texts"])
def test_every_letter_is_there_at_every_width(table, width):
    shown = printed(table, width)
    assert all(len(line) <= width for line in shown.splitlines())
    wanted = Counter("".join([*table.columns, *(cell for row in table.rows for cell in row)]))
    assert not {letter for letter in wanted - Counter(shown) if letter.strip()}


def test_each_part_has_the_labels_and_what_belongs_together():
    parts = printed(MEASURED, 48).split("\n\n")
    assert len(parts) == 2
    for part in parts:
        assert part.count("HCP1") == 1
        assert part.split("─")[0].split()[-1] == "paper"
    assert printed(MEASURED, 200).count("HCP1") == 1
