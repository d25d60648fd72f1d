"""What a machine meets over time: failures of nodes, a cap on its power, and a signal of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from ..base import InputError, shown, time_text
from .failures import FailureLog, names_log, with_failures
from .power_caps import CapSteps, with_power_cap
from .signals import Signal, wait_for_better_hours
from .workload import Workload


@dataclass(frozen=True)
class OperatingConditions:
    """Conditions of simulations, the same for every dispatcher. Without any, a workload stays as it is.

    Attributes
    ----------
    failures
        As in :func:`.with_failures`: ``"mtbf=5y,repair=4h"``, or the path of a log.
    signal
        Emissions or prices, see :class:`.Signal`; or the path of a file, which is read at once.
    may_wait
        Jobs wait for a better hour of the signal, at most so long: seconds or a text, see
        :func:`.wait_for_better_hours`.
    power_cap
        Path of a cap on the power, see :func:`.with_power_cap`.

    Raises
    ------
    InputError
        If `may_wait` has no signal, or the signal is no signal.
    OSError
        If the signal cannot be read.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import cluster
    >>> from hpcdispatch.workloads import OperatingConditions
    >>> conditions = OperatingConditions(failures="mtbf=2d,repair=4h")
    >>> workload = conditions.on(cluster(), seed=1)
    >>> result = hd.simulate(workload, "easy")
    >>> hd.check(workload, result)
    """

    failures: str | PathLike[str] | None = None
    signal: Signal | str | PathLike[str] | None = None
    may_wait: float | str | None = None
    power_cap: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.may_wait is not None and self.signal is None:
            raise InputError("may_wait: expected a signal beside it, got none")
        for name in ("failures", "power_cap"):
            value = getattr(self, name)
            if not isinstance(value, str | PathLike | None):
                raise InputError(f"{name}: expected a text or a path, got {shown(value)}")
        if isinstance(self.signal, str | PathLike):
            object.__setattr__(self, "signal", Signal.read(self.signal))
        elif not isinstance(self.signal, Signal | None):
            raise InputError(f"signal: expected a Signal or the path of one, got {shown(self.signal)}")

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return any(each is not None for each in (self.failures, self.signal, self.power_cap))

    @property
    def grid(self) -> Signal | None:
        """The signal that results are measured by."""
        assert self.signal is None or isinstance(self.signal, Signal)
        return self.signal

    @property
    def label(self) -> str:
        """All of them in a few words; empty without any."""
        law = isinstance(self.failures, str) and "=" in self.failures
        conditions = {
            "failures": self.failures if law or self.failures is None else Path(self.failures).name,
            "power cap": None if self.power_cap is None else Path(self.power_cap).name,
            "signal": None if self.grid is None else Path(self.grid.name).name,
            "may wait": time_text(self.may_wait) if isinstance(self.may_wait, int | float) else self.may_wait,
        }
        return ", ".join(f"{name} {value}" for name, value in conditions.items() if value is not None)

    @cached_property
    def _cap(self) -> CapSteps:
        """The steps of the cap, read at the first use."""
        assert self.power_cap is not None
        return CapSteps.read(self.power_cap)

    @cached_property
    def _failures(self) -> str | FailureLog:
        """The law of the failures, or their log, read at the first use."""
        assert self.failures is not None
        law = isinstance(self.failures, str) and not names_log(self.failures)
        return str(self.failures) if law else FailureLog.read(self.failures)

    def on(self, workload: Workload, seed: int = 0) -> Workload:
        """Return a workload under these conditions: with failing nodes, a cap, and jobs that wait for better hours.

        Each adds its note to ``provenance``. The cap comes first, as it needs the machine's own nodes. Files are read
        once, however many workloads follow.

        Parameters
        ----------
        workload
            Jobs and machine; it is not changed.
        seed
            Of the failures.

        Raises
        ------
        InputError
            If a condition does not fit the machine or the jobs, or its file is malformed.
        OSError
            If a file cannot be read.
        """
        if self.power_cap is not None:
            workload = with_power_cap(workload, self._cap)
        if self.failures is not None:
            workload = with_failures(workload, self._failures, seed)
        if self.grid is not None:
            self.grid.check_covers(workload)
            if self.may_wait is not None:
                workload = wait_for_better_hours(workload, self.grid, self.may_wait)
        return workload


#: A workload as it stands.
NO_CONDITIONS = OperatingConditions()
