"""The table of a comparison, split into parts by the width of the terminal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..analysis.conclusions import LEAST_TESTED, Estimate
from ..base.printed import plain
from ..bench.campaigns.compared_metrics import COMPARED, ComparedMetric
from ..bench.campaigns.comparison import Comparison, seeds_text
from ..bench.reports.number_formats import NOTHING, Show, count, percent, ratio
from ..bench.reports.tables import WIDE, PlainConsole, in_parts, terminal_table
from ..bench.reports.verdict import (
    beside_replay,
    change,
    choose_baseline,
    estimate_of,
    left_out,
    samples_of,
    span_text,
    verdict,
)
from .output import headed, time

_SHOW: dict[str, Show] = {"time": time, "share": percent, "number": ratio}


@dataclass(frozen=True, slots=True)
class PrintedColumn:
    """A column ready for layout."""

    header: str
    cells: list[Text]
    right: bool = False


def comparison_shown(comparison: Comparison, source: str) -> list[RenderableType]:
    """Return the heading and the table of a comparison, for printing.

    Parameters
    ----------
    comparison
        The comparison.
    source
        The workload as the user named it.
    """
    if comparison.table.empty:
        return []
    out = PlainConsole()
    labels = _labels(comparison, out.width)
    values = [_values(comparison, metric) for metric in COMPARED if _tells(comparison, metric.name)]
    tables = [each for table in packed(out, labels, values) for each in (table, "")]
    shown = [*_heading(comparison, source), "", *tables, *_verdicts(comparison), *_legend(comparison)]
    if comparison.replay is None or comparison.replay.runs.empty:
        return shown
    return [*shown, "", Text("with the recorded submissions", style="bold"), "", *_verdicts(comparison.replay)]


def _tells(comparison: Comparison, name: str) -> bool:
    """Return whether a metric is shown: if it is known, and jobs were put off if it is about that."""
    return name in comparison.table and (name != "put_off_mean" or bool((comparison.table[name] != 0).any()))


def comparison_answer(comparison: Comparison) -> str:
    """Return the contender with the least wait, against the baseline."""
    if comparison.runs.empty:
        return verdict(comparison.runs)
    answer = verdict(comparison.labelled_runs(), show=time, days=comparison.days)
    if comparison.replay is not None:
        answer = f"As users react: {answer}"
        if not comparison.replay.runs.empty:
            base = choose_baseline(comparison.labelled_runs()["contender"])
            answer += " " + beside_replay(_estimates(comparison, base), _estimates(comparison.replay, base), base)
    return left_out(answer, comparison.warm_up, comparison.cool_down)


def _estimates(comparison: Comparison, base: str) -> dict[str, Estimate]:
    """Return the estimate of each contender against a baseline; none if the baseline has not finished."""
    if base not in set(comparison.labelled_runs()["contender"]):
        return {}
    return {row["contender"]: estimate_of(row) for row in comparison.conclusions("wait_mean", base).to_dict("records")}


def comparison_json(comparison: Comparison, source: str) -> dict[str, Any]:
    """Return a comparison for JSON: its settings, the table, every run, and the failures."""
    return {
        "workload": source,
        "seeds": comparison.seeds,
        "seed_numbers": list(comparison.numbers),
        "samples": comparison.basis,
        "jitter_s": comparison.jitter,
        "warm_up": str(comparison.warm_up),
        "cool_down": str(comparison.cool_down),
        "overrun": comparison.overrun,
        "submissions": comparison.users,
        "conditions": comparison.conditions,
        "runs_planned": comparison.planned,
        "interrupted": comparison.interrupted,
        "table": comparison.table.to_dict("records"),
        "conclusions": [] if comparison.runs.empty else comparison.conclusions().to_dict("records"),
        "runs": comparison.runs.to_dict("records"),
        "replay": None if comparison.replay is None else comparison_json(comparison.replay, source),
        "failures": [
            {name: getattr(failure, name) for name in ("dispatcher", "predictor", "seed", "error")}
            for failure in comparison.failures
        ],
    }


def packed(out: Console, labels: list[PrintedColumn], values: list[PrintedColumn]) -> list[Table]:
    """Arrange the value columns. Each part has the labels and as many columns as fit the width."""
    wide = out.options.update(width=WIDE)

    def fits(part: Sequence[PrintedColumn], _: Sequence[PrintedColumn]) -> bool:
        return out.measure(_table([*labels, *part]), options=wide).maximum <= out.width

    return [_table([*labels, *part]) for part in in_parts(values, fits)]


def _table(columns: list[PrintedColumn]) -> Table:
    table = terminal_table([column.header for column in columns], sum(not column.right for column in columns))
    for column in table.columns:
        column.vertical, column.no_wrap = "top", True
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def _heading(comparison: Comparison, source: str) -> list[Text]:
    dispatchers, predictors = (comparison.table[name].nunique() for name in ("dispatcher", "predictor"))
    what = f"{count(dispatchers, 'dispatcher')} with {count(predictors, 'predictor')}"
    if predictors == 1:
        what = f"{count(dispatchers, 'dispatcher')} with {comparison.table['predictor'].iloc[0]} predictions"
    seeds = f"seed{'s' * (comparison.seeds > 1)} {seeds_text(comparison.numbers)}"
    samples = {
        "trace": "as it stands",
        "independent": f"{count(comparison.seeds, 'sample')}, {seeds}",
        "resamples": f"{count(comparison.seeds, 'resample')} of the trace, {seeds}",
        "shifts": f"{count(comparison.seeds, 'copy' if comparison.seeds == 1 else 'copie')} of the trace, {seeds}",
    }[comparison.basis]
    if comparison.jitter is not None:
        samples += f", submissions shifted by up to {time(comparison.jitter)}"
    totals = comparison.runs["jobs"] + comparison.runs["rejected"]
    low, high = totals.min(), totals.max()
    jobs = count(high, "job") if low == high else f"{low:,.0f} to {high:,.0f} jobs"
    samples += ", users react" if comparison.users == "react" else ""
    lines = [Text(f"on {plain(source)}"), Text(f"{jobs}, {samples}; overrun {comparison.overrun}")]
    return [Text(what, style="bold"), *lines, *([Text(plain(comparison.conditions))] if comparison.conditions else [])]


def _labels(comparison: Comparison, width: int) -> list[PrintedColumn]:
    """Return the columns on the left, without those that are the same in every row."""
    table = comparison.table
    columns = [PrintedColumn("dispatcher", [_label(name, width) for name in table["dispatcher"]])]
    if table["predictor"].nunique() > 1:
        columns.append(PrintedColumn("predictor", [_label(name, width) for name in table["predictor"]]))
    if (table["runs"] != comparison.seeds).any():
        columns.append(PrintedColumn("runs", [Text(f"{runs} of {comparison.seeds}") for runs in table["runs"]]))
    return columns


def _label(spec: str, width: int) -> Text:
    """Return a part's name. Long options go on the next lines."""
    if len(spec) > width / 3:
        spec = spec.replace(":", ":\n  ").replace(",", ",\n  ")
    return Text(spec)


def _values(comparison: Comparison, metric: ComparedMetric) -> PrintedColumn:
    show = _SHOW[metric.kind]
    table = comparison.table
    cells = []
    best = None
    # Among the rows with the most runs; none if all show the same.
    whole = table.loc[table["runs"] == table["runs"].max(), metric.name].dropna()
    if whole.map(show).nunique() > 1:
        best = show(float(whole.max() if metric.most else whole.min()))
    for row in table.to_dict("records"):
        shown = show(row[metric.name])
        text = Text(f"*{shown}", style="bold") if shown == best and row["runs"] == table["runs"].max() else Text(shown)
        low = row[f"{metric.name}_low"]
        high = row[f"{metric.name}_high"]
        if not math.isnan(low):
            text.append(f"\n{show(low)}-{show(high)}", style="not bold dim")
        cells.append(text)
    return PrintedColumn(headed(metric.header) if metric.kind == "time" else metric.header, cells, right=True)


#: What stands below the means.
_BELOW = {
    "independent": "their intervals",
    "resamples": "how they vary over the resamples",
    "shifts": "their range over the shifts",
    "trace": "nothing",
}


def _verdicts(comparison: Comparison) -> list[RenderableType]:
    """Return each contender against the baseline: size, interval, verdict, and the longest wait."""
    base = choose_baseline(comparison.labelled_runs()["contender"])
    rows = comparison.conclusions("wait_mean", base).to_dict("records")
    if not rows:
        return []
    shifted = any(not math.isnan(row["range_low"]) for row in rows)
    columns = [f"against {base}", "mean\nwait", "interval", *(["range over\nshifts"] if shifted else []), "verdict"]
    table = terminal_table([*columns, "longest\nwait"], len(columns) + 1)
    for row in rows:
        longest = change(row["wait_max"] / row["baseline_wait_max"]) if row["baseline_wait_max"] else NOTHING
        estimate = estimate_of(row)
        interval = estimate.reason if math.isnan(estimate.low) else span_text(estimate.low, estimate.high)
        spans = [interval, *([span_text(*estimate.span)] if shifted else [])]
        table.add_row(Text(str(row["contender"])), change(row["ratio"]), *spans, row["verdict"], longest)
    known = dict.fromkeys(
        ("95%, " if each.tested else "") + samples_of(each)
        for each in [estimate_of(row) for row in rows]
        if not math.isnan(each.low)
    )
    return [table, *(f"intervals: {each}" for each in known), ""]


def _legend(comparison: Comparison) -> list[str]:
    lines = ["* best of its column"] if len(comparison.table) > 1 else []
    if (comparison.table["runs"] > 1).any():
        tested = comparison.basis == "independent" and comparison.table["runs"].min() >= LEAST_TESTED
        level = ", of 95% for waits and utilization" if tested else ""
        lines.append(f"means over the seeds, below them {_BELOW[comparison.basis]}{level}")
    if "failures" in comparison.runs:
        failed = comparison.runs.groupby("dispatcher", sort=False)["failures"].sum()
        lines += [
            f"{name}: failures in {count(int(much), 'decision')}; 'run' says which"
            for name, much in failed[failed > 0].items()
        ]
    return lines
