"""The comparisons of several workloads, in tables and plots that name the workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...base import InputError, shown
from ...base.facts import Facts
from ...simulation.plots.axes import axes_or_new, labelled, legend_above, without_data
from ...simulation.plots.style import logarithmic_numbers, marker, style
from .compared_metrics import WORDS
from .comparison import Comparison, Failure, write_report_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Comparisons(Mapping[str, Comparison]):
    """The outcome of :func:`compare` on several workloads: the comparison of each by its name, in their order.

    Parameters
    ----------
    comparisons
        The comparison of each workload, at least one. All have their results in one store.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> workloads = {f"load {load}": f"lublin:jobs=200,processors=64,load={load}" for load in (0.5, 0.9)}
    >>> comparisons = hd.compare(workloads, ["fcfs", "easy"], seeds=3)
    >>> comparisons.best()
    {'load 0.5': 'easy', 'load 0.9': 'easy'}
    >>> comparisons.table[["workload", "dispatcher", "runs"]]
       workload dispatcher  runs
    0  load 0.5       fcfs     3
    1  load 0.5       easy     3
    2  load 0.9       fcfs     3
    3  load 0.9       easy     3
    >>> comparisons.conclusions("wait_mean", "easy")[["workload", "contender", "verdict"]]
       workload contender verdict
    0  load 0.5      fcfs   worse
    1  load 0.9      fcfs   worse
    >>> len(comparisons["load 0.9"].runs)
    6
    """

    def __init__(self, comparisons: Mapping[str, Comparison]) -> None:
        self._comparisons = dict(comparisons)

    def __getitem__(self, workload: str) -> Comparison:
        """Return the comparison of a workload.

        Raises
        ------
        InputError
            For an unknown name. It is a :class:`KeyError`, too.
        """
        if workload not in self._comparisons:
            raise UnknownWorkloadError(f"expected a workload of {'; '.join(self)}, got {shown(workload)}")
        return self._comparisons[workload]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the workloads."""
        return iter(self._comparisons)

    def __len__(self) -> int:
        """Return the number of workloads."""
        return len(self._comparisons)

    @property
    def table(self) -> pd.DataFrame:
        """The tables of all comparisons below each other. The first column is the ``workload``."""
        return self._below({name: each.table for name, each in self.items()})

    @property
    def runs(self) -> pd.DataFrame:
        """The finished runs of all comparisons. The first column is the ``workload``."""
        return self._below({name: each.runs for name, each in self.items()})

    @property
    def failures(self) -> dict[str, tuple[Failure, ...]]:
        """The runs that ended with an exception, by workload. Workloads without any are left out."""
        return {name: each.failures for name, each in self.items() if each.failures}

    @property
    def interrupted(self) -> bool:
        """Whether some runs never finished."""
        return any(each.interrupted for each in self.values())

    def best(self, metric: str = "wait_mean") -> dict[str, str]:
        """Return the contender with the best mean over the seeds on each workload, see :meth:`.Comparison.best`."""
        return {name: each.best(metric) for name, each in self.items()}

    def conclusions(self, metric: str = "wait_mean", baseline: str | None = None) -> pd.DataFrame:
        """Return how each contender compares with a baseline on each workload, see :meth:`.Comparison.conclusions`.

        The first column is the ``workload``. Each workload is judged by itself: intervals are widened for the number of
        contenders, not for that of workloads.
        """
        return self._below({name: each.conclusions(metric, baseline) for name, each in self.items()})

    @property
    def plot(self) -> ComparisonsPlots:
        """The plot ``ratios()`` of all workloads. The plots of one workload are those of its comparison."""
        return ComparisonsPlots(self)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write one report of all workloads, as :meth:`.Comparison.report` does. Return its path."""
        return write_report_of(self, path)

    def __repr__(self) -> str:
        """Return a short text with a row for each workload and contender."""
        return self._facts().text()

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        parts = {name: each.facts() for name, each in self.items()}
        failed = sum(map(len, self.failures.values()))
        title = f"Comparisons on {len(self)} workloads: {sum(each.planned for each in self.values()):,} runs"
        rows = [(name, *row) for name, facts in parts.items() for row in facts.rows]
        header = next(iter(parts.values())).header
        return Facts(title + (f", {failed} failed" if failed else ""), rows, ["workload", *header])

    @staticmethod
    def _below(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        named = [frame.assign(workload=name) for name, frame in frames.items()]
        together = pd.concat([frame for frame in named if len(frame)] or named[:1], ignore_index=True)
        return together[["workload", *(name for name in together if name != "workload")]]


class UnknownWorkloadError(InputError, KeyError):
    """A workload that was not compared."""

    def __str__(self) -> str:
        """Return the message; that of a :class:`KeyError` has quotes."""
        return str(self.args[0])


class ComparisonsPlots:
    """Plots over several workloads.

    Parameters
    ----------
    comparisons
        The comparisons.
    """

    def __init__(self, comparisons: Comparisons) -> None:
        self._comparisons = comparisons

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
        rows = self._comparisons.conclusions(metric, baseline)
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
        values = rows[["ratio", "ratio_low", "ratio_high"]].to_numpy(dtype=float)
        positive = np.append(values[np.isfinite(values) & (values > 0)], 1.0)
        axes.set_xscale("log")
        axes.set_xlim(positive.min() / 1.15, 1.15 * positive.max())
        logarithmic_numbers(axes.xaxis, *axes.get_xlim())
        legend_above(axes, handles, list(self._comparisons), len(contenders) - 0.4, least=1)
        places = range(len(contenders))
        axes.set_yticks(places, contenders[::-1], parse_math=False)
        return axes

    def _baseline(self, rows: pd.DataFrame, baseline: str | None) -> str:
        """Return what the ratios are relative to: the same contender on every workload, or the usual one of each."""
        if baseline is not None:
            return baseline
        bases = {
            name
            for each in self._comparisons.values()
            for name in each.contenders
            if name not in set(rows["contender"])
        }
        return bases.pop() if len(bases) == 1 else "the baseline"

    def _marks(self, axes: Axes, rows: pd.DataFrame, contenders: Sequence[str]) -> list[object]:
        """Draw the ratios of all workloads, the first at the top within each contender. Return a handle of each."""
        handles: list[object] = []
        number = len(self._comparisons)
        for index, workload in enumerate(self._comparisons):
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
