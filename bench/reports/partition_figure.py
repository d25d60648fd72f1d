"""Draw the choice of a partition size: the requests, and the free processors around the chosen one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...analysis.partition_sizes import MachineMoment, SizeAdvice
from ...base import time_text, write_whole
from ...simulation.plots.style import COLOURS, axis_unit, bar_end, canvas, clipped, cut_bars, image

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_sizes(moment: MachineMoment, advice: SizeAdvice, path: Path) -> None:
    """Draw the turnarounds of the requests, and the free processors over time, into a .png or .svg file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    count = sum(option is not None for option in advice.options)
    with canvas(3.6 + 0.25 * count) as drawn:
        above, below = drawn.subplots(2, 1, height_ratios=(0.6 + 0.25 * count, 2.4))
        chosen = advice.choice
        told = f"{chosen.request.processors:,} processors, {time_text(chosen.turnaround)} to the end"
        drawn.suptitle(f"The choice: {told}", fontsize=10)
        _turnarounds(above, moment, advice)
        _machine(below, moment, advice)
        write_whole(path, image(drawn, path.suffix.lower()[1:]))


def _turnarounds(axes: Axes, moment: MachineMoment, advice: SizeAdvice) -> None:
    shown = [option for option in advice.options if option is not None]
    end = clipped([option.turnaround for option in shown])
    for place, option in enumerate(shown):
        wait = option.start - moment.now
        chosen = option == advice.choice
        first = place == 0
        axes.barh(place, wait, color="none", edgecolor="#555555", hatch="///", linewidth=0, label="wait" * first)
        colour = COLOURS[1] if chosen else COLOURS[2]
        label = "run, the choice" if chosen else "run"
        known = axes.get_legend_handles_labels()[1]
        axes.barh(place, option.turnaround - wait, left=wait, color=colour, label="" if label in known else label)
        bar_end(axes, place, option.turnaround, end)
    axes.set_ylabel("processors")
    cut_bars(axes, [f"{option.request.processors:,}" for option in shown], end, "time to the end of each request")


def _machine(axes: Axes, moment: MachineMoment, advice: SizeAdvice) -> None:
    """Draw the free processors up to twice the turnaround of the choice. Add the requests that end by then."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    last = 2.0 * advice.choice.turnaround
    length, unit = axis_unit(last)
    steps = [step for step in moment.profile.steps() if step[0] - moment.now <= last]
    times = [max(begin - moment.now, 0) / length for begin, _, _ in steps]
    frees = [free for _, _, free in steps]
    axes.plot(
        [*times, last / length],
        [*frees, frees[-1]],
        drawstyle="steps-post",
        color="#555555",
        marker="o",
        markersize=3,
        label="free processors",
    )
    others = [option for option in advice.options if option is not None and option.turnaround <= last]
    for option in sorted(others, key=lambda option: -option.request.processors):
        chosen = option == advice.choice
        corner = ((option.start - moment.now) / length, 0.0)
        size = option.request.walltime / length, option.request.processors
        colour = COLOURS[1] if chosen else COLOURS[0]
        label = "the choice" if chosen else "other requests that end by then"
        label = "" if label in axes.get_legend_handles_labels()[1] else label
        filling, alpha = (colour, 0.6) if chosen else ("none", 1.0)
        axes.add_patch(
            Rectangle(corner, *size, linewidth=1.2, label=label, edgecolor=colour, facecolor=filling, alpha=alpha)
        )
    axes.set_xlim(0, last / length)
    axes.set_ylim(0, max([*frees, *(option.request.processors for option in others)]) * 1.08)
    axes.set_xlabel(f"time from now ({unit}), up to twice that of the choice")
    axes.set_ylabel("processors")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
