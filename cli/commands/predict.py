"""``hpcdispatch predict``: how good predictors of run times are, and what they do to waits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from rich.table import Table
from rich.text import Text

from ...analysis import PredictorEvaluation, evaluate_predictors
from ...analysis.conclusions import Estimate
from ...bench.reports.number_formats import NOTHING, percent, ratio
from ...bench.reports.tables import terminal_table
from ...bench.reports.verdict import change, estimated, span_text
from ...workloads.formats.csv_text import csv_text
from ...workloads.formats.trace_files import save
from ..app import OUTPUT, subcommand
from ..command_errors import say
from ..completion import workload_names
from ..output import finish, headed, time
from ..parameters import argument, option
from ..progress import spinner
from ..shared_options import (
    ReadingOptions,
    check_writable,
    predictors_option,
    split_specs,
    validate,
)
from ..trace_argument import load, resolve

PREDICTORS = "walltime,last2,heuristic,empirical,regression"
_PICTURES = ("png", "svg", "pdf")


#: The predictor that the others are compared with.
WALLTIME = "walltime"


@subcommand(
    "predict",
    "hpcdispatch predict trace.swf.gz --predictors walltime,last2,sklearn:estimator=Ridge",
    "hpcdispatch predict trace.swf.gz --predictors last2,regression --plot errors.png",
)
def command(
    trace: Annotated[tuple[str, ...], argument(shell_complete=workload_names)],
    predictors: Annotated[tuple[str, ...], predictors_option(PREDICTORS, group="What is judged")],
    dispatcher: Annotated[str, option("Whose waits are compared.", default="easy-sjbf")],
    reading: ReadingOptions,
    plot: Annotated[Path | None, option(f"Draw the errors over time: {', '.join(_PICTURES)}.", group=OUTPUT)],
    out: Annotated[Path | None, option("Save each prediction.", "FILE.csv")],
) -> None:
    """Judge predictors of run times, job after job in the order of time.

    Each job is predicted at its submission, from jobs that have ended by then. The wait is that of the dispatcher with
    the predictor, its ratio to that with walltimes on the same jobs, with an interval.
    """
    specs = split_specs(predictors, "predictor")
    validate([dispatcher], specs)
    check_writable(plot, "--plot", _PICTURES)
    check_writable(out, "--out", ["csv"])
    source = resolve(*trace)
    workload = load(source, reading)
    with spinner(f"predicting {len(workload):,} jobs"):
        results = evaluate_predictors(workload, specs, dispatcher=dispatcher)
    if out is not None:
        save(out, csv_text(results.jobs), packed=False)
        say("note", f"predictions written to {out}")
    if plot is not None:
        axes = results.plot()
        figure = axes.get_figure(root=True)
        assert figure is not None
        figure.savefig(plot)
        say("note", f"picture written to {plot}")
    best = next(row for row in results.table.to_dict("records") if row["predictor"] == results.best())
    effect = f"under {dispatcher} a job waits {estimated('with walltimes', _estimate(best))}"
    if pd.isna(best["wait_ratio"]):
        effect = f"with walltimes no job waits under {dispatcher}"
    elif best["predictor"] == WALLTIME:
        effect = f"under {dispatcher} a job waits {time(best['wait'])} on average with them"
    answer = (
        f"{results.best()} predicts best, with a mean error of {time(best['mae'])} and {best['close']:.0%} of the jobs "
        f"within 25%; {effect}."
    )
    tables = {name: getattr(results, name) for name in ("table", "by_length", "by_user", "over_time")}
    fields: dict[str, Any] = {name: frame.to_dict("records") for name, frame in tables.items()}
    measures = "\nother measures of the error", _measures(results)
    finish(
        answer,
        {**fields, "counts": dict(results.counts)},
        _errors(results),
        f"\nwaits under {dispatcher}",
        _waits(results),
        *measures,
        "\nby run time",
        _classes(results),
    )


def _estimate(row: Mapping[Any, Any]) -> Estimate:
    """Return the estimate of the wait in a row of the table."""
    return Estimate(
        row["wait_ratio"],
        row["wait_low"],
        row["wait_high"],
        blocks=row["blocks"],
        corrected=row["corrected"],
        reason=row["reason"],
        tested=row["tested"],
    )


def _errors(results: PredictorEvaluation) -> Table:
    heads = [
        "predictor",
        headed("error"),
        "within 25% (%)",
        "under (%)",
        "over (%)",
        "in 80% (%)",
        "ms",
    ]
    shown = terminal_table(heads)
    for row in results.table.to_dict("records"):
        covered = NOTHING if pd.isna(row["coverage_80"]) else percent(row["coverage_80"])
        shown.add_row(
            Text(str(row["predictor"])),
            time(row["mae"]),
            percent(row["close"]),
            percent(row["under"]),
            percent(row["over"]),
            covered,
            ratio(row["ms"]),
        )
    return shown


def _waits(results: PredictorEvaluation) -> Table:
    """Return the mean waits with each predictor, against those with walltimes."""
    shown = terminal_table(["predictor", headed("mean wait"), "to walltimes", "interval", "verdict"], 1)
    for row in results.table.to_dict("records"):
        estimate = _estimate(row)
        told = estimate.reason if pd.isna(estimate.low) else span_text(estimate.low, estimate.high)
        compared = [change(estimate.ratio), told, row["verdict"]]
        shown.add_row(
            Text(str(row["predictor"])),
            time(row["wait"]),
            *([NOTHING] * 3 if row["predictor"] == WALLTIME else compared),
        )
    return shown


def _measures(results: PredictorEvaluation) -> Table:
    """Return the accuracy min(p / r, r / p), the mean of |ln(p / r)|, E-Loss, and the size of errors by their sign."""
    heads = ["predictor", "accuracy (%)", "log error", "E-Loss (s²)", headed("too short by"), headed("too long by")]
    shown = terminal_table(heads)
    for row in results.table.to_dict("records"):
        shown.add_row(
            Text(str(row["predictor"])),
            percent(row["accuracy"]),
            ratio(row["log_error"]),
            f"{row['e_loss']:.3g}",
            time(row["under_by"]),
            time(row["over_by"]),
        )
    return shown


def _classes(results: PredictorEvaluation) -> Table:
    shown = terminal_table(["predictor", "run time", "jobs", headed("error"), "within 25% (%)", "under (%)"], 2)
    for row in results.by_length.to_dict("records"):
        shown.add_row(
            Text(str(row["predictor"])),
            str(row["length"]),
            f"{row['jobs']:,}",
            time(row["mae"]),
            percent(row["close"]),
            percent(row["under"]),
        )
    return shown
