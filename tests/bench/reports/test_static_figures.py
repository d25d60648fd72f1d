"""Drawn figures of a report."""

import pandas as pd

from hpcdispatch.bench.reports.figures import Figure
from hpcdispatch.bench.reports.static_figures import images


def test_wide_intervals_have_numbers_at_powers_of_ten_alone():
    data = pd.DataFrame(
        {"contender": ["a"], "metric": ["wait"], "ratio": [1.0], "ratio_low": [0.003], "ratio_high": [150.0]}
    )
    figure = Figure("ratios", "intervals", "", "", data, "ratio", "contender", "ratio", "", log_x=True)
    drawn = images(figure, kinds=["svg"])["svg"]
    numbers = "0.005", "0.01", "0.02", "0.1", "1", "10", "100"
    shown = {number for number in numbers if f"<!-- {number} -->".encode() in drawn}
    assert shown == {"0.01", "0.1", "1", "10", "100"}
