"""Pictures of values over x."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcdispatch.bench.studies.reproductions.line_figures import draw_lines
from hpcdispatch.bench.studies.reproductions.outcome import Drawing
from hpcdispatch.simulation.plots.style import canvas

NAMES = {
    "four of 19 letters": [f"{who}, load {load}" for load in ("0.6", "0.95") for who in ("choosers", "others")],
    "five short ones": ["user", "SA-3", "SA-5", "SA-7", "best"],
    "four of 16 letters": ["PCP3 heuristic a", "HCP3 heuristic b", "PCP2 heuristic c", "HCP1 walltime"],
    "one long": ["a name so long that it stands alone on a line of the legend", "short"],
}


@pytest.mark.nightly
@pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
def test_the_legend_stays_within_the_picture(names):
    rows = [
        {"panel": "gain", "subject": name, "x": x, "value": 2.0 * x, "low": x, "high": 3.0 * x}
        for name in names
        for x in (1, 2)
    ]
    with canvas() as drawn:
        draw_lines(drawn, "Jobs that choose", Drawing("lines", {}, "x"), pd.DataFrame(rows))
        drawn.canvas.draw()
        legend = drawn.legends[0].get_window_extent()
    assert 0 <= legend.x0 < legend.x1 <= drawn.bbox.x1
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == names
