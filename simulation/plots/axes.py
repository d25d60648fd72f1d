"""Make or check the Axes of a plot, label them, and fit a legend into them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base import InputError, shown
from .style import beside, marker, shortened, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Inches of a new figure, and points of the letters of a legend.
SIZE, LETTERS = (8.0, 4.2), 8
#: Inches of a legend's row and of a letter, and letters for the mark before a name.
_ROW = LETTERS * 1.6 / 72
_LETTER = LETTERS * 0.58 / 72
_MARK = 8


def axes_or_new(given: Axes | None) -> Axes:
    """Return the Axes to draw in; those of a new figure if none are given.

    Raises
    ------
    InputError
        If `given` is no Axes.
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
    box = axes.get_window_extent()
    figure = axes.get_figure(root=True)
    assert figure is not None
    return box.width / figure.dpi, box.height / figure.dpi


def labelled(axes: Axes, title: str, x: str, y: str) -> Axes:
    """Set a title, as large as fits, and the labels of both axes, and draw a grid."""
    title = shortened(title, 90)
    axes.set_title(title, parse_math=False, fontsize=min(12.0, max(6.0, inches(axes)[0] * 72 / 0.55 / len(title))))
    axes.set_xlabel(x, parse_math=False)
    axes.set_ylabel(y, parse_math=False)
    axes.grid(color="#dddddd")
    axes.set_axisbelow(True)
    return axes


def without_data(axes: Axes, title: str, why: str) -> Axes:
    """Show the reason in an empty plot."""
    labelled(axes, title, "", "")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)
    return axes


def legend_above(axes: Axes, handles: Sequence[Any], names: Sequence[str], top: float, least: int = 2) -> None:
    """Leave room above `top` for a legend, with as many names side by side as fit.

    It has at most 40% of the height. Its last entry counts the names without room. Fewer than `least` names need no
    legend: the title names them.
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
            handles[: len(short)],
            ["x"] * len(short),
            loc="upper left",
            ncols=across,
            fontsize=LETTERS,
            frameon=False,
            borderpad=0.2,
        )
        for text, name in zip(legend.get_texts(), short, strict=True):
            text.set_text(name)  # later, since names that begin with _ would be left out
            text.set_parse_math(False)
    low = axes.get_ylim()[0]
    logarithmic = axes.get_yscale() == "log"
    span = (math.log(top / low) if logarithmic else top - low) / (1 - share)
    axes.set_ylim(low, low * math.exp(span) if logarithmic else low + span)
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= top * (1 + 1e-9)])


def draw_ratios(axes: Axes, rows: pd.DataFrame, places: Sequence[int]) -> None:
    """Draw ratios and their intervals, the first at the top.

    Parameters
    ----------
    axes
        Axes to draw in.
    rows
        ``ratio, ratio_low, ratio_high``, NaN if undefined; the index has the names.
    places
        Indices of colours and marks.
    """
    for row, (index, record) in enumerate(zip(places, rows.to_dict("records"), strict=True)):
        colour = style(index)[0]
        if math.isfinite(record["ratio_low"]):
            axes.plot([record["ratio_low"], record["ratio_high"]], [row, row], color=colour, linewidth=1.7)
        axes.plot([record["ratio"]], [row], color=colour, marker=marker(index), markersize=6)
    axes.axvline(1, color="#555555", linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_yticks(range(len(rows)), [shortened(str(name), 40) for name in rows.index], parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
