"""``hpcdispatch workload analyze``: fit run times to the sizes of inputs."""

import itertools
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...analysis import EXPLAINS, PERCENTILES, Workflow, analyze, class_table, summary_table
from ...base import InputError, write_whole
from ...bench.reports.number_formats import NOTHING, count, fixed, percent, ratio
from ...bench.reports.tables import terminal_table
from ...bench.reports.workflow_figure import KINDS, picture
from ...models.complexity import CONSTANT
from ...workloads.formats.csv_text import csv_text
from ...workloads.formats.run_table import RunColumns, read_runs
from ...workloads.formats.trace_files import save
from ..app import subcommand
from ..command_errors import say
from ..durations import Number
from ..output import finish
from ..parameters import argument, option
from ..progress import spinner
from ..shared_options import check_writable


@subcommand(
    "analyze",
    "hpcdispatch workload analyze runs.csv --size-column bytes --time-column minutes",
    "hpcdispatch workload analyze runs.csv --size-column bytes --time-column minutes "
    "--workflow-column name --plot runs.png",
)
def command(
    table: Annotated[Path, argument()],
    size_column: Annotated[str, option("Sizes of the inputs, >= 0; best in bytes.", "NAME", group="Columns")],
    time_column: Annotated[str, option("Run times, >= 0, in any unit.", "NAME")],
    workflow_column: Annotated[str | None, option("What ran. Without it all runs are of one workflow.", "NAME")],
    explains: Annotated[
        float,
        option(
            "The time follows the size where the correlation is above R.",
            "R",
            Number(0, 1),
            default=EXPLAINS,
            group="Results",
        ),
    ],
    plot: Annotated[Path | None, option(f"Draw runs, curves and ranges: {', '.join(KINDS)}.")],
    out: Annotated[Path | None, option("Save the fits, a row per workflow and class.", "FILE.csv")],
) -> None:
    """Fit run times to sizes of inputs: 1, log n, n, n log n, n^2, n^2 log n and n^3.

    TABLE is a CSV, TSV (each also with .gz) or Parquet file with a row for each run. For each workflow, the output has
    the range of its times and the classes. Each class has its least-squares curve, its correlation and its mean squared
    error (MSE). Some classes have the least error in runs left out of the fit, up to chance. The best class is the one
    of these with the slowest growth. The others are tied with it.

    Numbers are in the units of the table. The error is in percent of the mean time.
    """
    check_writable(plot, "--plot", KINDS)
    check_writable(out, "--out", ["csv"])
    with spinner(f"reading {table}"):
        runs = read_runs(table, RunColumns(size_column, time_column, workflow_column))
    try:
        workflows = analyze(runs, explains)
    except InputError as error:
        raise InputError(f"{table}: column {size_column!r}: {error}") from None
    if out is not None:
        save(out, csv_text(class_table(workflows)), packed=False)
        say("note", f"fits written to {out}")
    if plot is not None:
        write_whole(plot, picture(workflows, size_column, time_column, plot.suffix[1:].lower()))
        say("note", f"picture written to {plot}")
    summary = _records(summary_table(workflows))
    follows = [row for row in summary if row["best"] not in (CONSTANT, None, "") and row["correlation"] > explains]
    answer = f"Run times follow the size of the input in {len(follows)} of {count(len(summary), 'workflow')}"
    if len(follows) == 1:
        row = follows[0]
        answer += f": {row['workflow']} grows as {row['best']}, correlation {fixed(row['correlation'], 2)}"
    finish(f"{answer}.", {"workflows": summary, "classes": _records(class_table(workflows))}, *_shown(workflows))


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(map(str, table), row, strict=True)) for row in table.itertuples(index=False, name=None)]


def _shown(workflows: tuple[Workflow, ...]) -> list[RenderableType]:
    times = terminal_table(["workflow", "runs", *PERCENTILES])
    best = terminal_table(["workflow", "best", "tied with", "correlation", "Spearman", "MSE", "error (%)"], 3)
    for row in _records(summary_table(workflows)):
        name = Text(row["workflow"])
        times.add_row(name, f"{row['runs']:,}", *(ratio(row[key]) for key in PERCENTILES))
        kinds = (kind if isinstance(kind, str) and kind else NOTHING for kind in (row["best"], row["tied"]))
        numbers = (fixed(row["correlation"], 2), fixed(row["spearman"], 2), ratio(row["mse"]), percent(row["error"]))
        best.add_row(name, *kinds, *numbers)
    notes = [f"{workflow.name}: {workflow.note}" for workflow in workflows if workflow.note]
    return ["times", times, "\nbest class", best, *notes, "\ntime = a + b g(n)", _classes(workflows)]


def _classes(workflows: tuple[Workflow, ...]) -> Table:
    table = terminal_table(["g(n)", "a", "b", "correlation", "MSE", "left out", ""])
    for name, rows in itertools.groupby(_records(class_table(workflows)), key=lambda row: row["workflow"]):
        table.add_row(Text(str(name), style="bold"))
        for row in rows:
            slope = NOTHING if row["class"] == CONSTANT else f"{row['slope']:.4g}"
            errors = ratio(row["mse"]), ratio(row["left_out_mse"])
            curve = f"{row['intercept']:.4g}", slope, fixed(row["correlation"], 2)
            table.add_row(f"  {row['class']}", *curve, *errors, row["verdict"])
    return table
