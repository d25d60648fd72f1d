"""Draw runs of workflows: times over sizes with the best curve, and the ranges of the times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.workflows import Workflow
from ...simulation.plots.style import COLOURS, KINDS, MOST_PANELS, canvas, image, panels, plain_numbers, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["KINDS", "picture"]

_COLUMNS = 2
_LINE = COLOURS[5]
_POINTS = COLOURS[4]
_BIN = COLOURS[2]
#: With more points than this they are pixels, also in SVG and PDF.
_MANY = 2000
#: Times are on a logarithmic scale if the largest is at least this many times the least.
_WIDE = 50
#: Axes with values from here on use k, M, G.
_PREFIXED = 1e5
#: Characters of a name.
_LONGEST = 40


def picture(workflows: Sequence[Workflow], size: str, time: str, kind: str) -> bytes:
    """Return a picture.

    At most twelve workflows have a panel with their runs and the curve of the best class. A panel below shows the range
    of each workflow. A line spans all times, a bar the 10th to the 90th percentile, and a mark is the median.

    Parameters
    ----------
    workflows
        In their order; at least one.
    size, time
        Labels of the axes.
    kind
        One of :data:`KINDS`.
    """
    shown = workflows[:MOST_PANELS]
    across = min(len(shown), _COLUMNS)
    heights = [2.2 * -(-len(shown) // across), 0.7 + 0.2 * len(workflows)]
    with canvas(sum(heights)) as drawn:
        halves: Any = drawn.subfigures(2, 1, height_ratios=heights)
        above, below = halves
        for axes, workflow in zip(panels(above, len(shown), across), shown, strict=True):
            _scatter(axes, workflow, size, time)
        _ranges(below.subplots(), workflows, time)
        if len(shown) < len(workflows):
            above.suptitle(f"runs of the first {len(shown)} of {len(workflows)}", fontsize=9)
        return image(drawn, kind)


def _scatter(axes: Axes, workflow: Workflow, size: str, time: str) -> None:
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415

    options: dict[str, Any] = {"s": 6, "alpha": 0.5, "linewidths": 0, "rasterized": len(workflow.sizes) > _MANY}
    axes.scatter(workflow.sizes, workflow.times, color=_POINTS, **options)
    title = shortened(workflow.name, _LONGEST)
    if workflow.fit is not None:
        x = np.linspace(workflow.sizes.min(), workflow.sizes.max(), 200)
        axes.plot(x, workflow.fit.best.times(x), color=_LINE, linewidth=1.3)
        title += f"\n{workflow.fit.best.complexity}, correlation {workflow.fit.correlation:.2f}"
    axes.set_title(title, loc="left", fontsize=8)
    axes.set_xlabel(size, fontsize=8)
    axes.set_ylabel(time, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_ylim(bottom=0)
    for axis, values in ((axes.xaxis, workflow.sizes), (axes.yaxis, workflow.times)):
        if values.max() >= _PREFIXED:
            axis.set_major_formatter(EngFormatter(sep=""))


def _ranges(axes: Axes, workflows: Sequence[Workflow], time: str) -> None:
    """Draw the ranges, the first workflow at the top."""
    table = [workflow.range for workflow in workflows]
    low, p10, median, p90, high = (np.array([row[key] for row in table]) for key in table[0])
    places = np.arange(len(table))
    axes.hlines(places, low, high, color="#555555", linewidth=1)
    axes.barh(places, p90 - p10, left=p10, height=0.6, color=_BIN)
    axes.vlines(median, places - 0.3, places + 0.3, color="#000000", linewidth=1.5)
    axes.set_yticks(places, [shortened(workflow.name, _LONGEST) for workflow in workflows])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    if low.min() > 0 and high.max() / low.min() >= _WIDE:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
    plain_numbers(axes.xaxis)
    axes.set_xlabel(f"{time}: all runs, 10th to 90th percentile, median", fontsize=8)
    axes.tick_params(labelsize=7)
