"""Generate stochastic jobs, with a stream of small predictable ones.

Scenarios 1 to 3 of A. Gainaru, G. Pallez (Aupy), H. Sun, P. Raghavan: "Speculative scheduling for stochastic HPC
applications", ICPP 2019, section 5. Laws, counts and rates are the paper's. The duration of the stream is ours.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...base import check_choice, check_number, check_whole
from ...base.checks import IN_MEMORY, MOST_JOBS, MOST_PROCESSORS
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
#: Section 5.4: the large jobs beside small ones, and the small ones.
MIXED = Hours(1, 8, mean=4, deviation=2)
SMALL = Hours(FEW_SECONDS, 4, mean=1, deviation=1)
#: By default the run times of the stream are those of the large jobs over this (section 5.2).
SCALED_DOWN = 100
#: Duration of the stream over the time in which a machine without idle time finishes the stochastic jobs.
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

    All stochastic jobs are submitted at 0. Each is its own application, which is its `name`. Jobs of one law have one
    `user` and share the same `law`; their `walltime` is its upper bound. A job of p processors has p slots of one core.

    * Scenario 1 (figures 2 to 4): the defaults, with any `walltime` and `processors`.
    * Scenario 2 (figure 5): ``large=200,small_share=S``, S above 0. The paper does not give the processors of small
      jobs. Here they have the law of the large jobs. The order of the jobs is random. The left end of the figure,
      without small jobs, is ``large=200,low=1,high=8,mean=4,deviation=2``.
    * Scenario 3 (figures 6 and 7): ``low=1,high=20,work_rate=R``. Predictable jobs (no law, `walltime` is the run time,
      queue ``stream``) arrive at times uniform over the window. Their number gives the expected rate.

    Parameters
    ----------
    walltime
        Law of the run times of large jobs. The normal and the exponential are truncated to [`low`, `high`]. Beta(2, 2)
        is stretched over it. The Pareto of exponent 2.1 is bounded to it. Samples are rounded to whole seconds, at
        least 1.
    low, high
        Bounds of that law, hours. The defaults of truncnorm are 6 to 16 (beside small jobs 1 to 8). Those of beta are 5
        s to 1 h, of exponential 5 s to 16 h, of pareto 1 to 20.
    mean, deviation
        Of the law before truncation, hours. The normal has 8 and 2 (beside small jobs 4 and 2). The exponential has the
        mean 1.
    processors
        Of each stochastic job on P processors: all or half. Or normal (0.5 P, 0.3 P), truncated to [1, P]. Or Beta(2,
        2), stretched over [1, P]. They are rounded.
    machine
        Processors of the machine, P.
    large
        Number of stochastic jobs, M in the paper.
    small_share
        Share of small ones among them, from 0 to 1. Above 0 only with ``walltime="truncnorm"``. Their run times are
        normal (1 h, 1 h) on 5 s to 4 h, and their queue is ``small``. That of the others is ``large``.
    work_rate
        Expected work of the stream that arrives in an hour over P, at least 0 and below 1. Its run times are those of
        the large jobs over 100.
    window
        Hours over which the stream arrives. The paper's "simulation time window" is known only afterwards. The default
        is 1.5 times the time that the expected work of the stochastic jobs takes on P processors. Thus the stream
        outlasts them.
    stream_processors
        Processors of a job of the stream. The paper's small jobs have 1. The stream then has about 150 x `large` x
        `work_rate` x (mean processors of a large job) jobs. With k processors each there are k times fewer.
    scaled_down
        Run time of large jobs over that of the stream, at least 1; by default 100, as in the paper.
    seed
        Of the random numbers.

    Examples
    --------
    >>> from hpcdispatch.workloads import stochastic
    >>> workload = stochastic(large=10, seed=1)
    >>> round(float(workload.jobs[0].law.mean()) / 3600, 1)
    8.6
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
    submit = np.zeros(0, dtype=np.int64)
    runs = np.zeros(0, dtype=np.int64)
    if work_rate:
        work = float((size * np.array([application.mean for application in applications])[kinds]).sum())
        span = OUTLASTS * work / machine if window is None else window * HOUR
        over = SCALED_DOWN if scaled_down is None else scaled_down
        # Predictable jobs, all in the span. Their run times sum up to the expected work.
        count = round(work_rate * machine * span / stream_processors / (applications[0].mean / over))
        submit = uniform_times(rng, count, span)
        runs = applications[0].draw(rng, count, over=over)
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
    """Return the bounds and parameters of the law of large jobs: the defaults, replaced by given options."""
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


#: Over one hundred years.
MOST_HOURS = 1_000_000
#: The largest numbers of processors and of jobs.
MOST_OF = {"machine": MOST_PROCESSORS, "large": MOST_JOBS}


def _check(options: Mapping[str, Any]) -> None:
    """Check each option for its own range."""
    check_choice("walltime", options.get("walltime"), RunTimeLaw)
    check_choice("processors", options.get("processors"), ProcessorLaw)
    for name, least in (("machine", 2 if options.get("processors") == "half" else 1), ("large", 1), ("seed", 0)):
        check_whole(name, options.get(name), least, MOST_OF.get(name), IN_MEMORY)
    check_whole("stream_processors", options.get("stream_processors"), 1, options["machine"])
    check_number("low", options.get("low", 0), least=0)
    check_number("scaled_down", options.get("scaled_down", SCALED_DOWN), least=1, most=MOST_HOURS)
    for name in ("high", "mean", "deviation", "window"):
        check_number(name, options.get(name, 1), above=0, most=MOST_HOURS)
    check_number("small_share", options["small_share"], least=0, most=1)
    check_number("work_rate", options["work_rate"], least=0, below=1)
    if options["small_share"] and options["walltime"] != "truncnorm":
        raise ValueError(f"small_share must be 0 unless walltime is truncnorm, got {options['small_share']!r}")
