"""A cap on the power of the machine that follows a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from ..base import FloatArray, InputError, IntArray
from ..base.argument_types import names_wrong_types
from .signals import NO_POWER
from .step_files import check_covered, check_steps, end_of, read_steps
from .workload import Workload

#: Begin of the note in ``provenance``.
POWER_CAP = "power cap of "
#: Column of the caps.
WATTS = "watts"


@dataclass(frozen=True, slots=True, eq=False)
class CapSteps:
    """The steps of a cap, read once for several workloads.

    Attributes
    ----------
    path
        The file.
    times
        Begin of each step, seconds on the clock of the workload, shape (steps,).
    watts
        The cap from then on, shape (steps,).
    """

    path: Path
    times: IntArray
    watts: FloatArray

    @classmethod
    def read(cls, path: str | PathLike[str]) -> CapSteps:
        """Read CSV with the columns ``time`` and ``watts``.

        Raises
        ------
        InputError
            If it is not such a file. The message has the line.
        OSError
            If it cannot be read.
        """
        where = Path(path)
        _, times, watts = read_steps(where, [WATTS])
        return cls(where, times, watts)


@names_wrong_types
def with_power_cap(workload: Workload, cap: str | PathLike[str] | CapSteps) -> Workload:
    r"""Return the workload on its machine under a cap from a file, such as a contract or a limit of the grid.

    The cap holds under every dispatcher, as that of :class:`.Power`. It counts running jobs and the idle machine
    together. The file covers the trace from the first to the last submission. From its end on
    its highest cap holds, so that a job which fits under the file at some time is never left waiting for ever.

    Parameters
    ----------
    workload
        Jobs and machine with power; it is not changed.
    cap
        CSV with the columns ``time``, seconds on the clock of the workload, and ``watts`` from then on. Steps are about
        equally long: one of 1.5 times the median is a gap. Or such a file that has been read.

    Raises
    ------
    InputError
        If it is not such a file, has gaps, is not above the power of the idle machine, or does not cover the trace.
        Also if the machine has no power, or has a cap of its own.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import Power, with_power_cap
    >>> machine = replace(tiny().machine, power=Power({"core": 10.0}))
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "cap.csv")
    ...     number = table.write_text("time,watts\n0,100\n300,20\n")
    ...     capped = with_power_cap(replace(tiny(), machine=machine), table)
    >>> capped.machine.power.cap
    ((0, 100.0), (300, 20.0), (600, 100.0))
    """
    where = cap.path if isinstance(cap, CapSteps) else Path(cap)
    power = workload.machine.power
    if power is None:
        raise InputError(f"{where}: {NO_POWER}")
    if power.caps:
        raise InputError(f"{where}: expected a machine without a cap, got one with its own; leave one of them out")
    steps = cap if isinstance(cap, CapSteps) else CapSteps.read(cap)
    times, watts = steps.times, steps.watts
    if wrong := np.flatnonzero(~((watts > power.idle) & np.isfinite(watts))).tolist():
        told = f"expected watts above those of the idle machine, {power.idle:,g}, at t={times[wrong[0]]}"
        raise InputError(f"{where}: {told}, got {watts[wrong[0]]:g}")
    check_steps(str(where), times, watts)
    if len(workload):
        submit = workload.columns.submit
        check_covered(str(where), times, int(submit[0]), int(submit[-1]))
    # Equal caps that follow each other are one step: each step costs time at each decision.
    changes = np.flatnonzero(np.diff(watts, prepend=np.nan))
    begins = [0, *np.maximum(times[changes], 0).tolist()[1:]]
    kept = [place for place, begin in enumerate(begins) if begins[place + 1 : place + 2] != [begin]]
    caps = tuple((begins[place], float(watts[changes[place]])) for place in kept)
    if watts[-1] < watts.max():
        caps = (*caps, (max(end_of(times), 1), float(watts.max())))
    note = f"{POWER_CAP}{len(times):,} steps from {where.name}"
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    machine = replace(workload.machine, power=replace(power, cap=caps))
    return replace(workload, machine=machine, provenance=provenance)
