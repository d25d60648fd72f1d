"""What each rule of a paper changes: one rule at a time, all others as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....dispatchers import State
from ....simulation import conventions, simulate
from ....workloads import Workload, read
from . import hpcopt, rlscheduler, sc15


@dataclass(frozen=True, slots=True)
class Change:
    """A value with one rule changed.

    Attributes
    ----------
    paper, trace, setting
        What is simulated.
    rule
        The rule that is another one; empty for the rules of the paper.
    value
        The value of the paper's metric.
    """

    paper: str
    trace: str
    setting: str
    rule: str
    value: float


#: A rule in words to the settings of reading and of the simulation that change it.
_Rules = Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
OF_SC15: _Rules = {
    "": ({}, {}),
    "foreseen ends free no node before their turn": ({}, {"same_instant": "arrivals-alone-first"}),
    "ends before arrivals": ({}, {"same_instant": "sequence"}),
    "one dispatch for all events of a second": ({}, {"same_instant": "batch"}),
    "jobs run on beyond their request": ({}, {"overrun": "run"}),
    "jobs without a request get the largest of their queue": ({"default_walltime": None}, {}),
    "jobs of 0 s count as 1 s": ({"zero_runtime": 1}, {}),
}


def of_sc15(trace: str, path: Path, settings: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    """Yield the changes of some rows of SC 2015: mean bounded slowdown."""
    for rule, (reading, simulating) in OF_SC15.items():
        workload = read(path, **{**sc15.RULES.reading(trace), **reading})
        for dispatcher, predictor in settings:
            if dispatcher == "pyss-easy" and "same_instant" in simulating:
                continue  # It needs arrivals before ends.
            value = sc15.slowdown(workload, dispatcher, predictor, **simulating)
            yield Change("sc15", trace, f"{dispatcher}, {predictor}", rule, value)
    workload = read(path, **sc15.RULES.reading(trace))
    for dispatcher, predictor in settings:
        if dispatcher == "pyss-easy":
            value = sc15.slowdown(workload, "easy", predictor)
            yield Change("sc15", trace, f"{dispatcher}, {predictor}", "easy: decides at each arrival", value)


class Unscheduled:
    """WFP3 as RLScheduler computes it: the wait is -1 less the submission, since no job has a start yet."""

    def ranks(self, state: State) -> Any:
        """Return (-wait / walltime)^3 * cores, which is above 0: the least first, as for the real WFP3."""
        cores = state.queue.nodes * state.queue.demand[:, state.machine.primary]
        return ((state.queue.submit + 1) / state.queue.walltime) ** 3 * cores


class UnscheduledUNICEP:
    """UNICEP as RLScheduler computes it, with the same wait. One core counts as two in the logarithm."""

    def ranks(self, state: State) -> Any:
        """Return -wait / (log2(cores) * walltime)."""
        cores = np.maximum(state.queue.nodes * state.queue.demand[:, state.machine.primary], 2)
        return (state.queue.submit + 1) / (np.log2(cores) * state.queue.walltime)


def _windows(workload: Workload, dispatcher: Any, **changed: Any) -> float:
    """Return the mean bounded slowdown over the ten windows of RLScheduler."""
    slowdowns = []
    for first in rlscheduler.WINDOWS:
        window = workload.slice(first, first + rlscheduler.LENGTH)
        result = simulate(window, dispatcher, **{**rlscheduler.RULES.simulate, **changed})
        slowdowns.append(result.summary()["bounded_slowdown_mean"])
    return float(np.mean(slowdowns))


def of_rlscheduler(trace: str, path: Path, order: str) -> Iterator[Change]:
    """Yield the changes of an order of RLScheduler with and without backfilling: mean bounded slowdown."""
    workload = rlscheduler.jobs_of(path)
    own = rlscheduler.ORDERS[order]
    committed = rlscheduler.Committed
    made: dict[str, dict[str, Callable[[], float]]] = {
        order: {
            "": lambda: _windows(workload, committed(order=own, backfill=False)),
            "the order chooses anew at each event": lambda: _windows(workload, f"fcfs:order={own}"),
            "one dispatch for all events of a second": lambda: _windows(
                workload, committed(order=own, backfill=False), same_instant="batch"
            ),
        },
        f"{order}, backfilling": {
            "": lambda: _windows(workload, committed(order=own)),
            "the queue of easy: chosen anew, extra nodes": lambda: _windows(workload, f"easy:order={own}"),
            "one dispatch for all events of a second": lambda: _windows(
                workload, committed(order=own), same_instant="batch"
            ),
        },
    }
    if workload.provenance.counts.get("unknown run time counted as 10 s"):
        known = read(path, head=rlscheduler.JOBS, default_walltime="runtime")
        made[order]["jobs of unknown run times are left out"] = lambda: _windows(
            known, committed(order=own, backfill=False)
        )
    for setting, rules in made.items():
        for rule, value in rules.items():
            yield Change("rlscheduler", trace, setting, rule, value())


def of_waits(trace: str, path: Path) -> Iterator[Change]:
    """Yield WFP3 and UNICEP of RLScheduler with a wait of -1 less the submission, and with real waits."""
    workload = rlscheduler.jobs_of(path)
    for name, unscheduled in (("wfp3", Unscheduled()), ("unicep", UnscheduledUNICEP())):
        for rule, order in (("", unscheduled), ("real waits", name)):
            value = _windows(workload, rlscheduler.Committed(order=order, backfill=False))
            yield Change("rlscheduler", trace, name.upper(), rule, value)


def of_hpcopt(trace: str, path: Path) -> Iterator[Change]:
    """Yield the changes of EASY of HPCOpt: mean wait, seconds."""
    rules = conventions("hpcopt")
    read_so = rules.reading(trace)
    workload = read(path, **read_so)

    def easy(dispatcher: str, predictor: str) -> float:
        return float(simulate(workload, dispatcher, predictor, **rules.simulate).jobs["wait"].mean())

    made: dict[str, Callable[[], float]] = {
        "": lambda: hpcopt.mean_wait(workload, "EASY"),
        "running jobs are known by their requests": lambda: hpcopt.mean_wait(workload, "EASY", "walltime"),
        "easy: extra nodes, running jobs by their requests": lambda: easy("easy", "walltime"),
        "jobs of 0 s are left out": lambda: hpcopt.mean_wait(read(path, **{**read_so, "zero_runtime": None}), "EASY"),
    }
    if "processors" in read_so:
        made["processors of the header"] = lambda: hpcopt.mean_wait(read(path, **rules.read), "EASY")
    for rule, value in made.items():
        yield Change("hpcopt", trace, "EASY", rule, value())
