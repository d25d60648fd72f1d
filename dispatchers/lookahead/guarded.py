"""Any dispatcher, with the longest wait bounded by EASY's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...base.checks import check_number
from ...base.time_texts import seconds_option
from ...workloads import Machine
from ..options import Configured, internal
from ..protocol import Action, Dispatcher, Start, State, id_of, well_formed
from ..registered import create_inner, reported, reset_part
from .guard import LEAST, Guard
from .history import History


@dataclass(frozen=True)
class GuardedOptions:
    """What :class:`Guarded` takes.

    Attributes
    ----------
    over
        The dispatcher that decides: an object, or ``NAME``, or ``NAME:key=value/key=value`` with ``/`` in place of the
        comma.
    guard
        Above 0: the bound, as a multiple of the longest wait expected under EASY.
    least
        Waits up to here are not bounded, in seconds or as ``1h``, at least 1 s.
    recent
        For how long a long wait under EASY counts once the job has started there, in seconds or as ``28d``, at least
        1 s; ``inf`` for ever.
    """

    over: str | Dispatcher = "lookahead"
    guard: float = 1.0
    least: float | str = LEAST
    recent: float | str = internal(math.inf)

    def __post_init__(self) -> None:
        check_number("guard", self.guard, above=0, infinite=True)
        _ = self.least_seconds, self.recent_seconds

    @cached_property
    def least_seconds(self) -> int:
        """The wait up to which nothing is bounded."""
        return seconds_option("least", self.least, 1)

    @cached_property
    def recent_seconds(self) -> int:
        """For how long a long wait under EASY counts."""
        return seconds_option("recent", self.recent, 1, infinite=True)


class Guarded(Configured[GuardedOptions]):
    """Do what `over` wants, as long as EASY could take over and let nobody wait longer than jobs do under EASY.

    EASY's schedule of the same jobs by their walltimes is kept beside the real one. If EASY, deciding from now
    on, could not keep every wait within the longest one that is expected there, only those of the jobs that `over`
    starts do start with whom it could, and beside them whom EASY would start. Decisions have a column ``held``, whether
    that was so. What would become of jobs is looked at in sums of resources: where nodes are of several kinds, or jobs
    share them, `over` does what it wants, as it does with moldable jobs.

    Its options are those of :class:`GuardedOptions`, which says what is refused.

    Attributes
    ----------
    over
        The dispatcher underneath.
    """

    Options = GuardedOptions
    uses: ClassVar[tuple[str, ...]] = ("numba",)
    plans_closures: ClassVar[bool] = True

    def __init__(self, options: GuardedOptions | None = None, /, **given: Any) -> None:
        super().__init__(options, **given)
        self.over = create_inner(self.options.over)

    def forget(self) -> None:
        """Forget the jobs seen."""
        self._history: History | None = None
        self._guard = Guard(self.options.guard, self.options.least_seconds)

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget what the last simulation left."""
        self.forget()
        reset_part(self.over, machine, rng)

    def job_ended(self, id_: str, ran: int, now: int) -> None:
        """Learn that a job has ended, and how long it ran in all, seconds."""
        if self._history is not None:
            self._history.ended(id_, ran)

    def report(self) -> Mapping[str, Any]:
        """Return what `over` has to say of the last decision, and as ``held`` whether it was changed."""
        return {**reported(self.over), "held": int(self._guard.held)}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Ask the dispatcher underneath, and start those with whom EASY could take over."""
        if self._history is None or self._history.machine is not state.machine:
            self._history = History(state.machine, state.now, by_walltimes=True, recent=self.options.recent_seconds)
        self._history.see(state)
        wanted = self.over.dispatch(state)
        if not well_formed(wanted):
            return wanted
        actions = self._guard.kept(state, wanted, self._history)
        self._history.start(id_of(action.job) for action in actions if isinstance(action, Start))
        return actions
