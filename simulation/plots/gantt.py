"""Draw the schedule as bars, or as areas if there are too many attempts for bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from ...base import InputError, IntArray, seconds_of, shown
from ..metrics import Records
from .axes import axes_or_new, labelled, legend_above, without_data
from .curves import busy_time, capacity_of, stretches
from .style import COLOURS, axis_unit, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour = Literal["user", "queue", "wait"]
#: Most attempts drawn as bars; time bins of areas.
MOST_BARS, BINS = 2500, 640
#: Users or queues with a colour of their own; the others share one.
_OWN = 7
_REST = "#bbbbbb"
#: Longest wait of a class, seconds, its name and colour.
_WAITS = (
    (60, "wait < 1 min", "#fee8c8"),
    (600, "< 10 min", "#fdbb84"),
    (3600, "< 1 h", "#fc8d59"),
    (6 * 3600, "< 6 h", "#e34a33"),
    (86400, "< 1 d", "#b30000"),
    (np.inf, "1 d or more", "#4d0013"),
)


def gantt(
    result: Records, title: str, window: tuple[float | str, float | str] | None, color: Colour, ax: Axes | None
) -> Axes:
    """Draw the schedule, see :meth:`.ResultPlots.gantt`."""
    if color not in get_args(Colour):
        raise InputError(f"color: expected one of {', '.join(get_args(Colour))}, got {shown(color)}")
    stays = result.attempts
    stays = stays[(stays["end"] > stays["start"]) & (stays["units"] > 0)] if len(stays) else stays
    if not len(stays):
        return without_data(axes_or_new(ax), title, "no job has run")
    first = int(result.jobs["submit"].min())
    stays = stays.assign(start=stays["start"] - first, end=stays["end"] - first)
    longest = int(stays["end"].max())
    begin, end = (0, longest) if window is None else _window(window, longest)
    axes = axes_or_new(ax)
    stays = stays[(stays["start"] < end) & (stays["end"] > begin)].sort_values("start", kind="stable")
    names, colours, codes = _classes(result, stays, color, begin, end)
    size, unit = axis_unit(end - begin)
    machine = result.manifest["machine"]
    top = capacity_of(result)
    what = f"{machine['primary']}s in use"
    if len(stays) > MOST_BARS:
        title = f"{title}: {len(stays):,} stays, as areas"
        _areas(axes, stays, codes, colours, (begin, end), size)
    else:
        _bars(axes, stays, [colours[code] for code in codes], top, machine["nodes"], size)
        what, top = ("node", machine["nodes"]) if machine["nodes"] > 1 else (what, top)
    labelled(axes, title, f"time since the first submission ({unit})", what)
    axes.grid(visible=False)
    axes.set_xlim(begin / size, end / size)
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    axes.set_ylim(0, top)
    axes.axhline(top, color="#555555", linewidth=0.8)
    from matplotlib.patches import Patch  # noqa: PLC0415

    handles = [Patch(facecolor=colour, edgecolor="#555555", linewidth=0.3) for colour in colours]
    legend_above(axes, handles, names, top, least=1)
    return axes


def _window(window: tuple[float | str, float | str], longest: int) -> tuple[int, int]:
    """Return a window in seconds.

    Raises
    ------
    InputError
        If it is no window, or no part of the schedule is in it.
    """
    expected = "window: expected (from, to) after the first submission, in seconds or as ('1d', '36h')"
    try:
        first, last = window
        begin = seconds_of(first)
        end = seconds_of(last)
    except (TypeError, ValueError):
        raise InputError(f"{expected}, got {shown(window)}") from None
    if not begin < end:
        raise InputError(f"{expected}, the first below the second; got {shown(window)}")
    if begin >= longest:
        raise InputError(f"window: expected a part of 0 to {longest} s, where the schedule is, got {begin} to {end} s")
    return begin, min(end, longest)


def _classes(
    result: Records, stays: pd.DataFrame, color: Colour, begin: int, end: int
) -> tuple[list[str], list[str], IntArray]:
    """Return names and colours of the classes of attempts, and the class of each attempt."""
    jobs = result.jobs
    rows = pd.Index(jobs["id"]).get_indexer(pd.Index(stays["id"]))
    if color == "wait":
        waits = jobs["wait"].to_numpy()[rows]
        codes = np.searchsorted([most for most, *_ in _WAITS], waits, side="right")
        return [name for _, name, _ in _WAITS], [colour for *_, colour in _WAITS], codes
    inside = np.minimum(stays["end"], end) - np.maximum(stays["start"], begin)
    known, texts = pd.factorize(jobs[color].astype(str).to_numpy()[rows])
    work = np.bincount(known, weights=inside * stays["units"], minlength=len(texts))
    order = np.argsort(-work, kind="stable")
    codes = np.minimum(np.argsort(order)[known], _OWN)
    names = [f"{color} {'unknown' if text in ('', '-1') else text}" for text in texts[order[:_OWN]]]
    colours = [*COLOURS[1:], COLOURS[0]][: len(names)]
    if len(texts) > _OWN:
        names = [*names, f"{len(texts) - _OWN:,} other {color}s"]
        colours = [*colours, _REST]
    return names, colours, codes


def _areas(
    axes: Axes, stays: pd.DataFrame, codes: IntArray, colours: Sequence[str], window: tuple[int, int], size: float
) -> None:
    """Draw the share of each class over time, stacked."""
    edges = np.linspace(*window, BINS + 1)
    start, end, units = (stays[name].to_numpy() for name in ("start", "end", "units"))
    low = np.zeros(BINS + 1)
    for code, colour in enumerate(colours):
        own = codes == code
        used = busy_time(edges, start[own], end[own], units[own]) / np.diff(edges)
        high = low + np.append(used, used[-1])
        axes.fill_between(edges / size, low, high, step="post", color=colour, linewidth=0)
        low = high


def _bars(axes: Axes, stays: pd.DataFrame, colours: Sequence[str], capacity: int, nodes: int, size: float) -> None:
    """Draw each attempt as a bar, or as several if its ranges do not touch."""
    from matplotlib.collections import PolyCollection  # noqa: PLC0415

    start = stays["start"].to_numpy() / size
    end = stays["end"].to_numpy() / size
    rows, first, last, per_node = stretches(stays, capacity, nodes)
    left = start[rows]
    right = end[rows]
    low = first / per_node
    high = last / per_node
    corners = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    look: dict[str, Any] = {"edgecolors": "white" if len(rows) <= MOST_BARS / 2 else "none", "linewidths": 0.3}
    axes.add_collection(PolyCollection(list(corners), facecolors=[colours[row] for row in rows], **look))
