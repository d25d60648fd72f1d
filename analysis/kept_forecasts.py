"""Forecasts of starts in a file, and their score once the jobs have started."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from ..base import InputError, read_bounded, shown
from ..base.files import MOST_BYTES


@dataclass(frozen=True, slots=True)
class KeptForecast:
    """A forecast; times in seconds since 1970.

    Attributes
    ----------
    made
        When the forecast was made.
    job
        Its job.
    low, median, high
        The interval of the start and its middle.
    slurm
        The start that Slurm expected, ``None`` if it gave none.
    partition
        Of the job.
    plain_low, plain_high
        The interval before its calibration; ``None``: it had none.
    """

    made: int
    job: str
    low: float
    median: float
    high: float
    slurm: int | None = None
    partition: str = ""
    plain_low: float | None = None
    plain_high: float | None = None


#: A dataclass for the records of a file.
Kept = TypeVar("Kept", bound=Any)


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """How good forecasts were.

    Attributes
    ----------
    known, unknown
        Numbers of forecasts for jobs that have started, and for other jobs.
    covered
        Share of the starts within their intervals.
    near
        Share of the starts near the median, by the largest distance in seconds.
    deviation, slurm
        Mean distance of the starts from the median, and from the start that Slurm expected. Seconds; nan without any.
    """

    known: int
    unknown: int
    covered: float
    near: Mapping[int, float]
    deviation: float
    slurm: float


def keep(path: Path, forecasts: Iterable[Kept]) -> None:
    """Append forecasts, or other records, to a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as lines:
        lines.writelines(json.dumps(asdict(each)) + "\n" for each in forecasts)


def read_kept(path: Path, kind: type[Kept], what: str) -> list[Kept]:
    """Return the forecasts, or other records, of a file.

    Raises
    ------
    InputError
        If there is no file, or a line is no such record.
    """
    if not path.is_file():
        raise InputError(f"{path}: expected {what}s that were kept, got no such file")
    records, known = list[Kept](), TypeAdapter(kind)
    for number, line in enumerate(BytesIO(read_bounded(path, f"kept {what}s", MOST_BYTES)), 1):
        try:
            records.append(known.validate_json(line, strict=True))
        except ValidationError:
            text = shown(line.decode("utf-8", "replace").rstrip())
            raise InputError(f"{path}:{number}: expected a {what} in JSON, got {text}") from None
    return records


def judge(forecasts: Iterable[KeptForecast], starts: Mapping[str, float], near: tuple[int, ...]) -> ForecastScore:
    """Return the score of forecasts, from the starts of jobs in seconds since 1970."""
    made = list(forecasts)
    known = [each for each in made if each.job in starts]
    real = np.array([starts[each.job] for each in known])
    low, median, high = (np.array([getattr(each, name) for each in known]) for name in ("low", "median", "high"))
    off = np.abs(real - median)
    told = [abs(starts[each.job] - each.slurm) for each in known if each.slurm is not None]
    if not known:
        return ForecastScore(0, len(made), np.nan, dict.fromkeys(near, np.nan), np.nan, np.nan)
    inside = (real >= np.floor(low)) & (real <= np.ceil(high))
    return ForecastScore(
        len(known),
        len(made) - len(known),
        float(inside.mean()),
        {within: float((off <= within).mean()) for within in near},
        float(off.mean()),
        float(np.mean(told)) if told else np.nan,
    )
