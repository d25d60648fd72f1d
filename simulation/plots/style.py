"""Style of all figures, and a way to draw without a display and without global state."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...base import time_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Canvas
    from numpy.typing import NDArray

#: Okabe and Ito's colours without yellow, which has little contrast on white, and dashes: 35 distinct pairs.
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
#: Colours and hatches of the run-time classes in a schedule.
CLASS_STYLE = {"< 1 h": ("#56B4E9", ""), "1-5 h": ("#E69F00", "/"), "> 5 h": ("#009E73", "x")}
#: Inches.
WIDTH = 6.4
#: Characters across a figure for a legend, and those of a name's line.
_CHARACTERS, _HANDLE = 90, 6
#: Numbers to show between powers of ten, by the ratio of the ends of the axis.
_BETWEEN: Mapping[float, tuple[float, ...]] = {
    10.0: (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    500.0: (1.0, 2.0, 5.0),
    math.inf: (1.0,),
}
#: Units of time axes: seconds and name.
_UNITS = ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"))
#: Durations to show on a logarithmic axis, seconds.
_TIMES = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400, 30 * 86400, 365 * 86400)
#: A value this many times the next smaller one is cut off.
_SQUEEZED = 3.0
#: Most panels of an image; the page and the CSV have the rest.
MOST_PANELS = 12
#: Kinds of files: options for writing them, without the time of writing.
KINDS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
_PATTERNS = {
    "solid": (0, ()),
    "dash": (0, (5, 2)),
    "dot": (0, (1, 1.5)),
    "dashdot": (0, (5, 1.5, 1, 1.5)),
    "longdash": (0, (9, 3)),
}
_MARKERS = "os^DvPX"
_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.hashsalt": "hpcdispatch",
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.4,
    "axes.formatter.useoffset": False,
}


def axis_unit(longest: float) -> tuple[int, str]:
    """Return the unit of a time axis, seconds and name: the largest that fits twice into `longest`."""
    return next(unit for unit in _UNITS if longest >= 2 * unit[0] or unit[0] == 1)


def style(index: int) -> tuple[str, str]:
    """Return colour and dash of the contender with an index."""
    return COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]


def line_style(index: int) -> dict[str, Any]:
    """Return colour, dash and width of the line with an index, for matplotlib."""
    colour, dash = style(index)
    return {"color": colour, "linestyle": _PATTERNS[dash], "linewidth": 1.3}


def marker(index: int) -> str:
    """Return the marker with an index."""
    return _MARKERS[index % len(_MARKERS)]


@contextmanager
def canvas(height: float = 0.0) -> Iterator[Canvas]:
    """Yield an empty figure of a height in inches. Draw and write it within the context."""
    import matplotlib as mpl  # noqa: PLC0415 - it takes a second to import
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # glyphs missing in the font
        made = Figure(layout="constrained", figsize=(WIDTH, height) if height else None)
        FigureCanvasAgg(made)
        yield made


def image(drawn: Canvas, kind: str) -> bytes:
    """Return a figure as one of :data:`KINDS`. Repeated calls give the same bytes. The first one lays it out."""
    if drawn.get_layout_engine() is not None:  # matplotlib would lay it out and draw it twice for each kind.
        drawn.draw_without_rendering()
        drawn.set_layout_engine(None)
    buffer = BytesIO()
    drawn.savefig(buffer, format=kind, **KINDS[kind])
    return buffer.getvalue()


def panels(drawn: Canvas, number: int, across: int) -> NDArray[Any]:
    """Return places for `number` panels, `across` of them side by side. Unused places are hidden."""
    places: NDArray[Any] = drawn.subplots(-(-number // across), across, squeeze=False).ravel()
    for place in places[number:]:
        place.set_visible(False)
    return places[:number]


def plain_numbers(axis: Axis) -> None:
    """Write numbers in full, with commas, and only at the large ticks."""
    from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: PLC0415

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def logarithmic_numbers(axis: Axis, low: float, high: float) -> None:
    """Write numbers above 0 in full at powers of ten. A smaller range of values has more numbers between them."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415

    between = next(subs for most, subs in _BETWEEN.items() if high < most * low or most == math.inf)
    axis.set_major_locator(LogLocator(subs=between, numticks=12))
    plain_numbers(axis)


def time_axis(axes: Axes, low: float, high: float, inches: float = WIDTH) -> None:
    """Make x a logarithmic axis of seconds from `low` to `high`, with durations such as ``1m`` and ``4h``.

    As many durations are shown as fit into its width, `inches`.
    """
    from matplotlib.ticker import NullLocator  # noqa: PLC0415

    low, high = max(low, 0.5), max(high, 1.0)
    axes.set(xscale="log", xlim=(low, high))
    places: list[float] = [place for place in _TIMES if low <= place <= high] or [low, high]
    few = places[:: math.ceil(len(places) / max(2.0, inches / 0.55))]
    axes.set_xticks(few, [time_text(place) for place in few])
    axes.xaxis.set_minor_locator(NullLocator())


def cut_bars(axes: Axes, names: Sequence[str], end: float, label: str) -> None:
    """Make y an axis of `names`, and x one of bars from 0 to `end`. Longer bars are cut."""
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(0, 1.15 * end)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.set_xlabel(f"{label}; (cut): the bar goes on")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)


def bar_end(axes: Axes, place: float, seconds: float, end: float) -> None:
    """Write the length of a bar of :func:`cut_bars` behind it."""
    cut = " (cut)" if seconds > end else ""
    axes.text(min(seconds, end), place, f" {time_text(seconds)}{cut}", va="center", fontsize=7)


def clipped(values: Sequence[float]) -> float:
    """Return the end of an axis from 0. It is the largest value, or less if that would hide other values."""
    ordered = sorted(values)
    return next((low for low, high in pairwise(ordered) if low > 0 and high > _SQUEEZED * low), ordered[-1])


def shortened(name: str, most: int = 60) -> str:
    """Return a name in one line of at most `most` characters. A longer one ends with an ellipsis."""
    name = " ".join(name.split())
    return name if len(name) <= most else f"{name[: most - 1]}…"


def beside(names: Sequence[str], characters: int = _CHARACTERS, handle: int = _HANDLE) -> int:
    """Return how many names of a legend stand side by side: at most four, in even rows."""
    most = max(1, min(4, characters // (max(map(len, names)) + handle)))
    return -(-len(names) // -(-len(names) // most))
