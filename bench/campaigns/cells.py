"""The cells of a campaign: what determines the result of one, and how it is simulated into files."""

from __future__ import annotations

import hashlib
import json
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...analysis.trimming import NOTHING, Cut
from ...simulation import Result, SameInstant, simulate
from ...workloads import Workload
from .comparison_runs import Jittered
from .versions import made_by

#: Raised with every change of what a cell holds.
FORMAT = 1
#: What a cell holds besides the files of ``Result.save``.
DESCRIPTION = "cell.json"
#: The one file that is never the same twice.
TIMINGS = "timings.parquet"

#: File name to content.
Files = dict[str, bytes]


@dataclass(frozen=True)
class Cell:
    """One simulation of a campaign.

    Attributes
    ----------
    workload
        Its name in the campaign; no part of the key.
    jobs
        How many there are; no part of the key, the digest has them.
    digest
        Of the jobs and the machine, before they are shifted.
    jitter
        Largest shift of a submission, seconds; ``None`` for none.
    seed
        Of the shifts and of a dispatcher that draws.
    dispatcher, predictor, overrun
        With their options, in the one spelling they have.
    same_instant
        As in :func:`hpcdispatch.simulation.simulate`.
    warm_up, cool_down
        What tables and reports leave out; no part of the key, it is simulated.
    """

    workload: str
    jobs: int
    digest: str
    jitter: int | None
    seed: int
    dispatcher: str
    predictor: str
    overrun: str
    same_instant: SameInstant
    warm_up: Cut = NOTHING
    cool_down: Cut = NOTHING

    @cached_property
    def text(self) -> str:
        """All that determines the result, as JSON in one spelling."""
        determined = {
            "format": FORMAT,
            "workload": self.digest,
            "jitter": self.jitter,
            "seed": self.seed,
            "dispatcher": self.dispatcher,
            "predictor": self.predictor,
            "overrun": self.overrun,
            "same_instant": self.same_instant,
            "made_by": made_by(self.dispatcher, self.predictor),
        }
        return json.dumps(determined, indent=2, sort_keys=True) + "\n"

    @cached_property
    def key(self) -> str:
        """The SHA-256 of :attr:`text`, by which the result is kept."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def label(self) -> str:
        """What it is called in messages, in one line."""
        parts = [self.workload, self.dispatcher, self.predictor]
        parts += [f"overrun {self.overrun}"] * (self.overrun != "run")
        parts += [self.same_instant] * (self.same_instant != "batch")
        parts += [f"jitter {self.jitter} s"] * (self.jitter is not None)
        return ", ".join([*parts, f"seed {self.seed}"])


@dataclass(frozen=True, slots=True)
class CellError:
    """A cell that ended in an exception.

    Attributes
    ----------
    type, message, traceback
        Of the exception, as text.
    blameless
        Whether not the cell is at fault but the machine it was simulated on; such an error stops the campaign.
    """

    type: str
    message: str
    traceback: str = ""
    blameless: bool = False

    def __str__(self) -> str:
        """Render as ``Type: message``."""
        return f"{self.type}: {self.message}"


class Samples:
    """Keeps the last workload and the last sample of it: cells that share one follow each other."""

    def __init__(self) -> None:
        self._made: tuple[tuple[Any, ...], Workload] | None = None

    def __call__(self, cell: Cell, workload: Workload) -> Workload:
        """Return the sample of a cell."""
        wanted = (cell.digest, cell.jitter, cell.seed)
        if cell.jitter is None:
            return workload
        if self._made is None or self._made[0] != wanted:
            self._made = wanted, Jittered(workload, cell.jitter)(cell.seed)
        return self._made[1]


def simulate_cell(
    cell: Cell, workload: Workload, samples: Samples, report: Callable[[int], None] | None = None
) -> Files | CellError:
    """Return the files of a cell, or what went wrong in it.

    Parameters
    ----------
    cell
        What is simulated.
    workload
        Its jobs, not shifted yet.
    samples
        Keeps the last shifted ones.
    report
        Called with the number of finished jobs, now and then.
    """
    mismatch = _mismatch(cell)
    if mismatch:
        return CellError("WrongVersion", mismatch, blameless=True)
    try:
        result = simulate(
            samples(cell, workload),
            cell.dispatcher,
            cell.predictor,
            overrun=cell.overrun,
            seed=cell.seed,
            same_instant=cell.same_instant,
            progress=report,
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugged-in part may raise anything; the rest goes on
        return CellError(type(error).__name__, str(error), traceback.format_exc())
    try:
        return {DESCRIPTION: cell.text.encode(), **_files(result)}
    except OSError as error:
        place = error.filename or tempfile.gettempdir()
        return CellError("OSError", f"{place}: {error.strerror or error}", blameless=True)


def _files(result: Result) -> Files:
    """Return what ``Result.save`` writes."""
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-") as folder:
        result.save(folder)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _mismatch(cell: Cell) -> str | None:
    """Return what differs here from where the campaign was started: results must come from the same code."""
    theirs, ours = json.loads(cell.text)["made_by"], made_by(cell.dispatcher, cell.predictor)
    for name in sorted({*theirs, *ours}):
        if theirs.get(name) != ours.get(name):
            return (
                f"expected {name} {theirs.get(name, 'none')}, as where the campaign runs, got {ours.get(name, 'none')}"
            )
    return None
