"""The figure of run times, the requests for them, and how the ways of choosing these fare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...analysis.requests import Advice
from ...simulation.plots.style import COLOURS, axis_unit, canvas, image

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("png", "svg")
#: More requests than these are drawn without their numbers.
_MOST_NUMBERED = 12


def draw_advice(advice: Advice, run_times: NDArray[np.float64], path: Path) -> None:
    """Draw the shares of run times and the requests above, the times to success below; into a .png or .svg file.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    length, unit = axis_unit(advice.sequence.values[-1])
    with canvas(5.2) as drawn:
        above, below = drawn.subplots(2, 1, height_ratios=(3, 2))
        _runs(above, advice, run_times / length, length)
        _times(below, advice, length)
        above.set_xlabel(f"run time ({unit}); dashed: requests")
        below.set_xlabel(f"time to success ({unit}), mean over the runs; hatched: waste")
        path.write_bytes(image(drawn, path.suffix.lower()[1:]))


def _runs(axes: Axes, advice: Advice, run_times: NDArray[np.float64], length: int) -> None:
    axes.ecdf(run_times, color=COLOURS[0], linewidth=1.3)
    requests = (advice.sequence.reached / length).tolist()
    for number, request in enumerate(requests, 1):
        axes.axvline(request, color=COLOURS[5], linewidth=1.1, linestyle=(0, (5, 2)))
        if len(requests) <= _MOST_NUMBERED:
            axes.annotate(
                str(number), (request, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2),
                textcoords="offset points", ha="center", color=COLOURS[5],
            )  # fmt: skip
    axes.set_ylabel(f"share of the {len(run_times):,} runs")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(left=0)


def _times(axes: Axes, advice: Advice, length: int) -> None:
    kinds = [("all runs", COLOURS[2], "seen"), ("the second half, requests made from the first", COLOURS[1], "unseen")]
    kinds = [kind for kind in kinds if any(getattr(row, kind[2]) for row in advice.rows)]
    height = 0.8 / len(kinds)
    for place, (label, colour, name) in enumerate(kinds):
        for index, row in enumerate(advice.rows):
            fared = getattr(row, name)
            if fared is None:
                continue
            at = index + (place - (len(kinds) - 1) / 2) * height
            time, waste = fared.time / length, min(fared.waste, fared.time) / length
            axes.barh(at, time, height, color=colour, label="" if index else label)
            axes.barh(at, waste, height, left=time - waste, color="none", edgecolor="#555555", hatch="///", linewidth=0)
    axes.set_yticks(range(len(advice.rows)), [row.strategy.name for row in advice.rows])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
