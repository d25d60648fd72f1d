"""The figures of reproductions as files, in the style of the report's."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ..figures import COLOURS, Figure
from ..figures_static import _SETTINGS, images
from .frame import Drawing, Entry
from .judging import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_WIDTH, _COLUMNS = 6.4, 2


def draw(entry: Entry, drawing: Drawing, folder: Path) -> list[Path]:
    """Write a figure as PNG, SVG and CSV into a folder; return the files."""
    data = pd.DataFrame(drawing.data)
    files = {"csv": data.to_csv(index=False, lineterminator="\n").encode()}
    files |= _bars(entry, data) if drawing.kind == "bars" else _curves(entry, drawing, data)
    found = []
    for kind, content in files.items():
        path = folder / f"{entry.name}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        found.append(path)
    return found


def _curves(entry: Entry, drawing: Drawing, data: pd.DataFrame) -> dict[str, bytes]:
    shown = data.rename(columns={"subject": "contender"})
    if drawing.x_range is not None:
        shown = shown[shown["x"].between(*drawing.x_range)]
    order = tuple(dict.fromkeys(shown["contender"]))
    return images(
        Figure(entry.name, "steps", entry.title, "", shown, "x", "y", drawing.x_label, drawing.y_label, order=order)
    )


def _bars(entry: Entry, data: pd.DataFrame) -> dict[str, bytes]:
    import matplotlib as mpl  # noqa: PLC0415 - it takes a second to import
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    with mpl.rc_context(_SETTINGS):
        canvas = Canvas(layout="constrained")
        FigureCanvasAgg(canvas)
        _panels(canvas, data)
        canvas.supxlabel("bars and numbers: means; lines: one standard deviation of the jobs, upwards", fontsize=8)
        canvas.suptitle(entry.title, fontsize=9)
        found = {}
        for kind, options in (("png", {"dpi": 200}), ("svg", {"metadata": {"Date": None}})):
            buffer = BytesIO()
            canvas.savefig(buffer, format=kind, **options)
            found[kind] = buffer.getvalue()
    return found


def _panels(canvas: Canvas, data: pd.DataFrame) -> None:
    """Draw a panel for each ``panel``, two beside each other."""
    names = list(dict.fromkeys(data["panel"]))
    rows = -(-len(names) // _COLUMNS)
    bars = data.groupby("panel", sort=False).size().max()
    canvas.set_size_inches(_WIDTH, 0.8 + rows * (0.6 + 0.26 * bars))
    places = canvas.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for place, name in zip(places, names, strict=False):
        _panel(place, name, data[data["panel"] == name])
    for place in places[len(names) :]:
        place.set_visible(False)


def _panel(axes: Axes, name: str, data: pd.DataFrame) -> None:
    """Draw a bar for each subject; those with the same end of the name, such as ``-W``, have the same colour."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415

    subjects = data["subject"].tolist()
    ends = [subject.partition("-")[2] for subject in subjects]
    groups = sorted(dict.fromkeys(ends), key=lambda end: not end)
    colours = [COLOURS[1 + groups.index(end) % (len(COLOURS) - 1)] for end in ends]
    values, spread = (data[column].to_numpy(dtype=float) for column in ("value", "deviation"))
    places = range(len(subjects))
    axes.barh(places, values, xerr=[0 * spread, spread], color=colours, error_kw={"linewidth": 0.8})
    shown = ["-" if math.isnan(value) else number(value) for value in values]
    axes.set_yticks(places, [f"{subject}  {value}" for subject, value in zip(subjects, shown, strict=True)])
    axes.set_ylim(len(subjects) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_title(name, loc="left", fontsize=9)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
