"""Draw run times, the requests for them, and the comparison of the ways to choose requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...analysis.requests import Advice
from ...base import write_whole
from ...simulation.plots.style import COLOURS, bar_end, canvas, clipped, cut_bars, image, time_axis
from .number_formats import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("png", "svg")
#: More requests than these are drawn without their numbers.
_MOST_NUMBERED = 12


def draw_advice(advice: Advice, run_times: NDArray[np.float64], path: Path) -> None:
    """Draw run times and requests above, and times to success below, into a .png or .svg file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with canvas(6.0) as drawn:
        above, below = drawn.subplots(2, 1, height_ratios=(3, 2))
        requests = count(len(advice.sequence.values), "request")
        drawn.suptitle(f"{count(len(run_times), 'run')} and the {requests} of least expected time", fontsize=10)
        _runs(above, advice, run_times)
        _times(below, advice)
        write_whole(path, image(drawn, path.suffix.lower()[1:]))


def _runs(axes: Axes, advice: Advice, run_times: NDArray[np.float64]) -> None:
    axes.ecdf(run_times, color=COLOURS[0], linewidth=1.3, label="runs that are no longer")
    requests = advice.sequence.reached.tolist()
    for number, request in enumerate(requests, 1):
        label = "" if number > 1 else "requests, in their order; dots: runs that they cover"
        axes.axvline(request, color=COLOURS[5], linewidth=1.1, linestyle=(0, (5, 2)), label=label)
        axes.plot(request, (run_times <= request).mean(), "o", color=COLOURS[5], markersize=5, clip_on=False)
        if len(requests) <= _MOST_NUMBERED:
            axes.annotate(
                str(number),
                (request, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                color=COLOURS[5],
            )
    axes.set_ylabel(f"share of the {len(run_times):,} runs")
    axes.set_ylim(0, 1.02)
    time_axis(axes, 0.9 * min(run_times.min(), requests[0]), 1.1 * max(run_times.max(), requests[-1]))
    axes.set_xlabel("run time, logarithmic")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1.04), ncols=2, frameon=False)


def _times(axes: Axes, advice: Advice) -> None:
    kinds = [("all runs", COLOURS[2], "seen"), ("the second half, requests made from the first", COLOURS[1], "unseen")]
    kinds = [kind for kind in kinds if any(getattr(row, kind[2]) for row in advice.rows)]
    height = 0.8 / len(kinds)
    end = clipped([fared.time for row in advice.rows for fared in (row.seen, row.unseen) if fared is not None])
    for place, (label, colour, name) in enumerate(kinds):
        for index, row in enumerate(advice.rows):
            fared = getattr(row, name)
            if fared is None:
                continue
            at = index + (place - (len(kinds) - 1) / 2) * height
            waste = min(fared.waste, fared.time)
            axes.barh(at, fared.time, height, color=colour, label="" if index else label)
            axes.barh(
                at,
                waste,
                height,
                left=fared.time - waste,
                color="none",
                edgecolor="#555555",
                hatch="///",
                linewidth=0,
                label="waste" if index == place == 0 else "",
            )
            bar_end(axes, at, fared.time, end)
    axes.invert_yaxis()
    names = [row.strategy.name for row in advice.rows]
    cut_bars(axes, names, end, "mean time to success, waits in the queue not counted")
