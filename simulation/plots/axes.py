"""What every plot of a result does with its Axes: make or check it, label it, fit a legend into it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base import InputError
from ...base.checks import shown
from .style import beside, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches of a new figure, and points of a legend's letters.
SIZE, LETTERS = (8.0, 4.2), 8
#: Inches that a row of a legend is high and a letter wide, and the letters that the mark before a name takes.
_ROW, _LETTER, _MARK = LETTERS * 1.6 / 72, LETTERS * 0.58 / 72, 8
#: Ticks of a logarithmic time axis, seconds.
_TIMES = {
    1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 6 * 3600: "6 h", 86400: "1 d", 7 * 86400: "7 d",
    60 * 86400: "60 d", 730 * 86400: "2 y", 7300 * 86400: "20 y",
}  # fmt: skip


def axes_or_new(given: Axes | None) -> Axes:
    """Return the Axes to draw in, that of a new figure if none is given.

    Raises
    ------
    InputError
        If it is no Axes.
    """
    from matplotlib.axes import Axes  # noqa: PLC0415 - it takes a second to import

    if given is None:
        from matplotlib import pyplot as plt  # noqa: PLC0415

        return plt.subplots(figsize=SIZE, layout="constrained")[1]
    if not isinstance(given, Axes):
        raise InputError(f"ax: expected one matplotlib Axes, such as plt.subplots()[1], got {shown(type(given))}")
    return given


def inches(axes: Axes) -> tuple[float, float]:
    """Return width and height of the Axes."""
    box, figure = axes.get_window_extent(), axes.get_figure(root=True)
    assert figure is not None
    return box.width / figure.dpi, box.height / figure.dpi


def labelled(axes: Axes, title: str, x: str, y: str) -> Axes:
    """Write a title, as large as fits, and the labels of both axes, and draw a grid."""
    title = shortened(title, 90)
    axes.set_title(title, parse_math=False, fontsize=min(12.0, max(6.0, inches(axes)[0] * 72 / 0.55 / len(title))))
    axes.set_xlabel(x, parse_math=False)
    axes.set_ylabel(y, parse_math=False)
    axes.grid(color="#dddddd")
    axes.set_axisbelow(True)
    return axes


def without_data(axes: Axes, title: str, why: str) -> Axes:
    """Say in an empty plot why there is nothing to show."""
    labelled(axes, title, "", "")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)
    return axes


def legend_above(axes: Axes, handles: Sequence[Any], names: Sequence[str], top: float, least: int = 2) -> None:
    """Leave room above `top` for a legend, with as many names beside each other as fit.

    It has at most 40% of the height; what finds no room in it is counted in its last entry. Fewer than `least` names
    need no legend; the title says what is shown.
    """
    share = 0.04
    if len(names) >= least:
        width, height = inches(axes)
        letters = int(width / _LETTER)
        short = [shortened(name, max(6, min(letters - _MARK, 40))) for name in names]
        across = beside(short, letters, _MARK)
        most = max(1, int(0.4 * height / _ROW)) * across
        if len(short) > most:
            short = [*short[: most - 1], f"{len(short) - most + 1} more"]
        share = min(0.6, (math.ceil(len(short) / across) * _ROW + 0.15) / height)
        legend = axes.legend(
            handles[: len(short)], ["x"] * len(short), loc="upper left", ncols=across, fontsize=LETTERS, frameon=False,
            borderpad=0.2,
        )  # fmt: skip
        for text, name in zip(legend.get_texts(), short, strict=True):
            text.set_text(name)  # afterwards, as names that begin with _ would be left out
            text.set_parse_math(False)
    low = axes.get_ylim()[0]
    logarithmic = axes.get_yscale() == "log"
    span = (math.log(top / low) if logarithmic else top - low) / (1 - share)
    axes.set_ylim(low, low * math.exp(span) if logarithmic else low + span)
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= top * (1 + 1e-9)])


def time_ticks(axes: Axes, longest: float) -> None:
    """Make the x axis a logarithmic one of times from 1 s to `longest` seconds, with the ticks that fit."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415

    axes.set_xscale("log")
    axes.set_xlim(1, longest)
    times = [time for time in _TIMES if time <= longest]
    times = times[:: math.ceil(len(times) / max(2.0, inches(axes)[0] / 0.55))]
    axes.set_xticks(times, [_TIMES[time] for time in times])
    axes.xaxis.set_minor_locator(NullLocator())
