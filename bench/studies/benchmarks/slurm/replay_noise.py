"""Differences between replays of the same jobs on a real Slurm, and from the dispatcher ``slurm``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np

from .....base import FloatArray, InputError
from ....reports.number_formats import fixed, percent, seconds
from ....reports.tables import Table
from .live_replay import NEAR, compared

#: Waits and the recorded ones, shape (jobs,) each.
Pair = tuple[FloatArray, FloatArray]


def noise(folders: Sequence[Path], share: str) -> Table:
    """Return the differences between the kept records of one replay, and of the dispatchers from them.

    Parameters
    ----------
    folders
        Of ``live replay --keep``, each of the same jobs on the same configuration, two at least.
    share
        Shares of the accounts.

    Raises
    ------
    InputError
        If they are of other jobs, or one alone.
    """
    if len(folders) < 2:
        raise InputError(f"expected two records of a replay or more, got {len(folders)}")
    replays = [compared(folder, share) for folder in folders]
    real = [rows[0].waits for rows in replays]
    for folder, waits in zip(folders, real, strict=True):
        if len(waits) != len(real[0]):
            raise InputError(f"{folder}: expected the {len(real[0])} jobs of {folders[0]}, got {len(waits)}")
    rows = [_row("another run of the real Slurm", list(permutations(real, 2)))]
    for place, row in enumerate(replays[0][1:], 1):
        rows.append(_row(row.name, [(each[place].waits, waits) for each, waits in zip(replays, real, strict=True)]))
    near = (f"within {within} s" for within in NEAR)
    columns = ("scheduler", "mean wait", "of each", *near, "deviation (s)", "correlation")
    told = ", ".join(seconds(float(np.nanmean(waits))) for waits in real)
    return Table("replays", columns, rows, note=f"Recorded mean waits: {told} s.")


def _row(name: str, pairs: Sequence[Pair]) -> list[str]:
    """Return the mean differences of waits from the recorded ones over the pairs, and the range of mean waits."""
    off = np.array([np.abs(waits - real) for waits, real in pairs])
    ratios = [float(np.nanmean(waits) / np.nanmean(real)) - 1 for waits, real in pairs]
    alike = [float(np.corrcoef(waits, real)[0, 1]) for waits, real in pairs]
    near = [percent(float((off <= within).mean())) for within in NEAR]
    spread = f"{min(ratios):+.1%} to {max(ratios):+.1%}"
    deviation = seconds(float(off.mean()))
    correlation = fixed(float(np.mean(alike)), 2)
    return [name, f"{np.mean(ratios):+.1%}", spread, *near, deviation, correlation]
