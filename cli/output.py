"""Print the result of a command: one JSON object, or tables and then the answer in a sentence."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..base import time_text
from ..base.printed import MOST_OF_MESSAGE, plain
from ..bench.reports.number_formats import count, percent, ratio, seconds
from ..bench.reports.tables import PlainConsole, terminal_table
from .app import settings

#: The version of the ``--json`` output; docs/reference/commands.md describes it.
SCHEMA = 1
_STATISTICS = ("mean", "median", "p95", "max")
_CLASSES = (("", "all jobs"), ("_short", "short, < 1 h"), ("_medium", "medium, 1-5 h"), ("_long", "long, > 5 h"))


def clean(value: Any) -> Any:
    """Return a value for JSON: plain numbers, and ``None`` for non-finite ones."""
    if isinstance(value, Mapping):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def time(value: float) -> str:
    """Return a duration for printing: ``2h05m``, or seconds with --seconds."""
    return seconds(value) if settings().seconds else time_text(value)


def exact(value: float) -> str:
    """Return a duration as :func:`time` does, rounded up to whole seconds, with all its units."""
    whole = math.ceil(round(value, 6)) if math.isfinite(value) else value
    return f"{whole:,}" if settings().seconds else time_text(whole, 4)


def headed(name: str) -> str:
    """Return the header of a column of durations, with its unit if needed."""
    return f"{name} (s)" if settings().seconds else name


def finish(answer: str, fields: Mapping[str, Any], *shown: RenderableType) -> None:
    """Print the result of a command.

    Parameters
    ----------
    answer
        The result in a sentence; the last line on a terminal.
    fields
        Content of the JSON output; times are in seconds.
    shown
        Tables and texts above the answer.
    """
    if settings().json:
        name = click.get_current_context().command_path.partition(" ")[2]
        document = {"schema": SCHEMA, "command": name, "answer": answer, **fields}
        click.echo(json.dumps(clean(document), indent=2, allow_nan=False))
        return
    out = PlainConsole()
    for each in shown:
        out.print(each)
    out.print(*([""] if shown else []), Text(plain(answer, MOST_OF_MESSAGE)), sep="\n", soft_wrap=not out.is_terminal)


def summary_shown(summary: Mapping[str, float], source: str, manifest: Mapping[str, Any]) -> list[RenderableType]:
    """Return the metrics of one result, for printing."""
    states = ", ".join(f"{summary[name]:,.0f} {name}" for name in ("completed", "killed", "rejected"))
    total = count(summary["jobs"] + summary["rejected"], "job")
    return [
        Text(f"{manifest['dispatcher']} with {manifest['predictor']} predictions on {plain(source)}", style="bold"),
        f"{total}: {states}; overrun {manifest['overrun']}, seed {manifest['seed']}\n",
        _statistics(summary),
        "",
        _totals(summary),
    ]


def pairs(rows: Sequence[tuple[str, str | Text]]) -> Table:
    """Return a table of labels and values. Values are wrapped, unless they are texts with other settings."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(plain(label)), _lines(value) if isinstance(value, str) else value)
    return table


def _lines(text: str) -> Text:
    return Text("\n".join(plain(line, MOST_OF_MESSAGE) for line in text.splitlines()))


def _statistics(summary: Mapping[str, float]) -> Table:
    table = terminal_table(["", *_STATISTICS])
    for suffix, title in _CLASSES:
        table.add_row(Text(f"{title} ({summary['jobs' + suffix]:,.0f})", style="bold"))
        for name, label, show in (
            ("wait", headed("wait"), time),
            ("turnaround", headed("turnaround"), time),
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
        (headed("turnaround, geometric mean"), time(summary["turnaround_gmean"])),
        (headed("makespan"), time(summary["makespan"])),
        ("decisions", f"{summary['decisions']:,.0f}"),
        ("ms per decision, mean / p95 / max", decision),
        ("predictions (s)", ratio(summary["prediction_s"])),
        ("simulation (s)", ratio(summary["simulation_s"])),
    ]
    if summary["lost"]:
        rows.insert(2, ("work lost (core-seconds)", f"{summary['lost']:,.0f}"))
    return pairs([*rows, *_of_site(summary), *_on_demand(summary)])


def _of_site(summary: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return what power, a signal of the grid and failures come to, if they are known."""
    rows = []
    if "energy_kwh" in summary:
        power = " / ".join(ratio(summary[f"power_{name}_kw"]) for name in ("mean", "peak"))
        rows += [("energy (kWh)", f"{summary['energy_kwh']:,.0f}"), ("power, mean / peak (kW)", power)]
    rows += [
        (label, f"{summary[name]:,.1f}")
        for name, label in (("emissions_kg", "emissions (kg CO2)"), ("energy_cost", "cost of the energy"))
        if name in summary
    ]
    if summary.get("put_off_mean"):
        rows.append((headed("put off, mean"), time(summary["put_off_mean"])))
    if "node_failures" in summary:
        rows += [
            ("jobs ended by failed nodes", f"{summary['node_failures']:,.0f}"),
            ("core hours lost by these", f"{summary['lost_core_hours']:,.1f}"),
        ]
    return rows


def _on_demand(summary: Mapping[str, float]) -> list[tuple[str, str]]:
    if "on_demand_jobs" not in summary:
        return []
    delay = " / ".join(time(summary[f"delay_{name}"]) for name in ("mean", "p95", "max"))
    evicted = " / ".join(f"{summary[f'evictions_{how}']:,.0f}" for how in ("killed", "checkpointed"))
    return [
        ("on-demand jobs", f"{summary['on_demand_jobs']:,.0f}, {summary['missed']:,.0f} of them late or never started"),
        (headed("delay, mean / p95 / max"), delay),
        ("batch jobs killed / checkpointed", evicted),
        ("node-hours they lost", f"{summary['lost_node_hours']:,.0f}"),
    ]
