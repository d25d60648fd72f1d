"""Sets of stochastic jobs, with a stream of small predictable ones.

Scenarios 1 to 3 of A. Gainaru, G. Pallez (Aupy), H. Sun, P. Raghavan: "Speculative scheduling for stochastic HPC
applications", ICPP 2019, section 5. Laws, counts and rates are the paper's; how long the stream lasts is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...base.checks import IN_MEMORY, MOST_JOBS, MOST_PROCESSORS, check_choice, check_number, check_whole
from ..job_columns import Coded
from ..machine import Machine
from ..workload import Workload
from .applications import (
    HOUR,
    Application,
    Hours,
    ProcessorLaw,
    RunTimeLaw,
    allocation,
    frozen_law,
    jobs_of,
    uniform_times,
)
from .generator import generator, provenance_of

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
#: Run times of the stream are those of the large jobs over this by default (section 5.2).
SCALED_DOWN = 100
#: The stream lasts so many times as long as the stochastic jobs keep a machine that never idles busy.
OUTLASTS = 1.5


@generator("stochastic")
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
    scaled_down: float | None = None,
    seed: int = 0,
) -> Workload:
    """Draw the stochastic jobs of Gainaru et al. (ICPP 2019), scenarios 1 to 3, on one pool of processors.

    All stochastic jobs are submitted at 0. Each is an application of its own, which is its `name`; those of one law
    have one `user` and share the same `law`; their `walltime` is its upper bound. A job of p processors asks for p
    slots of one core.

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
    scaled_down
        By how much the run times of the stream are shorter than those of the large jobs, at least 1; by default 100, as
        the paper says.
    seed
        Of the random numbers.
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
    runtime = np.where(kinds, *(application.draw(rng, large) for application in reversed(applications)))
    submit, runs = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if work_rate:
        work = float((size * np.array([application.mean for application in applications])[kinds]).sum())
        span = OUTLASTS * work / machine if window is None else window * HOUR
        over = SCALED_DOWN if scaled_down is None else scaled_down
        # Predictable jobs whose run times add up to the expected work, all in the span.
        count = round(work_rate * machine * span / stream_processors / (applications[0].mean / over))
        submit, runs = uniform_times(rng, count, span), applications[0].draw(rng, count, over=over)
    kinds = np.concatenate([kinds, np.full(len(submit), len(applications))])
    applications.append(Application("stream", "stream", None))
    names = [f"{applications[kind].name}-{number}" for number, kind in enumerate(kinds[:large].tolist(), 1)]
    jobs = jobs_of(
        applications,
        kinds,
        submit=np.concatenate([np.zeros_like(runtime), submit]),
        runtime=np.concatenate([runtime, runs]),
        nodes=np.concatenate([size, np.full(len(submit), stream_processors)]),
        name=Coded(np.minimum(np.arange(len(kinds)), large), [*names, "stream"]),
    )
    whole = Machine.pool(machine, name="stochastic jobs of ICPP 2019")
    return Workload(jobs, whole, provenance_of("stochastic", options))


def _hours(walltime: str, options: Mapping[str, Any]) -> Hours:
    """Return the bounds and parameters of the law of large jobs: the defaults, with what is given in their place."""
    hours = MIXED if options["small_share"] else LAWS[walltime]
    given = {name: options[name] for name in ("low", "high", "mean", "deviation") if name in options}
    for name, value in given.items():
        if getattr(hours, name) is None:
            owners = ", ".join(law for law, other in LAWS.items() if getattr(other, name) is not None)
            none = f"none with walltime {walltime} (it is a parameter of {owners})"
            raise ValueError(f"{name} must be {none}, got {value!r}")
    hours = replace(hours, **given)
    if walltime == "pareto" and hours.low <= 0:
        raise ValueError(f"low must be hours > 0 with walltime pareto, got {hours.low!r}")
    if hours.low >= hours.high:
        raise ValueError(f"low must be hours below high, which is {hours.high:g}, got {hours.low!r}")
    return hours


#: Over a hundred years.
MOST_HOURS = 1_000_000
#: The largest numbers of processors and of jobs.
MOST_OF = {"machine": MOST_PROCESSORS, "large": MOST_JOBS}


def _check(options: Mapping[str, Any]) -> None:
    """Check each option for its own range."""
    check_choice("walltime", options["walltime"], RunTimeLaw)
    check_choice("processors", options["processors"], ProcessorLaw)
    for name, least in (("machine", 2 if options["processors"] == "half" else 1), ("large", 1), ("seed", 0)):
        check_whole(name, options[name], least, MOST_OF.get(name), IN_MEMORY)
    check_whole("stream_processors", options["stream_processors"], 1, options["machine"])
    check_number("low", options.get("low", 0), least=0)
    check_number("scaled_down", options.get("scaled_down", SCALED_DOWN), least=1, most=MOST_HOURS)
    for name in ("high", "mean", "deviation", "window"):
        check_number(name, options.get(name, 1), above=0, most=MOST_HOURS)
    check_number("small_share", options["small_share"], least=0, most=1)
    check_number("work_rate", options["work_rate"], least=0, below=1)
    if options["small_share"] and options["walltime"] != "truncnorm":
        raise ValueError(f"small_share must be 0 unless walltime is truncnorm, got {options['small_share']!r}")
