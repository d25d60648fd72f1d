"""``Result.plot``: curves of one result or of several, and the schedule of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import FloatArray
from ..metrics import NARROWEST, Records, job_metrics, width_class
from .axes import axes_or_new, labelled, legend_above, time_ticks, without_data
from .curves import Grid, capacity_of, distribution, over_time
from .gantt import Colour, gantt
from .style import axis_unit, line_style, logarithmic_numbers, marker, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where waits are counted, and points of their curve at most.
_GRID, _POINTS = Grid(0, 10, 100), 1000
#: Bins in time of a single curve, and of each of several.
_BINS, _FEWER = 400, 120
_SINCE = "time since the first submission"
_NOTHING = "no job has run"


class ResultPlots:
    """Plots of results.

    Each method draws into `ax`, or into a new figure without it, and returns the Axes, so that all of it can be changed
    afterwards. A plot of a result in which no job has run says so.

    Parameters
    ----------
    results
        Name to the results of that name, one a seed, read anew for each plot.
    """

    def __init__(self, results: Mapping[str, Iterable[Records]]) -> None:
        self._results = results

    def gantt(
        self, window: tuple[float | str, float | str] | None = None, color: Colour = "user", ax: Axes | None = None
    ) -> Axes:
        """Draw the schedule: a bar is a job on the machine.

        On a machine of nodes the bars are where the nodes are. On a pool they are stacked from below, the lowest free
        place first. Beyond 2,500 stays areas show how much each user, queue or wait has.

        Parameters
        ----------
        window
            From when to when, after the first submission: seconds, or text such as ``("1d", "36h")``. All without it.
        color
            What the colours show: the ``"user"``, the ``"queue"``, or how long the job had waited, ``"wait"``.
        ax
            Where to draw.

        Raises
        ------
        InputError
            For a window in which there is no schedule, another color, or an `ax` that is no Axes.
        """
        name, results = next(iter(self._results.items()))
        return gantt(next(iter(results)), f"Schedule under {name}", window, color, ax)

    def utilization(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the machine in use over time, of the first seed."""
        return self._loads("utilization", "Utilization", "utilization (%)", 100.0, ax)

    def queue(self, ax: Axes | None = None) -> Axes:
        """Draw how many jobs wait over time, of the first seed."""
        return self._loads("queue", "Queue length", "waiting jobs", 1.0, ax)

    def waits(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of the waits: the share of jobs that wait at most so long."""
        curves = {}
        for name, results in self._results.items():
            waits = [job_metrics(result.jobs)["wait"].to_numpy() for result in results if len(result.jobs)]
            values = np.concatenate(waits) if waits else np.empty(0)
            x, y = distribution(_GRID, _GRID.counts(values), len(values), _POINTS)
            curves[name] = x, 100 * y
        axes, title = axes_or_new(ax), self._title("Distribution of waits")
        if not any(len(x) for x, _ in curves.values()):
            return without_data(axes, title, _NOTHING)
        longest = max(60.0, *(1.3 * x[-1] for x, _ in curves.values() if len(x)))
        for name, (x, y) in curves.items():
            curves[name] = np.append(x, [longest] * len(x[-1:])), np.append(y, y[-1:])
        labelled(axes, title, "wait (below 1 s counts as 1 s)", "share of jobs (%)")
        time_ticks(axes, longest)
        axes.set_ylim(0, 100)
        self._draw(axes, curves, 100.0)
        return axes

    def slowdown_by_size(self, ax: Axes | None = None) -> Axes:
        """Draw the mean bounded slowdown of jobs by their share of the machine."""
        curves, primary, total = {}, "", np.zeros(NARROWEST + 1)
        for name, results in self._results.items():
            sums, counts = np.zeros(NARROWEST + 1), np.zeros(NARROWEST + 1)
            for result in results:
                primary = result.manifest["machine"]["primary"]
                if len(result.jobs):
                    metrics = job_metrics(result.jobs)
                    size = width_class(result.jobs.loc[metrics.index, "units"].to_numpy(), capacity_of(result))
                    counts += np.bincount(size, minlength=NARROWEST + 1)
                    sums += np.bincount(size, weights=metrics["bounded_slowdown"], minlength=NARROWEST + 1)
            total += counts
            curves[name] = counts, sums
        axes, title = axes_or_new(ax), self._title("Mean bounded slowdown by job size")
        classes = np.flatnonzero(total)[::-1]
        if not len(classes):
            return without_data(axes, title, _NOTHING)
        places = np.arange(len(classes), dtype=float)
        means = {
            name: (places[counts[classes] > 0], (sums[classes] / np.maximum(counts[classes], 1))[counts[classes] > 0])
            for name, (counts, sums) in curves.items()
        }
        labelled(axes, title, f"share of the machine's {primary}s that a job takes", "mean bounded slowdown")
        axes.set_xticks(places, [f"≤ 1/{2**k}" if k else "≤ 1" for k in classes])
        axes.set_xlim(-0.5, len(classes) - 0.5)
        axes.set_yscale("log")
        highest = max(y.max() for _, y in means.values() if len(y))
        axes.set_ylim(0.9, max(2.0, highest * 1.1))
        logarithmic_numbers(axes.yaxis, 0.9, max(2.0, highest))
        self._draw(axes, means, max(2.0, highest * 1.1), steps=False)
        return axes

    def _title(self, what: str) -> str:
        return f"{what} under {next(iter(self._results))}" if len(self._results) == 1 else what

    def _loads(self, column: str, what: str, label: str, scale: float, ax: Axes | None) -> Axes:
        """Draw a column of :func:`.over_time`."""
        firsts = {name: next(iter(results)) for name, results in self._results.items()}
        loads = {
            name: over_time(result.jobs, result.attempts, capacity_of(result), _BINS if len(firsts) == 1 else _FEWER)
            for name, result in firsts.items() if len(result.jobs) and len(result.attempts)
        }  # fmt: skip
        axes, title = axes_or_new(ax), self._title(what)
        longest = max((float(load["end"].max()) for load in loads.values()), default=0.0)
        if not longest:
            return without_data(axes, title, _NOTHING)
        size, unit = axis_unit(longest)
        curves = {}
        for name in self._results:
            load = loads[name] if name in loads else next(iter(loads.values())).iloc[:0]
            values = load[column].to_numpy() * scale
            curves[name] = np.append(load["begin"], load["end"][-1:]) / size, np.append(values, values[-1:])
        labelled(axes, title, f"{_SINCE} ({unit})", label)
        axes.set_xlim(0, longest / size)
        plain_numbers(axes.xaxis)
        top = 100.0 if column == "utilization" else max(1.0, *(1.02 * y.max() for _, y in curves.values() if len(y)))
        axes.set_ylim(0, top)
        plain_numbers(axes.yaxis)
        self._draw(axes, curves, top)
        if len(curves) == 1:
            ((x, y),) = curves.values()
            axes.fill_between(x, y, step="post", color=line_style(0)["color"], alpha=0.15, linewidth=0)
        return axes

    def _draw(
        self, axes: Axes, curves: Mapping[str, tuple[FloatArray, FloatArray]], top: float, *, steps: bool = True
    ) -> None:
        """Draw a curve each, of steps or of marked points, with a legend above `top`."""
        handles = []
        for index, (x, y) in enumerate(curves.values()):
            look: dict[str, Any] = {"drawstyle": "steps-post"} if steps else {"marker": marker(index), "markersize": 5}
            handles += axes.plot(x, y, **line_style(index), **look)
        legend_above(axes, handles, list(curves), top)
