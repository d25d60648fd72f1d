"""Write tables as CSV that spreadsheets show unchanged."""

from typing import Any

import pandas as pd

#: First characters that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV. A text that a spreadsheet would run as a formula gets a leading apostrophe."""
    shown = frame.rename(columns=_plain)
    for place, kind in enumerate(shown.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            shown.isetitem(place, shown.iloc[:, place].astype(object).map(_plain).array)
    text: str = shown.to_csv(index=False, lineterminator="\n")
    return text


def _plain(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
