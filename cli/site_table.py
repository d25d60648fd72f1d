"""What requests fared like on a site's trace, on the command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table

from ..analysis.site_requests import SiteAdvice
from ..bench.reports.number_formats import NOTHING, ratio
from .durations import clock
from .output import table_of


def site_table(advice: SiteAdvice) -> Table:
    """Return a row for each way of requesting."""
    table = table_of("", "requests", "response", "lost (h)", "to maximum (%)", "")
    for row in advice.rows:
        change, low, high = (f"{100 * (value - 1):+.0f}" for value in (row.ratio, row.low, row.high))
        against = f"{change} [{low}, {high}]" if row.verdict else NOTHING
        table.add_row(row.name, ratio(row.requests), clock(row.response), f"{row.lost:,.0f}", against, row.verdict)
    return table


def site_note(advice: SiteAdvice, name: str, cores: int) -> str:
    """Return what the figures are of, and where the waits come from."""
    waits = advice.waits
    width = f"about as wide as {cores:,} cores" if waits.alike else "of all widths"
    runs = "the second half of the runs, requests made from the first" if advice.unseen else "all runs, seen before"
    return (
        f"{advice.runs:,} runs at even times among the jobs of {name}, replayed under EASY: {runs}.\n"
        f"Response: from submission to success; lost: core-hours used in vain; 95% intervals over the runs.\n"
        f"The waits are {clock(waits.gamma)} + {waits.alpha:.2f} x the request: those of {waits.jobs:,} jobs "
        f"of {name}, {width}, in a replay."
    )


def site_json(advice: SiteAdvice) -> dict[str, Any]:
    """Return it as JSON knows it, times in seconds."""
    return asdict(advice) | {"rows": {row.name: asdict(row) | {"verdict": row.verdict} for row in advice.rows}}
