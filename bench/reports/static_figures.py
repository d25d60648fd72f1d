"""Draw figures for papers: matplotlib, without a display and without global state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...simulation.plots.axes import draw_ratios
from ...simulation.plots.style import (
    CLASS_STYLE,
    KINDS,
    MOST_PANELS,
    WIDTH,
    beside,
    canvas,
    image,
    line_style,
    logarithmic_numbers,
    marker,
    plain_numbers,
    shortened,
    style,
)
from .figures import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


#: Most points of a step curve that are all marked.
MOST_MARKED = 40


def images(figure: Figure, titled: bool = False, kinds: Iterable[str] = tuple(KINDS)) -> dict[str, bytes]:
    """Return the figure as files of some kinds, of :data:`.KINDS`. Repeated calls give the same bytes.

    On a page and in a paper the title stands outside. `titled` draws it, too.
    """
    with canvas() as drawn:
        _draw(figure, drawn)
        if titled:
            drawn.axes[0].set_title(figure.title, fontsize=10)
        return {kind: image(drawn, kind) for kind in kinds}


def _draw(figure: Figure, canvas: Canvas) -> None:
    draw = {"intervals": _intervals, "schedule": _schedule}.get(figure.kind, _curves)
    draw = _panels if figure.panels else draw
    if not len(figure.data):
        canvas.set_size_inches(WIDTH, 1.5)
        canvas.text(0.5, 0.5, "no data", ha="center", va="center")
        return
    draw(figure, canvas)
    if (figure.panels or figure.kind == "schedule") and len(figure.names) > MOST_PANELS:
        canvas.suptitle(f"the first {MOST_PANELS} of {len(figure.names)}", fontsize=9)


def _labelled(axes: Axes, figure: Figure) -> None:
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    if figure.log_x:
        axes.set_xscale("log")
        logarithmic_numbers(axes.xaxis, *axes.get_xlim())  # with the ends of intervals


def _legend(canvas: Canvas, handles: list[Any], names: list[str]) -> None:
    """Put a legend above the figure. Texts are set later, since names that begin with _ would be left out."""
    short = [shortened(name) for name in names]
    legend = canvas.legend(handles, ["x"] * len(names), loc="outside upper left", ncols=beside(short), frameon=False)
    for text, name in zip(legend.get_texts(), short, strict=True):
        text.set_text(name)


def _curves(figure: Figure, canvas: Canvas) -> None:
    names = figure.names
    canvas.set_size_inches(WIDTH, 3.4 + 0.16 * len(names))
    axes = canvas.add_subplot()
    handles: list[Any] = []
    classes = list(dict.fromkeys(figure.data[figure.x])) if figure.kind == "classes" else []
    for name in names:
        chosen = figure.data[figure.data["contender"] == name]
        index = figure.place(name)
        options = line_style(index)
        x = chosen[figure.x].to_numpy()
        y = chosen[figure.y].to_numpy()
        if figure.kind == "classes":
            x = chosen[figure.x].map(classes.index).to_numpy()
            options["marker"] = marker(index)
        if figure.kind == "steps":
            options |= {"drawstyle": "steps-post", "marker": marker(index), "markersize": 4}
            if len(x) > MOST_MARKED:
                options["markevery"] = (0.03 + 0.02 * index % 0.1, 0.15)
        elif figure.kind == "points":
            options |= {"linestyle": "none", "marker": marker(index), "alpha": 0.8, "clip_on": False}
        handles += axes.plot(x, y, **options)
    _labelled(axes, figure)
    if figure.log_y:
        # Linear up to 1 and logarithmic above, with plain numbers at both axes.
        axes.set_yscale("symlog", linthresh=1)
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
    axes.set_ylim(bottom=0)
    if classes:
        axes.set_xticks(range(len(classes)), [name.replace(" to ", " to\n") for name in classes], fontsize=7)
    if figure.kind == "lines":
        axes.set_xlim(left=0)
    _legend(canvas, handles, names)


def _panels(figure: Figure, canvas: Canvas) -> None:
    names = figure.names[:MOST_PANELS]
    canvas.set_size_inches(WIDTH, 0.6 + 1.1 * len(names))
    panels = canvas.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, name in zip(panels, names, strict=True):
        chosen = figure.data[figure.data["contender"] == name]
        colour = style(figure.place(name))[0]
        x = chosen[figure.x].to_numpy()
        y = chosen[figure.y].to_numpy()
        axes.fill_between(x, y, color=colour, alpha=0.3, linewidth=0)
        axes.plot(x, y, color=colour, linewidth=0.8)
        axes.set_title(shortened(name), loc="left", fontsize=9)
    panels[0].set_ylim(bottom=0)
    panels[0].set_xlim(left=0)
    canvas.supylabel(figure.y_label, fontsize=9)
    panels[-1].set_xlabel(figure.x_label)


def _intervals(figure: Figure, canvas: Canvas) -> None:
    names = figure.names
    metrics = list(dict.fromkeys(figure.data["metric"]))
    canvas.set_size_inches(WIDTH, len(metrics) * (0.6 + 0.22 * len(names)) + 0.4)
    panels = canvas.subplots(len(metrics), 1, sharex=True, squeeze=False)[:, 0]
    for axes, metric in zip(panels, metrics, strict=True):
        chosen = figure.data[figure.data["metric"] == metric].set_index("contender").reindex(names)
        draw_ratios(axes, chosen, [figure.place(name) for name in names])
        _labelled(axes, figure)
        axes.set_title(metric, loc="left", fontsize=9)
        axes.set(xlabel="", ylabel="")
    panels[-1].set_xlabel(figure.x_label)


def _schedule(figure: Figure, canvas: Canvas) -> None:
    from matplotlib.patches import Patch  # noqa: PLC0415

    names = figure.names[:MOST_PANELS]
    canvas.set_size_inches(WIDTH, 0.8 + 1.6 * len(names))
    panels = canvas.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    end = figure.x.replace("begin", "end")
    for axes, name in zip(panels, names, strict=True):
        chosen = figure.data[figure.data["contender"] == name]
        for kind, (colour, hatch) in CLASS_STYLE.items():
            part = chosen[chosen["run_time"] == kind]
            axes.bar(
                part[figure.x],
                part["high"] - part["low"],
                part[end] - part[figure.x],
                part["low"],
                align="edge",
                color=colour,
                hatch=2 * hatch,
                edgecolor="black",
                linewidth=0.3,
            )
        axes.set_title(shortened(name), loc="left", fontsize=9)
        axes.set_ylabel(figure.y_label)
        axes.grid(visible=False)
    panels[-1].set_xlabel(figure.x_label)
    panels[0].set_xlim(figure.shown)
    kinds = list(CLASS_STYLE)
    patches = [
        Patch(facecolor=colour, hatch=2 * hatch, edgecolor="black", linewidth=0.3)
        for colour, hatch in CLASS_STYLE.values()
    ]
    _legend(canvas, patches, [f"run time {kind}" for kind in kinds])
