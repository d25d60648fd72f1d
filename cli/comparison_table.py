"""The table of a comparison, split into parts by the width of the terminal."""

import math
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
from ..bench.reports.tables import PlainConsole, terminal_table
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


def comparison_shown(found: Comparison, source: str) -> list[RenderableType]:
    """Return the heading and the table of a comparison, for printing.

    Parameters
    ----------
    found
        The comparison.
    source
        The workload as the user named it.
    """
    if found.table.empty:
        return []
    out = PlainConsole()
    labels = _labels(found, out.width)
    values = [_values(found, metric) for metric in COMPARED if _tells(found, metric.name)]
    tables = [each for table in packed(out, labels, values) for each in (table, "")]
    shown = [*_heading(found, source), "", *tables, *_verdicts(found), *_legend(found)]
    if found.replay is None or found.replay.runs.empty:
        return shown
    return [*shown, "", Text("with the recorded submissions", style="bold"), "", *_verdicts(found.replay)]


def _tells(found: Comparison, name: str) -> bool:
    """Return whether a metric is shown: if it is known, and jobs were put off if it is about that."""
    return name in found.table and (name != "put_off_mean" or bool((found.table[name] != 0).any()))


def comparison_answer(found: Comparison) -> str:
    """Return the contender with the least wait, against the baseline."""
    if found.runs.empty:
        return verdict(found.runs)
    answer = verdict(found.labelled_runs(), show=time, days=found.days)
    if found.replay is not None:
        answer = f"As users react: {answer}"
        if not found.replay.runs.empty:
            base = choose_baseline(found.labelled_runs()["contender"])
            answer += " " + beside_replay(_estimates(found, base), _estimates(found.replay, base), base)
    return left_out(answer, found.warm_up, found.cool_down)


def _estimates(found: Comparison, base: str) -> dict[str, Estimate]:
    """Return the estimate of each contender against a baseline; none if the baseline has not finished."""
    if base not in set(found.labelled_runs()["contender"]):
        return {}
    return {row["contender"]: estimate_of(row) for row in found.conclusions("wait_mean", base).to_dict("records")}


def comparison_json(found: Comparison, source: str) -> dict[str, Any]:
    """Return a comparison for JSON: its settings, the table, every run, and the failures."""
    return {
        "workload": source,
        "seeds": found.seeds,
        "seed_numbers": list(found.numbers),
        "samples": found.basis,
        "jitter_s": found.jitter,
        "warm_up": str(found.warm_up),
        "cool_down": str(found.cool_down),
        "overrun": found.overrun,
        "submissions": found.users,
        "conditions": found.conditions,
        "runs_planned": found.planned,
        "interrupted": found.interrupted,
        "table": found.table.to_dict("records"),
        "conclusions": [] if found.runs.empty else found.conclusions().to_dict("records"),
        "runs": found.runs.to_dict("records"),
        "replay": None if found.replay is None else comparison_json(found.replay, source),
        "failures": [
            {name: getattr(failure, name) for name in ("dispatcher", "predictor", "seed", "error")}
            for failure in found.failures
        ],
    }


def packed(out: Console, labels: list[PrintedColumn], values: list[PrintedColumn]) -> list[Table]:
    """Arrange the value columns. Each part has the labels and as many columns as fit the width."""
    tables = []
    left = values
    wide = out.options.update(width=10_000)
    while left:
        taken = len(left)
        while taken > 1 and out.measure(_table(labels + left[:taken]), options=wide).maximum > out.width:
            taken -= 1
        tables.append(_table(labels + left[:taken]))
        left = left[taken:]
    return tables


def _table(columns: list[PrintedColumn]) -> Table:
    table = terminal_table([column.header for column in columns], sum(not column.right for column in columns))
    for column in table.columns:
        column.vertical, column.no_wrap = "top", True
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def _heading(found: Comparison, source: str) -> list[Text]:
    dispatchers, predictors = (found.table[name].nunique() for name in ("dispatcher", "predictor"))
    what = f"{count(dispatchers, 'dispatcher')} with {count(predictors, 'predictor')}"
    if predictors == 1:
        what = f"{count(dispatchers, 'dispatcher')} with {found.table['predictor'].iloc[0]} predictions"
    seeds = f"seed{'s' * (found.seeds > 1)} {seeds_text(found.numbers)}"
    samples = {
        "trace": "as it stands",
        "independent": f"{count(found.seeds, 'sample')}, {seeds}",
        "resamples": f"{count(found.seeds, 'resample')} of the trace, {seeds}",
        "shifts": f"{count(found.seeds, 'copy' if found.seeds == 1 else 'copie')} of the trace, {seeds}",
    }[found.basis]
    if found.jitter is not None:
        samples += f", submissions shifted by up to {time(found.jitter)}"
    totals = found.runs["jobs"] + found.runs["rejected"]
    low, high = totals.min(), totals.max()
    jobs = count(high, "job") if low == high else f"{low:,.0f} to {high:,.0f} jobs"
    samples += ", users react" if found.users == "react" else ""
    lines = [Text(f"on {plain(source)}"), Text(f"{jobs}, {samples}; overrun {found.overrun}")]
    return [Text(what, style="bold"), *lines, *([Text(plain(found.conditions))] if found.conditions else [])]


def _labels(found: Comparison, width: int) -> list[PrintedColumn]:
    """Return the columns on the left, without those that are the same in every row."""
    table = found.table
    columns = [PrintedColumn("dispatcher", [_label(name, width) for name in table["dispatcher"]])]
    if table["predictor"].nunique() > 1:
        columns.append(PrintedColumn("predictor", [_label(name, width) for name in table["predictor"]]))
    if (table["runs"] != found.seeds).any():
        columns.append(PrintedColumn("runs", [Text(f"{runs} of {found.seeds}") for runs in table["runs"]]))
    return columns


def _label(spec: str, width: int) -> Text:
    """Return a part's name. Long options go on the next lines."""
    if len(spec) > width / 3:
        spec = spec.replace(":", ":\n  ").replace(",", ",\n  ")
    return Text(spec)


def _values(found: Comparison, metric: ComparedMetric) -> PrintedColumn:
    show = _SHOW[metric.kind]
    table = found.table
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


def _verdicts(found: Comparison) -> list[RenderableType]:
    """Return each contender against the baseline: size, interval, verdict, and the longest wait."""
    base = choose_baseline(found.labelled_runs()["contender"])
    rows = found.conclusions("wait_mean", base).to_dict("records")
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


def _legend(found: Comparison) -> list[str]:
    lines = ["* best of its column"] if len(found.table) > 1 else []
    if (found.table["runs"] > 1).any():
        tested = found.basis == "independent" and found.table["runs"].min() >= LEAST_TESTED
        level = ", of 95% for waits and utilization" if tested else ""
        lines.append(f"means over the seeds, below them {_BELOW[found.basis]}{level}")
    if "failures" in found.runs:
        failed = found.runs.groupby("dispatcher", sort=False)["failures"].sum()
        lines += [
            f"{name}: failures in {count(int(much), 'decision')}; 'run' says which"
            for name, much in failed[failed > 0].items()
        ]
    return lines
