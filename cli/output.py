"""Numbers, JSON and tables on stdout.

Times are seconds with thousands separators throughout; a unit stands in its column or row header.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..bench.reports.number_formats import count, percent, ratio, seconds

_STATISTICS = ("mean", "median", "p95", "max")
_CLASSES = (("", "all jobs"), ("_short", "short, < 1 h"), ("_medium", "medium, 1-5 h"), ("_long", "long, > 5 h"))


def console() -> Console:
    """Return the console on stdout, with no guessing of colours and markup in what users named."""
    return Console(highlight=False, markup=False, emoji=False)


def clean(value: Any) -> Any:
    """Return a value as JSON knows it: plain numbers, and ``None`` for those that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def print_json(value: Any) -> None:
    """Print JSON on stdout."""
    click.echo(json.dumps(clean(value), indent=2, allow_nan=False))


def print_summary(summary: Mapping[str, float], source: str, manifest: Mapping[str, Any]) -> None:
    """Print the metrics of one result."""
    out = console()
    out.print(Text(f"{manifest['dispatcher']} with {manifest['predictor']} predictions on {source}", style="bold"))
    states = ", ".join(f"{summary[name]:,.0f} {name}" for name in ("completed", "killed", "rejected"))
    jobs = count(summary["jobs"] + summary["rejected"], "job")
    out.print(f"{jobs}: {states}; overrun {manifest['overrun']}, seed {manifest['seed']}")
    out.print()
    out.print(_statistics(summary))
    out.print()
    out.print(_totals(summary))


def pairs(rows: Sequence[tuple[str, str | Text]]) -> Table:
    """Return a table of labels and values; a value is wrapped, unless it is a text that says otherwise."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(label), Text(value) if isinstance(value, str) else value)
    return table


def table_of(*headers: str) -> Table:
    """Return an empty table whose first column is text and whose others are numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, header in enumerate(headers):
        table.add_column(header, justify="right" if index else "left", no_wrap=True)
    return table


def _statistics(summary: Mapping[str, float]) -> Table:
    table = table_of("", *_STATISTICS)
    for suffix, title in _CLASSES:
        table.add_row(Text(f"{title} ({summary['jobs' + suffix]:,.0f})", style="bold"))
        for name, label, show in (
            ("wait", "wait (s)", seconds),
            ("turnaround", "turnaround (s)", seconds),
            ("slowdown", "slowdown", ratio),
            ("bounded_slowdown", "bounded slowdown", ratio),
        ):
            cells = (show(summary[f"{name}_{statistic}{suffix}"]) for statistic in _STATISTICS)
            table.add_row(Text(f"  {label}"), *map(Text, cells))
    return table


def _totals(summary: Mapping[str, float]) -> Table:
    decision = " / ".join(ratio(summary[f"decision_ms_{name}"]) for name in ("mean", "p95", "max"))
    rows = [
        ("utilization (%)", percent(summary["utilization"])),
        ("efficiency (%)", percent(summary["efficiency"])),
        ("turnaround (s), geometric mean", seconds(summary["turnaround_gmean"])),
        ("makespan (s)", seconds(summary["makespan"])),
        ("decisions", f"{summary['decisions']:,.0f}"),
        ("ms a decision, mean / p95 / max", decision),
        ("predictions (s)", ratio(summary["prediction_s"])),
        ("simulation (s)", ratio(summary["simulation_s"])),
    ]
    if summary["lost"]:
        rows.insert(2, ("work lost (core-seconds)", f"{summary['lost']:,.0f}"))
    return pairs([*rows, *_on_demand(summary)])


def _on_demand(summary: Mapping[str, float]) -> list[tuple[str, str]]:
    if "on_demand_jobs" not in summary:
        return []
    delay = " / ".join(seconds(summary[f"delay_{name}"]) for name in ("mean", "p95", "max"))
    evicted = " / ".join(f"{summary[f'evictions_{how}']:,.0f}" for how in ("killed", "checkpointed"))
    return [
        ("on-demand jobs", f"{summary['on_demand_jobs']:,.0f}, {summary['missed']:,.0f} of them late or never started"),
        ("delay (s), mean / p95 / max", delay),
        ("batch jobs killed / checkpointed", evicted),
        ("node-hours they lost", f"{summary['lost_node_hours']:,.0f}"),
    ]
