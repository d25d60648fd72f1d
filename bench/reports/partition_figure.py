"""The figure of a choice of partition size: the availability list, and the requests as rectangles in it."""

from __future__ import annotations

from pathlib import Path

from ...analysis.partition_sizes import MachineMoment, SizeAdvice
from ...simulation.plots.style import COLOURS, axis_unit, canvas, image


def draw_sizes(moment: MachineMoment, advice: SizeAdvice, path: Path) -> None:
    """Draw what is free when, and the requests where they would run; into a .png or .svg file.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    shown = [option for option in advice.options if option is not None]
    last = max(option.turnaround for option in shown) * 1.05
    length, unit = axis_unit(last)
    steps = [step for step in moment.profile.steps() if step[0] - moment.now <= last]
    times = [max(begin - moment.now, 0) / length for begin, _, _ in steps]
    frees = [free for _, _, free in steps]
    with canvas(3.6) as drawn:
        axes = drawn.subplots()
        axes.plot([*times, last / length], [*frees, frees[-1]], drawstyle="steps-post", color="#555555", label="free")
        axes.fill_between([*times, last / length], [*frees, frees[-1]], step="post", color="#555555", alpha=0.15)
        for option in sorted(shown, key=lambda option: -option.request.processors):
            chosen = option == advice.choice
            corner = ((option.start - moment.now) / length, 0.0)
            size = option.request.walltime / length, option.request.processors
            colour = COLOURS[1] if chosen else COLOURS[0]
            filling, alpha = (colour, 0.6) if chosen else ("none", 1.0)
            label = f"the choice, {option.request.processors:,} processors" if chosen else ""
            axes.add_patch(
                Rectangle(corner, *size, linewidth=1.2, label=label, edgecolor=colour, facecolor=filling, alpha=alpha)
            )
        axes.set_xlim(0, last / length)
        axes.set_ylim(0, max([*frees, *(option.request.processors for option in shown)]) * 1.08)
        axes.set_xlabel(f"time from now ({unit}); outlined: the other requests, where they would run")
        axes.set_ylabel("processors")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
        path.write_bytes(image(drawn, path.suffix.lower()[1:]))
