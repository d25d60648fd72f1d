"""``Result.plot``: curves of one or several results, and the schedule of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base import FloatArray, InputError
from ...base.argument_types import names_wrong_types
from ..metrics import Records, job_metrics, width_class
from .axes import axes_or_new, inches, labelled, legend_above, without_data
from .curves import Grid, capacity_of, distribution, lost_over_time, over_time
from .gantt import Colour, gantt
from .style import axis_unit, line_style, logarithmic_numbers, marker, plain_numbers, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Places at which waits are counted, and the most points of their curve.
_GRID, _POINTS = Grid(0, 10, 100), 1000
#: Time bins of a single curve, and of each of several curves.
_BINS, _FEWER = 400, 120
_NOTHING = "no job has run"


class ResultPlots:
    """Plots of results.

    Each method draws into `ax`, or into a new figure. It returns the Axes for further changes. If no job has run, the
    plot says so.

    Parameters
    ----------
    results
        Results by name, one per seed, read again for each plot.
    """

    def __init__(self, results: Mapping[str, Iterable[Records]]) -> None:
        self._results = results

    @names_wrong_types
    def gantt(
        self, window: tuple[float | str, float | str] | None = None, color: Colour = "user", ax: Axes | None = None
    ) -> Axes:
        """Draw the schedule: a bar is a job on the machine.

        On several nodes the bars are at their nodes. On a pool they are stacked from below, the lowest free place
        first. Beyond 2,500 attempts, areas show the share of each user, queue or wait.

        Parameters
        ----------
        window
            Begin and end after the first submission: seconds, or text such as ``("1d", "36h")``. Without it, the whole
            run.
        color
            Meaning of the colours: the ``"user"``, the ``"queue"`` or the ``"wait"`` of the job.
        ax
            Axes to draw in.

        Raises
        ------
        InputError
            For a window outside the schedule, an unknown color, or an `ax` that is no Axes.
        """
        name, results = next(iter(self._results.items()))
        return gantt(next(iter(results)), f"Schedule under {name}", window, color, ax)

    @names_wrong_types
    def utilization(self, ax: Axes | None = None) -> Axes:
        """Draw the used share of the machine over time, of the first seed."""
        return self._loads("utilization", "Utilization", "utilization (%)", 100.0, ax)

    @names_wrong_types
    def queue(self, ax: Axes | None = None) -> Axes:
        """Draw the number of waiting jobs over time, of the first seed."""
        return self._loads("queue", "Queue length", "waiting jobs", 1.0, ax)

    @names_wrong_types
    def power(self, ax: Axes | None = None) -> Axes:
        """Draw the power of jobs and the idle machine over time, of the first seed.

        Raises
        ------
        InputError
            If a result has no power.
        """
        return self._loads("watts", "Power", "power (kW)", 1 / 1000, ax)

    @names_wrong_types
    def lost_work(self, ax: Axes | None = None) -> Axes:
        """Draw the core hours that failures of nodes have cost up to each time, of the first seed."""
        curves = {}
        for name, results in self._results.items():
            result = next(iter(results))
            if len(result.attempts):
                curves[name] = lost_over_time(result)
        return self._over_time(curves, "Work lost to failures", "core hours lost", 0.0, ax)

    @names_wrong_types
    def waits(self, ax: Axes | None = None) -> Axes:
        """Draw the cumulative distribution of the waits."""
        curves = {}
        for name, jobs in self._pooled().items():
            x, y = distribution(_GRID, _GRID.counts(jobs["wait"].to_numpy()), len(jobs), _POINTS)
            curves[name] = x, 100 * y
        axes = axes_or_new(ax)
        title = self._title("Distribution of waits")
        longest = max([60.0, *(1.3 * x.max(initial=0) for x, _ in curves.values())])
        for name, (x, y) in curves.items():
            curves[name] = np.append(x, [longest] * len(x[-1:])), np.append(y, y[-1:])
        if not any(len(x) for x, _ in curves.values()):
            return without_data(axes, title, _NOTHING)
        labelled(axes, title, "wait (below 1 s counts as 1 s)", "share of jobs (%)")
        time_axis(axes, 1, longest, inches(axes)[0])
        axes.set_ylim(0, 100)
        return self._draw(axes, curves, 100.0)

    @names_wrong_types
    def slowdown_by_size(self, ax: Axes | None = None) -> Axes:
        """Draw the mean bounded slowdown of jobs by their share of the machine."""
        means = {name: jobs.groupby("size")["bounded_slowdown"].mean()[::-1] for name, jobs in self._pooled().items()}
        axes = axes_or_new(ax)
        title = self._title("Mean bounded slowdown by job size")
        classes = sorted({size for mean in means.values() for size in mean.index}, reverse=True)
        if not classes:
            return without_data(axes, title, _NOTHING)
        places = {size: place for place, size in enumerate(classes)}
        curves = {name: (mean.index.map(places).to_numpy(), mean.to_numpy()) for name, mean in means.items()}
        labelled(axes, title, "share of the machine that a job takes", "mean bounded slowdown")
        axes.set_xticks(range(len(classes)), [f"≤ 1/{2**k}" if k else "≤ 1" for k in classes])
        axes.set_xlim(-0.5, len(classes) - 0.5)
        top = max(2.0, *(1.1 * y.max(initial=0) for _, y in curves.values()))
        axes.set_yscale("log")
        axes.set_ylim(0.9, top)
        logarithmic_numbers(axes.yaxis, 0.9, top)
        return self._draw(axes, curves, top, steps=False)

    def _title(self, what: str) -> str:
        return f"{what} under {next(iter(self._results))}" if len(self._results) == 1 else what

    def _pooled(self) -> dict[str, pd.DataFrame]:
        """Return the metrics of the jobs that ran in all seeds, with their width class ``size``."""
        pooled = {}
        for name, results in self._results.items():
            parts = [pd.DataFrame(columns=["wait", "bounded_slowdown", "size"], dtype=float)]
            for result in results:
                metrics = job_metrics(result.jobs)
                units = result.jobs.loc[metrics.index, "units"].to_numpy()
                parts.append(metrics.assign(size=width_class(units, capacity_of(result))))
            pooled[name] = pd.concat(parts[1:] or parts)
        return pooled

    def _loads(self, column: str, what: str, label: str, scale: float, ax: Axes | None) -> Axes:
        """Draw a column of :func:`.over_time`."""
        curves = {}
        bins = _BINS if len(self._results) == 1 else _FEWER
        for name, results in self._results.items():
            result = next(iter(results))
            jobs = result.jobs[: len(result.jobs) if len(result.attempts) else 0]
            load = over_time(jobs, result.attempts, capacity_of(result), bins)
            if len(load) and column not in load:
                raise InputError(f"{name}: expected a machine with power, got none")
            idle = result.manifest["machine"].get("idle_watts", 0.0) if column == "watts" else 0.0
            y = (load[column].to_numpy() + idle) * scale if len(load) else np.empty(0)
            curves[name] = np.append(load["begin"], load["end"][-1:]), np.append(y, y[-1:])
        return self._over_time(curves, what, label, 100.0 if scale > 1 else 0.0, ax)

    def _over_time(
        self, curves: dict[str, tuple[FloatArray, FloatArray]], what: str, label: str, highest: float, ax: Axes | None
    ) -> Axes:
        """Draw curves over seconds since the first submission, up to `highest`, or to their own maximum if it is 0."""
        axes = axes_or_new(ax)
        title = self._title(what)
        longest = max((x.max(initial=0) for x, _ in curves.values()), default=0.0)
        if not longest:
            return without_data(axes, title, _NOTHING)
        size, unit = axis_unit(longest)
        curves = {name: (x / size, y) for name, (x, y) in curves.items()}
        labelled(axes, title, f"time since the first submission ({unit})", label)
        axes.set_xlim(0, longest / size)
        top = highest or max([1.0, *(1.02 * y.max(initial=0) for _, y in curves.values())])
        axes.set_ylim(0, top)
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
        return self._draw(axes, curves, top)

    def _draw(
        self, axes: Axes, curves: Mapping[str, tuple[FloatArray, FloatArray]], top: float, *, steps: bool = True
    ) -> Axes:
        """Draw one curve per result, as steps or marked points, with a legend above `top`."""
        handles = []
        for index, (x, y) in enumerate(curves.values()):
            look: dict[str, Any] = {"drawstyle": "steps-post"} if steps else {"marker": marker(index), "markersize": 5}
            handles += axes.plot(x, y, **line_style(index), **look)
            if len(curves) == 1 and steps:
                axes.fill_between(x, y, step="post", color=line_style(0)["color"], alpha=0.15, linewidth=0)
        legend_above(axes, handles, list(curves), top)
        return axes
