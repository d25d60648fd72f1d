"""Write the figures of reproductions as files, in the report's style."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import pandas as pd

from ....simulation.plots.style import COLOURS, WIDTH, canvas, image, panels, plain_numbers
from ...reports.figures import Figure, Kind
from ...reports.number_formats import short
from ...reports.static_figures import images
from .claims import Floats
from .line_figures import draw_lines
from .outcome import Drawing, PaperResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: Files of a drawing, beside its CSV.
_KINDS = ("png", "svg")
_COLUMNS = 2
#: Characters per line of a panel's title.
_TITLE = 22
_INTERVALS = "intervals of the mean"


def draw(entry: PaperResult, drawing: Drawing, folder: Path) -> list[Path]:
    """Write a figure as PNG, SVG and CSV into a folder. Return the files."""
    data = pd.DataFrame(drawing.data)
    files = {"csv": data.to_csv(index=False, lineterminator="\n").encode()}
    files |= _curves(entry, drawing, data) if drawing.kind in ("steps", "points") else _panelled(entry, drawing, data)
    paths = []
    for kind, content in files.items():
        path = folder / f"{entry.name}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        paths.append(path)
    return paths


def _curves(entry: PaperResult, drawing: Drawing, data: pd.DataFrame) -> dict[str, bytes]:
    shown = data.rename(columns={"subject": "contender"})
    if drawing.x_range is not None:
        shown = shown[shown["x"].between(*drawing.x_range)]
    order = tuple(dict.fromkeys(shown["contender"]))
    kind: Kind = "points" if drawing.kind == "points" else "steps"
    labels = drawing.x_label, drawing.y_label
    figure = Figure(entry.name, kind, entry.title, "", shown, "x", "y", *labels, log_y=drawing.log_y, order=order)
    return images(figure, kinds=_KINDS)


def _panelled(entry: PaperResult, drawing: Drawing, data: pd.DataFrame) -> dict[str, bytes]:
    with canvas() as drawn:
        if drawing.kind == "lines":
            draw_lines(drawn, entry.title, drawing, data)
        else:
            _bars(drawn, data)
            drawn.suptitle(entry.title, fontsize=9)
        spread = "one standard deviation of the jobs, upwards" if "deviation" in data else _INTERVALS
        shown = ("points", "bars") if drawing.kind == "lines" else ("bars and numbers", "lines")
        drawn.supxlabel(f"{shown[0]}: means; {shown[1]}: {spread}", fontsize=8)
        return {kind: image(drawn, kind) for kind in _KINDS}


def _bars(drawn: Canvas, data: pd.DataFrame) -> None:
    """Draw one ``panel`` each, two side by side."""
    names = list(dict.fromkeys(data["panel"]))
    rows = -(-len(names) // _COLUMNS)
    bars = data.groupby("panel", sort=False).size().max()
    drawn.set_size_inches(WIDTH, 0.8 + rows * (0.6 + 0.26 * bars))
    for place, name in zip(panels(drawn, len(names), _COLUMNS), names, strict=True):
        _panel(place, name, data[data["panel"] == name])


def _panel(axes: Axes, name: str, data: pd.DataFrame) -> None:
    """Draw one bar per subject. Names with the same ending, such as ``-W``, share a colour."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - it takes a second to import

    subjects = data["subject"].tolist()
    ends = [subject.partition("-")[2] for subject in subjects]
    groups = sorted(dict.fromkeys(ends), key=lambda end: not end)
    colours = [COLOURS[1 + groups.index(end) % (len(COLOURS) - 1)] for end in ends]
    values = data["value"].to_numpy(dtype=float)
    places = range(len(subjects))
    axes.barh(places, values, xerr=_spread(data), color=colours, error_kw={"linewidth": 0.8})
    shown = map(short, values)
    axes.set_yticks(places, [f"{subject}  {value}" for subject, value in zip(subjects, shown, strict=True)])
    axes.set_ylim(len(subjects) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    plain_numbers(axes.xaxis)
    lines = [name] if len(name) <= _TITLE else name.replace(": ", ":\n").splitlines()
    axes.set_title("\n".join(fill(line, _TITLE) for line in lines), loc="left", fontsize=9)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)


def _spread(data: pd.DataFrame) -> list[Floats]:
    """Return how far each bar's line reaches below and above its value."""
    value = data["value"].to_numpy(dtype=float)
    if "deviation" in data:
        return [0 * value, data["deviation"].to_numpy(dtype=float)]
    return [value - data["low"].to_numpy(dtype=float), data["high"].to_numpy(dtype=float) - value]
