"""The cells of a campaign: what determines the result of one, and how it is simulated into files."""

from __future__ import annotations

import copy
import hashlib
import json
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...analysis.trimming import NOTHING, Cut
from ...base.installed import names_plug_in
from ...base.unfinished_files import temporary_folder
from ...dispatchers import Dispatcher
from ...predictors import Predictor
from ...simulation import Budget, SameInstant, check, simulate
from ...simulation.schema import SCHEMA
from ...workloads import Workload, jitter
from .versions import made_by

#: What a cell holds besides the files of ``Result.save``.
DESCRIPTION = "cell.json"
#: The one file that is never the same twice.
TIMINGS = "timings.parquet"

#: Seconds that the process of a cell has beyond twice its budget.
_GRACE = 30.0
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
    check
        Whether a schedule that breaks an invariant makes the cell fail.
    objects
        Dispatcher and predictor that are no specs, else ``None``; a name does not tell what they do.
    budget
        What the simulation may take; no part of the key, a result within it is the same.
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
    check: bool = False
    objects: tuple[Dispatcher | None, Predictor | None] = field(default=(None, None), compare=False, repr=False)
    budget: Budget | None = field(default=None, compare=False)

    @property
    def parts(self) -> tuple[str | Dispatcher, str | Predictor]:
        """Dispatcher and predictor, as an object or by name."""
        policy, belief = self.objects
        return self.dispatcher if policy is None else policy, self.predictor if belief is None else belief

    @property
    def patience(self) -> float | None:
        """Seconds after which a process of its own is ended: it starts, reads its workload and writes its result."""
        return None if self.budget is None or self.budget.seconds is None else 2 * self.budget.seconds + _GRACE

    @property
    def overdue(self) -> str:
        """What is said if it is."""
        return "its process did not end within the budget"

    @property
    def plugged(self) -> bool:
        """Whether code of another package takes part: it may end the process it runs in, or never return."""
        return not self.lasting or names_plug_in(self.dispatcher) or names_plug_in(self.predictor)

    @property
    def lasting(self) -> bool:
        """Whether its key says all that determines the result, so that it need not be simulated again."""
        return all(part is None for part in self.objects)

    @cached_property
    def text(self) -> str:
        """All that determines the result, as JSON in one spelling."""
        return json.dumps(self.determined(), indent=2, sort_keys=True) + "\n"

    def determined(self) -> dict[str, Any]:
        """Return all that determines the result."""
        determined: dict[str, Any] = {
            "schema": SCHEMA,
            "workload": self.digest,
            "jitter": self.jitter,
            "seed": self.seed,
            "dispatcher": self.dispatcher,
            "predictor": self.predictor,
            "overrun": self.overrun,
            "same_instant": self.same_instant,
            "made_by": made_by(*self.parts),
        }
        determined |= {"checked": True} if self.check else {}
        if not self.lasting:
            determined["objects"] = [f"{type(part).__module__}.{type(part).__qualname__}" for part in self.parts]
        return determined

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

    def simulated(self, jobs: Workload, report: Callable[[int], None] | None) -> Any:
        """Simulate; return what is found, a :class:`Result`. Other experiments find something else in other ways.

        Parameters
        ----------
        jobs
            The workload, shifted if it is to be.
        report
            Called with the number of finished jobs, now and then.
        """
        result = simulate(
            jobs,
            *copy.deepcopy(self.parts),
            overrun=self.overrun,
            seed=self.seed,
            same_instant=self.same_instant,
            progress=report,
            budget=self.budget,
        )
        if self.check:
            check(jobs, result)
        return result

    def files(self, found: Any) -> Files:
        """Return the files of what is found, :data:`TIMINGS` among them."""
        with temporary_folder() as folder:
            found.save(folder / "result")
            return {path.name: path.read_bytes() for path in sorted((folder / "result").iterdir())}


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

    @classmethod
    def of(cls, error: BaseException) -> CellError:
        """Return an exception that is being handled."""
        message = str(error) or "out of memory" * isinstance(error, MemoryError)
        return cls(type(error).__name__, message, traceback.format_exc())

    def __str__(self) -> str:
        """Render as ``Type: message``."""
        return f"{self.type}: {self.message}"


class LastSample:
    """Keeps the last sample: cells that share one follow each other."""

    def __init__(self) -> None:
        self._made: tuple[tuple[str, int, int], Workload] | None = None

    def __call__(self, cell: Cell, workload: Workload) -> Workload:
        """Return the sample of a cell: its workload, shifted."""
        if cell.jitter is None:
            return workload
        wanted = (cell.digest, cell.jitter, cell.seed)
        if self._made is None or self._made[0] != wanted:
            self._made = wanted, jitter(workload, cell.jitter, np.random.default_rng(cell.seed))
        return self._made[1]


def simulate_cell(
    cell: Cell, workload: Workload, samples: LastSample, report: Callable[[int], None] | None = None
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
        found = cell.simulated(samples(cell, workload), report)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugged-in part may raise anything; the rest goes on
        return CellError.of(error)
    try:
        return {DESCRIPTION: cell.text.encode(), **cell.files(found)}
    except OSError as error:
        place = error.filename or tempfile.gettempdir()
        return CellError("OSError", f"{place}: {error.strerror or error}", blameless=True)
    except Exception as error:  # noqa: BLE001 - a part may report what no table holds
        return CellError.of(error)


def _mismatch(cell: Cell) -> str | None:
    """Return what differs here from where the campaign was started: results must come from the same code."""
    theirs, ours = json.loads(cell.text)["made_by"], made_by(*cell.parts)
    for name in sorted({*theirs, *ours}):
        if theirs.get(name) != ours.get(name):
            return (
                f"expected {name} {theirs.get(name, 'none')}, as where the campaign runs, got {ours.get(name, 'none')}"
            )
    return None
