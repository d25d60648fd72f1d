"""Sets of stochastic jobs, with a stream of small predictable ones.

Scenarios 1 to 3 of A. Gainaru, G. Pallez (Aupy), H. Sun, P. Raghavan: "Speculative scheduling for stochastic HPC
applications", ICPP 2019, section 5. Laws, counts and rates are the paper's; how long the stream lasts is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NoReturn, get_args

import numpy as np

from ...base import InputError
from ..job import Job
from ..machine import Machine
from ..workload import Provenance, Workload
from .applications import (
    HOUR,
    Application,
    Hours,
    ProcessorLaw,
    RunTimeLaw,
    allocation,
    frozen_law,
    uniform_times,
)
from .option_checks import is_number, require_choice, require_whole

#: "A few seconds" of the paper, hours.
FEW_SECONDS = 5 / HOUR
#: Section 5.2.
LAWS: Mapping[str, Hours] = MappingProxyType(
    {
        "truncnorm": Hours(6, 16, mean=8, deviation=2),
        "beta": Hours(FEW_SECONDS, 1),
        "exponential": Hours(FEW_SECONDS, 16, mean=1),
        "pareto": Hours(1, 20),
    }
)
#: Section 5.4: the large jobs beside small ones, and these.
MIXED, SMALL = Hours(1, 8, mean=4, deviation=2), Hours(FEW_SECONDS, 4, mean=1, deviation=1)
#: Run times of the stream are those of the large jobs over this (section 5.2).
SCALED_DOWN = 100
#: The stream lasts so many times as long as the stochastic jobs keep a machine that never idles busy.
OUTLASTS = 1.5


def stochastic(
    *,
    walltime: RunTimeLaw = "truncnorm",
    low: float | None = None,
    high: float | None = None,
    mean: float | None = None,
    deviation: float | None = None,
    processors: ProcessorLaw = "full",
    machine: int = 100,
    large: int = 100,
    small_share: float = 0.0,
    work_rate: float = 0.0,
    window: float | None = None,
    stream_processors: int = 1,
    seed: int = 0,
) -> Workload:
    """Draw the stochastic jobs of Gainaru et al. (ICPP 2019), scenarios 1 to 3, on one pool of processors.

    All stochastic jobs are submitted at 0. Jobs of one law are one application, which is their `name` and `user`, and
    share the same `law`; their `walltime` is its upper bound. A job of p processors asks for p slots of one core.

    - Scenario 1 (figures 2 to 4): the defaults, with any `walltime` and `processors`.
    - Scenario 2 (figure 5): ``large=200,small_share=S``, S above 0. Small jobs draw their processors as the large ones
      do, which the paper leaves open; the order of the jobs is random. The left end of the figure, without small
      jobs, is ``large=200,low=1,high=8,mean=4,deviation=2``.
    - Scenario 3 (figures 6 and 7): ``low=1,high=20,work_rate=R``. At times uniform over the window arrive predictable
      jobs (no law, `walltime` the run time, queue ``stream``), as many as give the expected rate.

    Parameters
    ----------
    walltime
        Law of the run times of large jobs: normal or exponential, conditioned on [`low`, `high`]; Beta(2, 2) stretched
        over it; or the Pareto of exponent 2.1 bounded to it. A draw is rounded to whole seconds, at least 1.
    low, high
        Bounds of that law, hours. Defaults: truncnorm 6 to 16 (beside small jobs 1 to 8), beta 5 s to 1 h, exponential
        5 s to 16 h, pareto 1 to 20.
    mean, deviation
        Of the normal (8 and 2; beside small jobs 4 and 2) and of the exponential (mean 1) before they are truncated,
        hours.
    processors
        Of each stochastic job on P processors: all; half; normal (0.5 P, 0.3 P) conditioned on [1, P]; or Beta(2, 2)
        stretched over [1, P]; rounded.
    machine
        Processors of the machine, P.
    large
        How many stochastic jobs, M in the paper.
    small_share
        Share of small ones among them, from 0 to 1; above 0 with ``walltime="truncnorm"`` only. Their run times
        are normal (1 h, 1 h) on 5 s to 4 h, their queue is ``small``; that of the others is ``large``.
    work_rate
        Expected work of the stream that arrives in an hour over P, at least 0 and below 1. Its run times are those of
        the large jobs over 100.
    window
        Hours over which the stream arrives. The paper's "simulation time window" is known only afterwards; by default
        1.5 times as long as the expected work of the stochastic jobs takes on P processors, so that the stream
        outlasts them.
    stream_processors
        Processors of a job of the stream; 1 as the paper says of small jobs. The stream has then some
        150 x `large` x `work_rate` x (mean processors of a large job) jobs; k processors each make it k times fewer.
    seed
        Of the random numbers.

    Raises
    ------
    InputError
        If an option is out of its range or does not go with `walltime`.
    """
    options = {name: value for name, value in locals().items() if value is not None}
    _check(options)
    hours = _hours(walltime, options)
    rng = np.random.default_rng(seed)
    applications = [
        Application(walltime, "large", frozen_law(walltime, hours)),
        Application(f"{walltime}-small", "small", frozen_law("truncnorm", SMALL)),
    ]
    kinds = rng.permutation(np.arange(large) < round(small_share * large)).astype(np.int64)
    size = allocation(rng, processors, machine, large)
    runtime = np.where(kinds, *(one.draw(rng, large) for one in reversed(applications)))
    rows = zip(kinds.tolist(), runtime.tolist(), size.tolist(), strict=True)
    jobs = [applications[kind].job(number, 0, run, cores) for number, (kind, run, cores) in enumerate(rows, 1)]
    if work_rate:
        work = float((size * np.array([one.mean for one in applications])[kinds]).sum())
        span = OUTLASTS * work / machine if window is None else window * HOUR
        jobs += _stream(rng, applications[0].law, work_rate * machine * span, span, stream_processors, large + 1)
    spec = "stochastic:" + ",".join(f"{key}={value}" for key, value in options.items())
    return Workload(
        tuple(jobs), Machine.pool(machine, name="stochastic jobs of ICPP 2019"), Provenance(spec, dict(options))
    )


def _stream(rng: np.random.Generator, law: Any, work: float, span: float, processors: int, first: int) -> list[Job]:
    """Return predictable jobs of an expected `work` in processor-seconds within `span` seconds, from id `first` on."""
    small = Application("stream", "stream", law)
    count = round(work / (small.mean / SCALED_DOWN * processors))
    submit = uniform_times(rng, count, span)
    runtime = small.draw(rng, count, over=SCALED_DOWN)
    rows = zip(submit.tolist(), runtime.tolist(), strict=True)
    return [small.predictable(number, when, run, processors) for number, (when, run) in enumerate(rows, first)]


def _hours(walltime: str, options: Mapping[str, Any]) -> Hours:
    """Return the bounds and parameters of the law of large jobs: the defaults, with what is given in their place."""
    hours = MIXED if options["small_share"] else LAWS[walltime]
    given = {name: options[name] for name in ("low", "high", "mean", "deviation") if name in options}
    for name, value in given.items():
        if getattr(hours, name) is None:
            owners = ", ".join(law for law, one in LAWS.items() if getattr(one, name) is not None)
            _refuse(name, f"none with walltime {walltime} (it is a parameter of {owners})", value)
    hours = replace(hours, **given)
    if walltime == "pareto" and hours.low <= 0:
        _refuse("low", "hours > 0 with walltime pareto", hours.low)
    if hours.low >= hours.high:
        _refuse("low", f"hours below high, which is {hours.high:g}", hours.low)
    return hours


def _check(options: Mapping[str, Any]) -> None:
    """Check each option for its own range."""
    require_choice("stochastic", "walltime", options["walltime"], get_args(RunTimeLaw))
    require_choice("stochastic", "processors", options["processors"], get_args(ProcessorLaw))
    for name, least in (("machine", 2 if options["processors"] == "half" else 1), ("large", 1), ("seed", 0)):
        require_whole("stochastic", name, options[name], least)
    require_whole("stochastic", "stream_processors", options["stream_processors"], 1, options["machine"])
    ranges: dict[str, tuple[str, Callable[[float], bool]]] = {
        "low": ("hours >= 0", lambda value: value >= 0),
        "high": ("hours > 0", lambda value: value > 0),
        "mean": ("hours > 0", lambda value: value > 0),
        "deviation": ("hours > 0", lambda value: value > 0),
        "window": ("hours > 0", lambda value: value > 0),
        "small_share": ("a number from 0 to 1", lambda value: 0 <= value <= 1),
        "work_rate": ("a number >= 0 and < 1", lambda value: 0 <= value < 1),
    }
    for name, (expected, holds) in ranges.items():
        if name in options and not (is_number(options[name]) and holds(options[name])):
            _refuse(name, expected, options[name])
    if options["small_share"] and options["walltime"] != "truncnorm":
        _refuse("small_share", "0 unless walltime is truncnorm", options["small_share"])


def _refuse(name: str, expected: str, value: Any) -> NoReturn:
    raise InputError(f"workload stochastic: {name}: expected {expected}, got {value!r}")
