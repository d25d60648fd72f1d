"""The fields of Slurm's accounting as numbers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import FloatArray

TextArray = NDArray[np.object_]

_UNKNOWN = ("", "Unknown", "None", "N/A")
_DURATION = r"^(?:(?:(?P<d>\d+)-)?(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+(?:\.\d+)?)$"
_DAYS_HOURS = r"^(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+))?$"
_MEMORY = re.compile(r"([\d.]+)([KMGTP]?)([cn]?)")
_KILO = {"": 1024, "K": 1, "M": 1024, "G": 1024**2, "T": 1024**3, "P": 1024**4}
_GPU = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=(\d+)")
_STATUS = {"COMPLETED": 1, "CANCELLED": 5}


def column(frame: pd.DataFrame, *names: str) -> TextArray:
    """Return the first of the columns that is there, as text without blanks around it; empty texts if none is."""
    for name in names:
        if name in frame:
            found: TextArray = frame[name].str.strip().to_numpy(dtype=object)
            return found
    return np.full(len(frame), "", dtype=object)


def unknown(texts: TextArray) -> NDArray[np.bool_]:
    """Tell which times Slurm does not know."""
    return np.isin(texts.astype(np.str_), _UNKNOWN)


def numbers(texts: TextArray) -> FloatArray:
    """Return texts as numbers (``4K`` is 4,000 as Slurm writes counts), nan where they are none."""
    series = pd.Series(texts, dtype="object").astype(str)
    thousands = series.str.fullmatch(r"\d+(\.\d+)?K")
    plain = pd.to_numeric(series.str.removesuffix("K").where(thousands, series), errors="coerce")
    values = np.asarray(plain, dtype=np.float64) * np.where(thousands, 1000.0, 1.0)
    return np.where(np.isfinite(values), values, np.nan)


def first_number(frame: pd.DataFrame, *names: str) -> FloatArray:
    """Return, job by job, the first of the columns with a number > 0, else -1."""
    result = np.full(len(frame), -1.0)
    for name in reversed(names):
        if name in frame:
            values = numbers(column(frame, name))
            result = np.where(values > 0, values, result)
    return result


def times(texts: TextArray) -> FloatArray:
    """Return times as seconds since 1970, nan where they are none; local times are taken as they stand."""
    parsed = pd.to_datetime(pd.Series(texts, dtype="object"), format="%Y-%m-%dT%H:%M:%S", errors="coerce")
    since = (parsed - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
    values = np.asarray(since, dtype=np.float64)
    return np.where(np.isnan(values), numbers(texts), values)  # SLURM_TIME_FORMAT=%s gives plain numbers


def durations(texts: TextArray) -> FloatArray:
    """Return ``[DD-[HH:]]MM:SS`` and ``DD-HH[:MM]`` as seconds, nan where they are none."""
    series = pd.Series(texts, dtype="object").astype(str)
    result = np.full(len(series), np.nan)
    for pattern in (_DAYS_HOURS, _DURATION):
        parts = series.str.extract(pattern).astype(np.float64)
        seconds = sum(
            parts[unit].fillna(0) * length
            for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
            if unit in parts
        )
        matched = parts["h" if pattern is _DAYS_HOURS else "s"].notna()
        result = np.where(matched, np.asarray(seconds, dtype=np.float64), result)
    return result


def elapsed(frame: pd.DataFrame, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return run times in seconds: ``ElapsedRaw``, else ``Elapsed``, else from start to end."""
    result = np.where(np.isfinite(end), end - start, np.nan)
    if "Elapsed" in frame:
        given = durations(column(frame, "Elapsed"))
        result = np.where(np.isnan(given), result, given)
    if "ElapsedRaw" in frame:
        given = numbers(column(frame, "ElapsedRaw"))
        result = np.where(np.isnan(given), result, given)
    return result


def timelimit(frame: pd.DataFrame) -> FloatArray:
    """Return requested times in seconds, -1 where there is none (``UNLIMITED``, ``Partition_Limit``, empty)."""
    result = np.full(len(frame), np.nan)
    if "Timelimit" in frame:
        result = durations(column(frame, "Timelimit"))
    if "TimelimitRaw" in frame:
        minutes = numbers(column(frame, "TimelimitRaw"))
        result = np.where(np.isnan(minutes), result, minutes * 60)
    return np.where(result > 0, result, -1.0)


def memory(frame: pd.DataFrame, processors: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return ``ReqMem`` in kilobytes per processor, -1 where unknown.

    ``4Gc`` is per processor, ``4Gn`` per node, ``4G`` (since Slurm 21.08) of the whole job; without a unit
    it is megabytes.
    """
    codes, texts = pd.factorize(column(frame, "ReqMem"))
    matches = [_MEMORY.fullmatch(text) for text in texts.tolist()]
    amount = np.array([float(m[1]) * (_KILO[m[2]] if m[2] else 1024) if m else -1.0 for m in matches])[codes]
    per = np.array([m[3] if m else "" for m in matches], dtype="U1")[codes]
    share = np.where(per == "c", 1.0, np.where(per == "n", np.maximum(nodes, 1), 1.0))
    share = np.where(per == "c", 1.0, share / np.maximum(processors, 1))
    return np.where(amount > 0, np.ceil(amount * share), -1.0)


def gpus(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Return the GPUs of each whole job from ``AllocTRES``, else ``ReqTRES``; 0 where there are none."""
    result = np.zeros(len(frame), dtype=np.int64)
    for name in ("ReqTRES", "AllocTRES"):
        if name in frame:
            codes, texts = pd.factorize(column(frame, name))
            counts = np.array([_count_gpus(text) for text in texts.tolist()], dtype=np.int64)[codes]
            result = np.where(column(frame, name) != "", counts, result)
    return result


def _count_gpus(text: str) -> int:
    """Count the GPUs of a TRES text; the count without a type, if there is one, covers those with a type."""
    found = _GPU.findall(text)
    plain = [int(count) for kind, count in found if not kind]
    return plain[0] if plain else sum(int(count) for _, count in found)


def status(states: TextArray) -> NDArray[np.int32]:
    """Return states as SWF has them: 1 completed, 5 cancelled, 0 failed, -1 unknown."""
    codes, texts = pd.factorize(states)
    known = [_STATUS.get(text.split(" ")[0], 0) if text else -1 for text in texts.tolist()]
    return np.array(known, dtype=np.int32)[codes]
