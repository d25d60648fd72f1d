"""Choices of portfolios over time: a table and data for a figure."""

import numpy as np
import pandas as pd

from ...simulation import Result
from .number_formats import fixed
from .tables import PrintedCell, Table, label


def tunings_of(result: Result) -> pd.DataFrame | None:
    """Return the choices over time, or ``None`` if no portfolio decided.

    Returns
    -------
    DataFrame
        One row for the first decision, each tuning, and the last decision. ``seconds`` is from the first submission.
        ``candidate`` is the choice. ``gain`` is its share of improvement over the one before; the first and the last
        row have none. ``lasted`` is its duration, seconds. ``changed`` says whether it differs from the one before.
    """
    decisions = result.decisions
    if not len(decisions) or not {"chosen", "tuned", "gain"} <= set(decisions.columns):
        return None
    rows = decisions["tuned"].to_numpy() == 1
    rows[[0, -1]] = True
    choices = decisions[rows]
    chosen = choices["chosen"].reset_index(drop=True)
    seconds = choices["time"].to_numpy() - int(result.jobs["submit"].min())
    return pd.DataFrame(
        {
            "seconds": seconds,
            "candidate": chosen,
            "gain": np.where(choices["tuned"] == 1, choices["gain"].to_numpy(dtype=np.float64), np.nan),
            "lasted": np.append(np.diff(seconds), 0),
            "changed": chosen.ne(chosen.shift(fill_value=chosen.iloc[0])),
        }
    )


def numbered(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the ``number`` of each candidate, from 1 on, the longest in use first."""
    lasted = choices.groupby("candidate")["lasted"].sum()
    order = sorted(lasted.index, key=lambda name: (-lasted[name], name))
    return choices.assign(number=choices["candidate"].map({name: place + 1 for place, name in enumerate(order)}))


def tunings_table(choices: pd.DataFrame, note: str) -> Table:
    """Return the table of candidates and their time in use, one row per portfolio and candidate.

    `choices` comes from :func:`numbered`.
    """
    rows = []
    for contender, part in choices.groupby("contender", sort=False):
        whole = max(float(part["lasted"].sum()), 1.0)
        for number, chosen in part.groupby("number"):
            changes = chosen[chosen["changed"]]
            share = 100 * float(chosen["lasted"].sum()) / whole
            gain = 100 * float(changes["gain"].mean())
            numbers = ((float(number), 0), (share, 1), (float(len(changes)), 0), (gain, 1))  # type: ignore[arg-type]
            names = label(contender), label(chosen["candidate"].iloc[0])
            rows.append([*names, *(PrintedCell(fixed(value, digits), value=value) for value, digits in numbers)])
    columns = (
        "contender",
        "candidate",
        "number in the figure",
        "of the time (%)",
        "times changed to",
        "better than the one before, mean (%)",
    )
    return Table("What portfolios chose", columns, rows, 2, note, "tunings")
