"""Figures of values over x with their intervals, a panel a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..reports.figures import style
from .outcome import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_WIDTH, _HEIGHT, _BESIDE = 6.4, 3.0, 2
_MARKERS = "os^DvPX"
#: Characters of a name from which on there is room for two of them beside each other.
_LONG = 26
_BEHIND = "#cccccc"
_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (9, 3))}


def draw_lines(canvas: Canvas, title: str, drawing: Drawing, data: pd.DataFrame) -> None:
    """Draw a panel for each ``panel``, two beside each other, and one legend for all under the title."""
    names, subjects = (list(dict.fromkeys(data[column])) for column in ("panel", "subject"))
    beside = min(_BESIDE, len(names))
    rows = -(-len(names) // beside)
    canvas.set_size_inches(_WIDTH, 0.9 + rows * _HEIGHT)
    places = canvas.subplots(rows, beside, squeeze=False).ravel()
    for place, name in zip(places, names, strict=False):
        _panel(place, drawing, data[data["panel"] == name], subjects)
        place.set_title(name, loc="left", fontsize=9)
    for place in places[len(names) :]:
        place.set_visible(False)
    handles, labels = places[0].get_legend_handles_labels()
    columns = 4 if max(map(len, subjects)) < _LONG else 2
    canvas.legend(handles, labels, title=title, loc="outside upper center", ncols=columns, frameon=False)


def _panel(axes: Axes, drawing: Drawing, data: pd.DataFrame, subjects: list[str]) -> None:
    if "counted" in data:
        _counts(axes, data[data["counted"]])
        data = data[~data["counted"]]
    for index, subject in enumerate(subjects):
        if subject not in set(data["subject"]):
            continue
        chosen = data[data["subject"] == subject]
        x, value, low, high = (chosen[column].to_numpy(dtype=float) for column in ("x", "value", "low", "high"))
        colour, dash = style(index)
        axes.errorbar(
            x, value, [value - low, high - value], label=subject, color=colour, linestyle=_DASHES[dash], linewidth=1.3,
            marker=_MARKERS[index % len(_MARKERS)], markersize=4, capsize=2, elinewidth=0.8,
        )  # fmt: skip
    if drawing.log_x:
        ticks = sorted(set(data["x"]))
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.minorticks_off()
    axes.set_xlabel(drawing.x_label)
    axes.set_ylabel(drawing.y_label)
    if drawing.log_y:
        _logarithmic(axes)
    else:
        axes.set_ylim(bottom=0)


def _logarithmic(axes: Axes) -> None:
    """Put plain numbers at the powers of ten."""
    from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: PLC0415 - it takes a second to import

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _counts(axes: Axes, bars: pd.DataFrame) -> None:
    """Draw counts as bars behind the lines, with an axis of their own on the right."""
    if bars.empty:
        return
    behind = axes.twinx()
    named = bars["subject"].iloc[0]
    behind.bar(bars["x"], bars["value"], 0.6 * bars["x"].diff().min() if len(bars) > 1 else 0.6, color=_BEHIND)
    axes.fill_between([], [], color=_BEHIND, label=named)
    behind.set_ylabel(named)
    behind.grid(visible=False)
    behind.spines["right"].set_visible(True)
    behind.set_zorder(axes.get_zorder() - 1)
    axes.patch.set_visible(False)
