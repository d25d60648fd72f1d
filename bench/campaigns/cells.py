"""The cells of a campaign: the settings that determine a result, and its simulation into files."""

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

from ...analysis.conclusions import Basis
from ...base.installed import names_part_of_script, names_plug_in
from ...base.unfinished_files import temporary_folder
from ...dispatchers import Dispatcher
from ...predictors import Predictor
from ...simulation import Budget, SameInstant, check, simulate
from ...simulation.result import FILES as RESULT_FILES
from ...simulation.schema import SCHEMA
from ...simulation.trimming import NOTHING, Cut
from ...workloads import Signal, Workload, jitter
from .versions import made_by

#: File of a cell beside those of ``Result.save``.
DESCRIPTION = "cell.json"

#: Seconds that the process of a cell gets beyond twice its budget.
_GRACE = 30.0
#: File name to content.
Files = dict[str, bytes]


@dataclass(frozen=True)
class Cell:
    """One simulation of a campaign.

    Attributes
    ----------
    workload
        Its name in the campaign; not in the key.
    jobs
        Number of jobs; not in the key, since the digest covers them.
    digest
        Of the jobs and the machine, before they are shifted.
    jitter
        Largest shift of a submission, seconds; ``None`` for none.
    seed
        Of the shifts and of a dispatcher with random numbers.
    dispatcher, predictor, overrun
        With their options, in canonical spelling.
    same_instant
        As in :func:`hpcdispatch.simulation.simulate`.
    warm_up, cool_down
        Jobs that tables and reports leave out; not in the key, since they are simulated.
    basis
        The kind of sample that its jobs are; not in the key, since the digest covers them.
    check
        Whether a schedule that breaks an invariant makes the cell fail.
    objects
        Dispatcher and predictor if they are objects, else ``None``. Their names do not tell what they do.
    budget
        Bounds of the simulation; not in the key, since a result within them is the same.
    signal
        Of the grid, which the result is measured by; in the key by its numbers. Failures and caps are part of the jobs
        and their machine.
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
    basis: Basis = "trace"
    check: bool = False
    objects: tuple[Dispatcher | None, Predictor | None] = field(default=(None, None), compare=False, repr=False)
    budget: Budget | None = field(default=None, compare=False)
    signal: Signal | None = field(default=None, compare=False, repr=False)

    @property
    def parts(self) -> tuple[str | Dispatcher, str | Predictor]:
        """Dispatcher and predictor, as objects or names."""
        policy, belief = self.objects
        return self.dispatcher if policy is None else policy, self.predictor if belief is None else belief

    @property
    def patience(self) -> float | None:
        """Seconds until its own process is ended. They include start, reading the workload and writing the result."""
        return None if self.budget is None or self.budget.seconds is None else 2 * float(self.budget.seconds) + _GRACE

    @property
    def overdue(self) -> str:
        """Message if it takes longer."""
        return "its process did not end within the budget"

    @property
    def plugged(self) -> bool:
        """Whether code of another package takes part. It may end its process, or never return."""
        return not self.lasting or names_plug_in(self.dispatcher) or names_plug_in(self.predictor)

    @property
    def lasting(self) -> bool:
        """Whether its key has all settings that determine the result, so that the result can be reused.

        It has not if a part is an object, or registered by a script: its code is not in the key.
        """
        named = self.dispatcher, self.predictor
        return all(part is None for part in self.objects) and not any(map(names_part_of_script, named))

    @cached_property
    def text(self) -> str:
        """All settings that determine the result, as canonical JSON."""
        return json.dumps(self.determined(), indent=2, sort_keys=True) + "\n"

    def determined(self) -> dict[str, Any]:
        """Return all settings that determine the result."""
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
        determined |= {} if self.signal is None else {"signal": self.signal.digest}
        if not self.lasting:
            determined["objects"] = [f"{type(part).__module__}.{type(part).__qualname__}" for part in self.parts]
        return determined

    @cached_property
    def key(self) -> str:
        """The SHA-256 of :attr:`text`, the key of the result."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def label(self) -> str:
        """Its name in messages, in one line."""
        parts = [self.workload, self.dispatcher, self.predictor]
        parts += [f"overrun {self.overrun}"] * (self.overrun != "run")
        parts += [self.same_instant] * (self.same_instant != "batch")
        parts += [f"jitter {self.jitter} s"] * (self.jitter is not None)
        return ", ".join([*parts, f"seed {self.seed}"])

    def simulated(self, jobs: Workload, report: Callable[[int], None] | None) -> Any:
        """Simulate and return a :class:`Result`. Other experiments override this.

        Parameters
        ----------
        jobs
            The workload, shifted if needed.
        report
            Called from time to time with the number of finished jobs.
        """
        result = simulate(
            jobs,
            *copy.deepcopy(self.parts),
            overrun=self.overrun,
            seed=self.seed,
            same_instant=self.same_instant,
            progress=report,
            budget=self.budget,
            signal=self.signal,
        )
        if self.check:
            check(jobs, result)
        return result

    def files(self, result: Any) -> Files:
        """Return the files of a result, :data:`~hpcdispatch.base.checksums.TIMINGS` among them."""
        with temporary_folder() as folder:
            result.save(folder / "result")
            return {name: (folder / "result" / name).read_bytes() for name in sorted(RESULT_FILES)}


@dataclass(frozen=True, slots=True)
class CellError:
    """A cell that ended with an exception.

    Attributes
    ----------
    type, message, traceback
        Of the exception, as text.
    blameless
        Whether the machine caused the error and not the cell. Such an error stops the campaign.
    """

    type: str
    message: str
    traceback: str = ""
    blameless: bool = False

    @classmethod
    def of(cls, error: BaseException) -> CellError:
        """Return the exception that is being handled."""
        message = str(error) or "out of memory" * isinstance(error, MemoryError)
        return cls(type(error).__name__, message, traceback.format_exc())

    def __str__(self) -> str:
        """Render as ``Type: message``."""
        return f"{self.type}: {self.message}"


class LastSample:
    """Keeps the last sample, since consecutive cells often share one."""

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
    """Return the files of a cell, or its error.

    Parameters
    ----------
    cell
        The cell.
    workload
        Its jobs, not shifted yet.
    samples
        Keeps the last shifted ones.
    report
        Called from time to time with the number of finished jobs.
    """
    mismatch = _mismatch(cell)
    if mismatch:
        return CellError("WrongVersion", mismatch, blameless=True)
    try:
        result = cell.simulated(samples(cell, workload), report)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugged-in part may raise anything; the rest goes on
        return CellError.of(error)
    try:
        return {DESCRIPTION: cell.text.encode(), **cell.files(result)}
    except OSError as error:
        place = error.filename or tempfile.gettempdir()
        return CellError("OSError", f"{place}: {error.strerror or error}", blameless=True)
    except Exception as error:  # noqa: BLE001 - a part may report what no table holds
        return CellError.of(error)


def _mismatch(cell: Cell) -> str | None:
    """Return the difference of versions from the start of the campaign. Results must come from the same code."""
    theirs = json.loads(cell.text)["made_by"]
    ours = made_by(*cell.parts)
    for name in sorted({*theirs, *ours}):
        if theirs.get(name) != ours.get(name):
            return (
                f"expected {name} {theirs.get(name, 'none')}, as where the campaign runs, got {ours.get(name, 'none')}"
            )
    return None
