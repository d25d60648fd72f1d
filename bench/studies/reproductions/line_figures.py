"""Figures of values over x with their intervals, one panel per metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ....simulation.plots.style import WIDTH, beside, line_style, logarithmic_numbers, marker, panels
from .outcome import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_HEIGHT, _ACROSS = 3.0, 2
_BEHIND = "#cccccc"
#: Characters of labels that find room below an axis.
_CHARACTERS = 26


def draw_lines(drawn: Canvas, title: str, drawing: Drawing, data: pd.DataFrame) -> None:
    """Draw one ``panel`` each, two side by side. One legend for all stands under the title."""
    names, subjects = (list(dict.fromkeys(data[column])) for column in ("panel", "subject"))
    across = min(_ACROSS, len(names))
    drawn.set_size_inches(WIDTH, 0.9 + -(-len(names) // across) * _HEIGHT)
    places = panels(drawn, len(names), across)
    for place, name in zip(places, names, strict=True):
        _panel(place, drawing, data[data["panel"] == name], subjects)
        place.set_title(name, loc="left", fontsize=9)
    handles, labels = places[0].get_legend_handles_labels()
    drawn.legend(handles, labels, title=title, loc="outside upper center", ncols=beside(labels), frameon=False)


def _panel(axes: Axes, drawing: Drawing, data: pd.DataFrame, subjects: list[str]) -> None:
    if "counted" in data:
        _counts(axes, data[data["counted"]])
        data = data[~data["counted"]]
    for index, subject in enumerate(subjects):
        if subject not in set(data["subject"]):
            continue
        chosen = data[data["subject"] == subject]
        x, value, low, high = (chosen[column].to_numpy(dtype=float) for column in ("x", "value", "low", "high"))
        axes.errorbar(
            x,
            value,
            [value - low, high - value],
            label=subject,
            marker=marker(index),
            markersize=4,
            capsize=2,
            elinewidth=0.8,
            **line_style(index),
        )
    if drawing.log_x:
        ticks = sorted(set(data["x"]))
        axes.set_xscale("log")
        axes.set_xticks(ticks, _labels(ticks), minor=False)
        axes.minorticks_off()
    if drawing.x_ticks:
        axes.set_xticks(range(len(drawing.x_ticks)), drawing.x_ticks)
    axes.set_xlabel(drawing.x_label)
    axes.set_ylabel(drawing.y_label)
    if drawing.log_y:
        axes.set_yscale("log")
        logarithmic_numbers(axes.yaxis, *axes.get_ylim())
    else:
        axes.set_ylim(bottom=0)


def _labels(ticks: list[float]) -> list[str]:
    """Return tick labels for a logarithmic scale. A label is empty where it would touch the previous one."""
    labels, free_from = [], -math.inf
    for tick in ticks:
        label = f"{tick:,.10g}"
        place = math.log(tick / ticks[0]) / max(math.log(ticks[-1] / ticks[0]), 1e-9)
        width = len(label) / _CHARACTERS
        labels.append(label if place - width / 2 >= free_from else "")
        if labels[-1]:
            free_from = place + width / 2
    return labels


def _counts(axes: Axes, bars: pd.DataFrame) -> None:
    """Draw counts as bars behind the lines. They have their own axis on the right."""
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
