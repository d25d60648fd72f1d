"""``Comparison.plot``: the curves of all contenders in one plot, and their ratios to a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...analysis.paired import paired
from ...base import InputError
from ...base.checks import shown
from ...simulation import Result
from ...simulation.plots.axes import axes_or_new, labelled, without_data
from ...simulation.plots.gantt import Colour
from ...simulation.plots.result_plots import ResultPlots
from ...simulation.plots.style import logarithmic_numbers, marker, shortened, style
from ..reports.verdict import choose_baseline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What is compared, in words.
WORDS = {
    "wait_mean": "mean wait", "bounded_slowdown_mean": "mean bounded slowdown", "slowdown_mean": "mean slowdown",
    "wait_max": "longest wait", "utilization": "utilization", "decision_ms_mean": "mean decision time",
}  # fmt: skip


class ComparisonPlots(ResultPlots):
    """Plots of a comparison: those of :class:`ResultPlots`, a curve a contender, and :meth:`ratios`.

    Parameters
    ----------
    results
        Contender to its results.
    runs
        Their summaries: ``contender``, ``seed`` and the metrics.
    best
        Returns the contender whose schedule is drawn if none is named.
    """

    def __init__(self, results: Mapping[str, Iterable[Result]], runs: pd.DataFrame, best: Callable[[], str]) -> None:
        super().__init__(results)
        self._runs, self._best = runs, best

    def gantt(
        self, window: tuple[float | str, float | str] | None = None, color: Colour = "user", ax: Axes | None = None,
        dispatcher: str | None = None,
    ) -> Axes:  # fmt: skip
        """Draw the schedule of one contender, by default of the best, of the first seed; see :class:`ResultPlots`."""
        name = self._known("dispatcher", self._best() if dispatcher is None else dispatcher)
        return ResultPlots({name: self._results[name]}).gantt(window, color, ax)

    def ratios(self, metric: str = "wait_mean", baseline: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw a metric of each contender divided by that of a baseline, with 95% intervals over the seeds.

        Parameters
        ----------
        metric
            A metric of the table.
        baseline
            The contender to divide by; without it ``easy``, else ``fcfs``, else the first by name.
        ax
            Where to draw.

        Raises
        ------
        InputError
            For an unknown metric or baseline, or an `ax` that is no Axes.
        """
        if metric not in WORDS:
            raise InputError(f"metric: expected one of {', '.join(WORDS)}; got {shown(metric)}")
        axes, what = axes_or_new(ax), WORDS[metric]
        if self._runs.empty:
            return without_data(axes, f"Ratio of the {what}", "no run has finished")
        base = choose_baseline(self._results) if baseline is None else self._known("baseline", baseline)
        rows = paired(self._runs.assign(workload="", sample=0), base, metric).set_index("contender")
        rows = rows.reindex([name for name in self._results if name != base])
        title = f"{what.capitalize()} relative to {base}"
        if not np.isfinite(rows["ratio"].to_numpy(dtype=float)).any():
            return without_data(axes, title, f"no ratio: one contender, or a {what} of 0")
        intervals = f" (95% interval over {rows['n'].max():.0f} seeds)" if rows["n"].max() > 1 else ""
        labelled(axes, title, f"ratio of the {what}{intervals}", "")
        for place, (name, row) in enumerate(rows.iterrows()):
            colour = style(list(self._results).index(str(name)))[0]
            if np.isfinite(row["ratio_low"]):
                axes.plot([row["ratio_low"], row["ratio_high"]], [place, place], linewidth=1.8, color=colour)
            axes.plot([row["ratio"]], [place], marker=marker(place), markersize=6, color=colour)
            axes.annotate(
                f"{row['ratio']:.3g}", (row["ratio"], place), xytext=(0, 6), textcoords="offset points", ha="center",
                fontsize=8, annotation_clip=False,
            )  # fmt: skip
        axes.axvline(1, color="#555555", linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_yticks(range(len(rows)), [shortened(str(name), 40) for name in rows.index], parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        values = rows[["ratio", "ratio_low", "ratio_high"]].to_numpy(dtype=float)
        positive = np.append(values[np.isfinite(values) & (values > 0)], 1.0)
        axes.set_xscale("log")
        axes.set_xlim(positive.min() / 1.15, 1.15 * positive.max())
        logarithmic_numbers(axes.xaxis, *axes.get_xlim())
        return axes

    def _known(self, what: str, name: str) -> str:
        if name not in self._results:
            raise InputError(f"{what}: expected one of {'; '.join(self._results)}, got {shown(name)}")
        return name
