"""Choose the number of processors of a moldable job. The input is a machine state or a moment of a trace."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import FloatArray, InputError
from ..models import AvailabilityProfile
from ..models.moldable import Choice, Request, SpeedupFit, choose, choose_with_law, fit, options
from ..simulation import guaranteed_starts
from ..workloads import RunColumns, Workload, read, read_runs
from .eviction_scenario import Scenario

_TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class MachineMoment:
    """The free processors over time, as known at one instant.

    Attributes
    ----------
    profile
        The availability list.
    now
        The instant, seconds.
    kept
        Of a trace: turnaround over the turnaround predicted at submission, of every job that ran. Shape (jobs,).
    """

    profile: AvailabilityProfile
    now: int
    kept: FloatArray | None = None


@dataclass(frozen=True)
class SizeAdvice:
    """The prediction for each request, and the choice.

    Attributes
    ----------
    requests
        In the order of the input.
    options
        The prediction for each request; ``None`` if it never fits.
    choice
        The option with the least predicted turnaround.
    """

    requests: tuple[Request, ...]
    options: tuple[Choice | None, ...]
    choice: Choice


def advise_size(moment: MachineMoment, requests: Sequence[Request], weight: float = 0.0) -> SizeAdvice:
    """Return the prediction for each request, and the choice of :func:`hpcdispatch.models.moldable.choose`.

    Raises
    ------
    InputError
        If no request fits the machine, or a request is given twice.
    """
    by_request = {option.request: option for option in options(moment.profile, requests, moment.now)}
    choice = choose(moment.profile, requests, moment.now, weight)
    if choice is None:
        raise _too_large(moment, [request.processors for request in requests])
    return SizeAdvice(tuple(requests), tuple(by_request.get(request) for request in requests), choice)


def advise_size_and_time(moment: MachineMoment, found: SpeedupFit, sizes: Sequence[int]) -> SizeAdvice:
    """Return the best first request for each size, and the choice of ``choose_with_law`` in ``models.moldable``.

    The turnaround of an option is its expected value. A longer request follows each one that is too short.

    Parameters
    ----------
    moment
        The free processors over time.
    found
        The fit of the user's runs, with the law of the run time for each size.
    sizes
        Numbers of processors to choose from.

    Raises
    ------
    InputError
        If no size fits the machine with all its times, or one lies far beyond the runs.
    """
    laws = list(zip(sizes, found.laws(sizes), strict=True))
    each = [choose_with_law(moment.profile, [law], moment.now) for law in laws]
    choice = choose_with_law(moment.profile, laws, moment.now)
    if choice is None:
        raise _too_large(moment, sizes)
    longest = [Request(size, max(1, math.ceil(law.end))) for size, law in laws]
    requests = [last if option is None else option.request for last, option in zip(longest, each, strict=True)]
    return SizeAdvice(tuple(requests), tuple(each), choice)


def _too_large(moment: MachineMoment, sizes: Sequence[int]) -> InputError:
    return InputError(
        f"requests: expected one that fits the machine, {moment.profile.processors:,} processors that are free at "
        f"some time, got {len(sizes)} of {min(sizes, default=0):,} processors or more"
    )


def moment_of_state(scenario: Scenario) -> MachineMoment:
    """Return the free processors over time beside the running jobs of a state. A job without `ends` never ends."""
    staying = sum(job.nodes for job in scenario.jobs if job.ends is None)
    processors = scenario.machine.nodes - staying
    if not processors:
        raise InputError("jobs: expected some that end, with a field ends, got all nodes held by jobs without it")
    profile = AvailabilityProfile(processors)
    for job in scenario.jobs:
        if job.ends is not None:
            profile.reserve(job.nodes, max(1, math.ceil(job.ends)), 0)
    return MachineMoment(profile, 0)


def moment_of_trace(workload: Workload, at: int) -> MachineMoment:
    """Return the free processors over time at an instant of a trace under ``conservative`` with kills.

    Parameters
    ----------
    workload
        The trace, on a pool.
    at
        Seconds from its first submission.

    Raises
    ------
    InputError
        If the machine is no pool of one resource, or the instant is after the last submission.
    """
    submit = workload.columns.submit
    source = workload.provenance.source
    if workload.machine.capacity.size > 1:
        raise InputError(f"{source}: expected a pool of one resource, got {workload.machine.describe()}")
    instant = int(submit[0]) + at
    if instant > submit[-1]:
        raise InputError(f"at: expected at most {submit[-1] - submit[0]:,} s, the last submission, got {at:,} s")
    steps, kept = guaranteed_starts(workload, instant)
    profile = AvailabilityProfile.from_steps(steps, int(workload.machine.capacity[0, 0]))
    return MachineMoment(profile, instant, kept)


def read_requests(path: Path) -> list[Request]:
    """Read a table with the columns ``processors`` and ``walltime``, seconds.

    Raises
    ------
    InputError, OSError
        If the table is invalid or cannot be read.
    """
    frame = read_runs(path, RunColumns("processors", "walltime"))
    requests = []
    for number, (processors, seconds) in enumerate(zip(frame["size"], frame["time"], strict=True), 1):
        values = [int(value) if float(value).is_integer() else value for value in (processors, seconds)]
        try:
            requests.append(Request(*values))
        except ValueError as error:
            raise InputError(f"{path}: request {number}: {str(error).removeprefix('request: ')}") from None
    return requests


def read_own_runs(path: Path) -> list[tuple[float, float]]:
    """Read the processors and seconds of a user's own runs.

    The file is a table with the columns ``processors`` and ``time``. It may also be the output of Slurm's ``sacct -P``
    (``.sacct``, ``.txt``).

    Raises
    ------
    InputError, OSError
        If the file is invalid or cannot be read.
    """
    if path.name.lower().removesuffix(".gz").endswith(_TABLES):
        frame = read_runs(path, RunColumns("processors", "time"))
        return list(zip(frame["size"].tolist(), frame["time"].tolist(), strict=True))
    workload = read(path, default_walltime="runtime")
    resource = workload.machine.resources[workload.machine.primary]
    return list(zip(workload.columns.amounts(resource).tolist(), workload.columns.runtime.tolist(), strict=True))


def requests_of_runs(
    runs: Sequence[tuple[float, float]], processors: int, level: float = 0.9, sizes: Sequence[int] = ()
) -> tuple[list[Request], SpeedupFit]:
    """Return requests made from a user's own runs, and the fit.

    The walltime is the upper end of the interval of the predicted time, rounded up.

    Parameters
    ----------
    runs
        Processors and seconds.
    processors
        Of the machine.
    level
        Of the interval.
    sizes
        Processors to request. Without any: the measured sizes and the powers of two. Both end at twice the largest
        measured size.

    Raises
    ------
    InputError
        If the runs give no speedup, or a size lies far beyond them.
    """
    speedup_fit = fit(runs)
    most = min(processors, int(2 * speedup_fit.largest))
    powers = {2**power for power in range(most.bit_length()) if 2**power <= most}
    asked = sorted(sizes or powers | {int(size) for size, _ in runs if size <= most and float(size).is_integer()})
    times = speedup_fit.predict(asked, level).high
    return [
        Request(size, max(1, math.ceil(time))) for size, time in zip(asked, times.tolist(), strict=True)
    ], speedup_fit
