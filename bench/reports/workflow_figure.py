"""Runs of workflows as a picture: times over sizes with the best curve, and the ranges of the times."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.workflows import Workflow
from .figures import COLOURS
from .static_figures import _MOST_PANELS, _SETTINGS, _WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kinds of files, and what keeps the time of writing out of them.
KINDS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
_COLUMNS = 2
_LINE, _POINTS, _BIN = COLOURS[5], COLOURS[4], COLOURS[2]
#: With more points than this they are pixels, in SVG and PDF too.
_MANY = 2000
#: Times are on a logarithmic scale where the largest is so many times the least, or more.
_WIDE = 50
#: Axes up to so much, or more, count in k, M, G.
_PREFIXED = 1e5
#: Characters of a name.
_LONGEST = 40


def picture(workflows: Sequence[Workflow], size: str, time: str, kind: str) -> bytes:
    """Return a picture.

    A panel for each workflow, at most twelve, has its runs and the curve of the best class; one below has for each the
    least to the largest time as a line, the 10th to the 90th percentile as a bar, and the median.

    Parameters
    ----------
    workflows
        In their order; at least one.
    size, time
        What the axes are called.
    kind
        One of :data:`KINDS`.
    """
    import matplotlib as mpl  # noqa: PLC0415 - it takes a second to import
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    shown = workflows[:_MOST_PANELS]
    rows, columns = -(-len(shown) // _COLUMNS), min(len(shown), _COLUMNS)
    heights = [2.2 * rows, 0.7 + 0.2 * len(workflows)]
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # glyphs that the font has not
        canvas = Canvas(layout="constrained", figsize=(_WIDTH, sum(heights)))
        FigureCanvasAgg(canvas)
        halves: Any = canvas.subfigures(2, 1, height_ratios=heights)
        above, below = halves
        panels = above.subplots(rows, columns, squeeze=False).ravel()
        for axes in panels[len(shown) :]:
            axes.set_visible(False)
        for axes, one in zip(panels, shown, strict=False):
            _scatter(axes, one, size, time)
        _ranges(below.subplots(), workflows, time)
        if len(shown) < len(workflows):
            above.suptitle(f"runs of the first {len(shown)} of {len(workflows)}", fontsize=9)
        buffer = BytesIO()
        canvas.savefig(buffer, format=kind, **KINDS[kind])
    return buffer.getvalue()


def _cut(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _scatter(axes: Axes, one: Workflow, size: str, time: str) -> None:
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415

    options: dict[str, Any] = {"s": 6, "alpha": 0.5, "linewidths": 0, "rasterized": len(one.sizes) > _MANY}
    axes.scatter(one.sizes, one.times, color=_POINTS, **options)
    title = _cut(one.name)
    if one.fit is not None:
        x = np.linspace(one.sizes.min(), one.sizes.max(), 200)
        axes.plot(x, one.fit.best.times(x), color=_LINE, linewidth=1.3)
        title += f"\n{one.fit.best.complexity}, correlation {one.fit.correlation:.2f}"
    axes.set_title(title, loc="left", fontsize=8)
    axes.set_xlabel(size, fontsize=8)
    axes.set_ylabel(time, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_ylim(bottom=0)
    for axis, values in ((axes.xaxis, one.sizes), (axes.yaxis, one.times)):
        if values.max() >= _PREFIXED:
            axis.set_major_formatter(EngFormatter(sep=""))


def _ranges(axes: Axes, workflows: Sequence[Workflow], time: str) -> None:
    """Draw the first workflow at the top."""
    from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: PLC0415

    table = [one.range for one in workflows]
    low, p10, median, p90, high = (np.array([row[key] for row in table]) for key in table[0])
    places = np.arange(len(table))
    axes.hlines(places, low, high, color="#555555", linewidth=1)
    axes.barh(places, p90 - p10, left=p10, height=0.6, color=_BIN)
    axes.vlines(median, places - 0.3, places + 0.3, color="#000000", linewidth=1.5)
    axes.set_yticks(places, [_cut(one.name) for one in workflows])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    if low.min() > 0 and high.max() / low.min() >= _WIDE:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel(f"{time}: all runs, 10th to 90th percentile, median", fontsize=8)
    axes.tick_params(labelsize=7)
