"""``Comparison.plot``: the curves of all contenders in one plot, and their ratios to a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...analysis.conclusions import Daily, conclusions
from ...base import InputError, shown
from ...base.argument_types import names_wrong_types
from ...simulation import Result
from ...simulation.plots.axes import axes_or_new, draw_ratios, labelled, legend_above, without_data
from ...simulation.plots.gantt import Colour
from ...simulation.plots.result_plots import ResultPlots
from ...simulation.plots.style import logarithmic_numbers, marker, style
from ..reports.verdict import choose_baseline
from .compared_metrics import WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ComparisonPlots(ResultPlots):
    """Plots of a comparison: those of :class:`ResultPlots`, with one curve per contender, and :meth:`ratios`.

    Parameters
    ----------
    results
        Results by contender.
    runs
        Their summaries: ``workload``, ``contender``, ``seed``, ``sample``, ``basis`` and the metrics.
    best
        Returns the contender for the schedule drawn by default.
    days
        Metrics by day, for the intervals of one trace.
    """

    def __init__(
        self,
        results: Mapping[str, Iterable[Result]],
        runs: pd.DataFrame,
        best: Callable[[], str],
        days: Mapping[tuple[str, str, int], Mapping[str, Daily]],
    ) -> None:
        super().__init__(results)
        self._runs, self._best, self._days = runs, best, days

    @names_wrong_types
    def gantt(
        self,
        window: tuple[float | str, float | str] | None = None,
        color: Colour = "user",
        ax: Axes | None = None,
        dispatcher: str | None = None,
    ) -> Axes:
        """Draw the schedule of one contender, by default the best, for the first seed; see :class:`ResultPlots`."""
        name = self._known("dispatcher", self._best() if dispatcher is None else dispatcher)
        return ResultPlots({name: self._results[name]}).gantt(window, color, ax)

    @names_wrong_types
    def ratios(self, metric: str = "wait_mean", baseline: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw a metric of each contender divided by that of a baseline, with intervals or the range over shifts.

        Parameters
        ----------
        metric
            A metric of the table.
        baseline
            The contender to divide by; without it ``easy``, else ``fcfs``, else the first by name.
        ax
            Axes to draw in.

        Raises
        ------
        InputError
            For an unknown metric or baseline, or an `ax` that is no Axes.
        """
        known = [name for name in WORDS if name in self._runs or self._runs.empty]
        if metric not in known:
            raise InputError(f"metric: expected one of {', '.join(known)}; got {shown(metric)}")
        axes, what = axes_or_new(ax), WORDS[metric]
        if self._runs.empty:
            return without_data(axes, f"Ratio of the {what}", "no run has finished")
        base = choose_baseline(self._results) if baseline is None else self._known("baseline", baseline)
        rows = conclusions(self._runs, base, metric, self._days).set_index("contender")
        rows = rows.reindex([name for name in self._results if name != base])
        title = f"{what.capitalize()} relative to {base}"
        if not np.isfinite(rows["ratio"].to_numpy(dtype=float)).any():
            return without_data(axes, title, f"no ratio: one contender, or a {what} of 0")
        interval = bool(rows["ratio_low"].notna().any())
        if not interval:
            rows = rows.assign(ratio_low=rows["range_low"], ratio_high=rows["range_high"])
        intervals = f" ({_lines(rows, interval)})" if rows["ratio_low"].notna().any() else ""
        labelled(axes, title, f"ratio of the {what}{intervals}", "")
        order = list(self._results)
        draw_ratios(axes, rows, [order.index(str(name)) for name in rows.index])
        for place, ratio in enumerate(rows["ratio"]):
            axes.annotate(
                f"{ratio:.3g}",
                (ratio, place),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                annotation_clip=False,
            )
        _scale(axes, rows)
        return axes

    def _known(self, what: str, name: str) -> str:
        if name not in self._results:
            raise InputError(f"{what}: expected one of {'; '.join(self._results)}, got {shown(name)}")
        return name


def _scale(axes: Axes, rows: pd.DataFrame) -> None:
    """Make x a logarithmic axis that holds 1, all ratios and their lines."""
    values = rows[["ratio", "ratio_low", "ratio_high"]].to_numpy(dtype=float)
    positive = np.append(values[np.isfinite(values) & (values > 0)], 1.0)
    axes.set_xscale("log")
    axes.set_xlim(positive.min() / 1.15, 1.15 * positive.max())
    logarithmic_numbers(axes.xaxis, *axes.get_xlim())


def _lines(rows: pd.DataFrame, interval: bool) -> str:
    """Return what the lines beside the ratios are."""
    number = f"{rows['n'].max():.0f}"
    if not interval:
        return f"range over {number} shifts"
    name = "95% interval" if rows["tested"].all() else "interval"
    if rows["blocks"].max():
        return f"{name}, {rows['blocks'].max():.0f} blocks of the trace"
    kind = "resamples" if (rows["basis"] == "resamples").all() else "samples"
    return f"{name}, {number} {kind}"


class ComparisonsPlots:
    """Plots over several workloads.

    Parameters
    ----------
    contenders
        The contenders of each workload.
    conclusions
        Function from a metric and a baseline to the ratios of all workloads, see :meth:`.Comparisons.conclusions`.
    """

    def __init__(
        self, contenders: Mapping[str, Sequence[str]], conclusions: Callable[[str, str | None], pd.DataFrame]
    ) -> None:
        self._contenders, self._conclusions = contenders, conclusions

    @names_wrong_types
    def ratios(self, metric: str = "wait_mean", baseline: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw a metric of each contender divided by that of a baseline, with one mark for each workload.

        Lines are the intervals, or the range over shifts.

        Parameters
        ----------
        metric
            A metric of the table.
        baseline
            The contender to divide by; without it ``easy``, else ``fcfs``, else the first by name.
        ax
            Axes to draw in.

        Raises
        ------
        InputError
            For an unknown metric or baseline, or an `ax` that is no Axes. Also if no run of a workload has finished.
        """
        axes = axes_or_new(ax)
        rows = self._conclusions(metric, baseline)
        what = WORDS[metric]
        if not len(rows) or not np.isfinite(rows["ratio"].to_numpy(dtype=float)).any():
            return without_data(axes, f"Ratio of the {what}", f"no ratio: one contender, or a {what} of 0")
        shift = rows["ratio_low"].isna()
        rows["ratio_low"] = rows["ratio_low"].where(~shift, rows["range_low"])
        rows["ratio_high"] = rows["ratio_high"].where(~shift, rows["range_high"])
        base = self._baseline(rows, baseline)
        contenders = list(dict.fromkeys(rows["contender"]))
        labelled(axes, f"{what.capitalize()} relative to {base}, by workload", f"ratio of the {what}", "")
        handles = self._marks(axes, rows, contenders)
        axes.axvline(1, color="#555555", linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_ylim(-0.6, len(contenders) - 0.4)
        _scale(axes, rows)
        legend_above(axes, handles, list(self._contenders), len(contenders) - 0.4, least=1)
        places = range(len(contenders))
        axes.set_yticks(places, contenders[::-1], parse_math=False)
        return axes

    def _baseline(self, rows: pd.DataFrame, baseline: str | None) -> str:
        """Return what the ratios are relative to: the same contender on every workload, or the usual one of each."""
        if baseline is not None:
            return baseline
        known = {name for names in self._contenders.values() for name in names}
        bases = known - set(rows["contender"])
        return bases.pop() if len(bases) == 1 else "the baseline"

    def _marks(self, axes: Axes, rows: pd.DataFrame, contenders: Sequence[str]) -> list[object]:
        """Draw the ratios of all workloads, the first at the top within each contender. Return a handle of each."""
        handles: list[object] = []
        number = len(self._contenders)
        for index, workload in enumerate(self._contenders):
            colour = style(index)[0]
            own = rows[rows["workload"] == workload]
            offset = 0.6 * ((number - 1) / 2 - index) / number
            places = [len(contenders) - 1 - contenders.index(name) + offset for name in own["contender"]]
            for place, low, high in zip(places, own["ratio_low"], own["ratio_high"], strict=True):
                if np.isfinite(low):
                    axes.plot([low, high], [place, place], color=colour, linewidth=1.7)
            drawn = axes.plot(own["ratio"], places, color=colour, marker=marker(index), markersize=6, linestyle="none")
            handles.append(drawn[0])
        return handles
