"""Predictors on published traces: errors, effect on waits, and time per job with refits.

Run it by ``python -m hpcdispatch.bench.studies.training.predictors``; traces are looked for in HPCDISPATCH_DATA.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from ....analysis import evaluate_predictors
from ....base.checks import MOST_JOBS
from ....predictors import SklearnPredictor, create
from ....predictors.features import NUMBERS
from ....simulation import simulate
from ...reports.tables import Table
from ..benchmarks.traces import named_trace
from ..one_line_errors import in_one_line
from ..printed_tables import show

TRACES = (
    "theta-2022.swf.gz KTH-SP2-1996-2.swf.gz SDSC-SP2-1998-4.2-cln.swf.gz CTC-SP2-1996-3.1-cln.swf.gz "
    "RICC-2010-2.swf.gz:0:100000 HPC2N-2002-2.2-cln.swf.gz"
)
PREDICTORS = (
    "walltime last2 heuristic empirical regression sklearn:estimator=LinearRegression "
    "sklearn:estimator=HistGradientBoostingRegressor "
    "sklearn:estimator=HistGradientBoostingRegressor,loss=squared_error "
    "sklearn:estimator=HistGradientBoostingRegressor,target=runtime "
    "sklearn:estimator=HistGradientBoostingRegressor,weights=log-work "
    "sklearn:estimator=HistGradientBoostingRegressor,running=false "
    "sklearn:estimator=RandomForestRegressor pipeline"
)


def predictor_of(spec: str) -> str | SklearnPredictor:
    """Return a predictor. ``pipeline`` is a ridge regression behind codes of texts, on data frames."""
    if spec != "pipeline":
        return spec
    codes = ("texts", OneHotEncoder(handle_unknown="ignore", max_categories=50), ["user", "name", "queue"])
    return SklearnPredictor(make_pipeline(ColumnTransformer([codes, ("numbers", "passthrough", [*NUMBERS])]), Ridge()))


def alone(predictor: SklearnPredictor, rows: int = 300) -> float:
    """Return CPU milliseconds that a predictor's regressor takes per row, as in scikit-learn."""
    numbers = np.random.default_rng(0).random((2000, len(NUMBERS)))
    frame = pd.DataFrame(numbers, columns=[*NUMBERS]).assign(user="1", group="1", name="1", queue="1")
    given = frame if len(predictor.features) > len(NUMBERS) else numbers
    model = predictor.estimator
    with threadpool_limits(1):
        model.fit(given, numbers.sum(axis=1))
        begin = process_time()
        for row in range(rows):
            model.predict(given[row : row + 1])
    return 1e3 * (process_time() - begin) / rows


@click.command()
@click.option("--traces", default=TRACES, help="Files or names, with blanks between; FILE:START:STOP for some jobs.")
@click.option("--predictors", default=PREDICTORS, help="With blanks between.")
@click.option("--others", default="lookahead", show_default=True, help="Dispatchers beside easy-sjbf.")
@click.option("--jobs", type=click.IntRange(min=1), help="The first jobs of each trace.")
@click.option("--markdown", is_flag=True)
@in_one_line()
def main(traces: str, predictors: str, others: str, jobs: int | None, markdown: bool) -> None:
    """Print a table per trace, each when it is there."""
    for name in traces.split():
        workload = named_trace(name).head(jobs or MOST_JOBS)
        evaluation = evaluate_predictors(workload, [predictor_of(spec) for spec in predictors.split()])
        heads = ["predictor", "error (s)", "within 25%", "accuracy", "log error", "E-Loss (s²)", "under"]
        heads += ["wait (s)", "slowdown", "wait ratio", "interval"]
        rows = []
        for spec, row in zip(predictors.split(), evaluation.table.to_dict("records"), strict=True):
            made: Any = create(predictor_of(spec))
            cells = [
                spec.removeprefix("sklearn:estimator="),
                f"{row['mae']:,.0f}",
                f"{row['close']:.1%}",
                f"{row['accuracy']:.1%}",
                f"{row['log_error']:.2f}",
                f"{row['e_loss']:.2e}",
                f"{row['under']:.1%}",
                f"{row['wait']:,.0f}",
                f"{row['slowdown']:.1f}",
                f"{row['wait_ratio']:.3f}",
                f"{row['wait_low']:.2f} to {row['wait_high']:.2f}" if row["wait_low"] > 0 else "",
            ]
            for other in others.split():
                told = simulate(workload, other, made).summary()
                cells += [f"{told['wait_mean']:,.0f}", f"{told['bounded_slowdown_mean']:.1f}"]
            rows.append([*cells, f"{row['ms']:.2f}", f"{alone(made):.2f}" if hasattr(made, "estimator") else ""])
        heads += [f"{other} {what}" for other in others.split() for what in ("wait (s)", "slowdown")]
        title = f"{name.partition('-2')[0]}: {len(workload):,} jobs under easy-sjbf"
        show([Table(title, [*heads, "ms per job", "predict alone"], rows)], markdown)


if __name__ == "__main__":
    main()
