"""Conventions of papers: how their simulators read traces, and in which order they take the events of a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..base import InputError, shown
from ..base.argument_types import names_wrong_types
from ..base.printed import near_name

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Conventions:
    """The settings under which the results of a paper can be compared with ours.

    Attributes
    ----------
    name
        Their name.
    paper
        The paper.
    read
        Settings of :func:`hpcdispatch.read`.
    simulate
        Settings of :func:`hpcdispatch.simulate` and of :func:`hpcdispatch.compare`.
    predictor
        The predictor that stands for what their dispatchers know.
    traces
        Further settings of :func:`hpcdispatch.read` by the name of a trace. Machines had other sizes than headers say.
    remark
        What no setting does.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> rules = hd.conventions("hpcopt")
    >>> rules.predictor, dict(rules.simulate)
    ('oracle', {'overrun': 'run', 'same_instant': 'batch'})
    """

    name: str
    paper: str
    read: Mapping[str, Any]
    simulate: Mapping[str, Any]
    predictor: str = "walltime"
    traces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    remark: str = ""

    @names_wrong_types
    def reading(self, trace: str) -> dict[str, Any]:
        """Return the settings of :func:`hpcdispatch.read` for a trace by its name, such as ``ctc-sp2``."""
        return {**self.read, **self.traces.get(trace.lower(), _NONE)}

    def __str__(self) -> str:
        """Return the settings as options of the command line."""
        given = {**self.read, **self.simulate}
        if self.predictor != "walltime":
            given["predictor"] = self.predictor
        return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())


_ALL = {
    each.name: each
    for each in (
        Conventions(
            "sc15",
            "Gaussier, Glesser, Reis, Trystram: Improving backfilling by using machine learning to predict running "
            "times, SC 2015",
            {"default_walltime": "drop"},
            {"overrun": "kill", "same_instant": "arrivals-first"},
            traces={"curie": {"processors": 80_640, "zero_runtime": 0}},
            remark="AVG2 is the predictor last2:correction=sc15",
        ),
        Conventions(
            "rlscheduler",
            "Zhang, Dai, He, Bao, Xie: RLScheduler: an automated HPC batch job scheduler using reinforcement learning, "
            "SC 2020",
            {"default_walltime": "runtime", "unknown_runtime": 10},
            {"overrun": "run", "same_instant": "arrivals-alone-first"},
            remark="SJF is fcfs:order=sjf,commit=true; its backfilling is sc20 of "
            "bench/studies/published/published_parts.py",
        ),
        Conventions(
            "hpcopt",
            "HPCOpt, public leaderboard",
            {"default_walltime": "runtime", "zero_runtime": 0},
            {"overrun": "run", "same_instant": "batch"},
            predictor="oracle",
            traces={"ctc-sp2": {"processors": 512}},
            remark="its backfilling is hpcopt-easy and hpcopt-conservative of "
            "bench/studies/published/published_parts.py",
        ),
    )
}
#: Names of the conventions.
NAMES = tuple(_ALL)


@names_wrong_types
def conventions(name: str) -> Conventions:
    """Return the conventions of a paper by name: ``sc15``, ``rlscheduler`` or ``hpcopt``.

    >>> import hpcdispatch as hd
    >>> rules = hd.conventions("sc15")
    >>> dict(rules.simulate)
    {'overrun': 'kill', 'same_instant': 'arrivals-first'}
    >>> result = hd.simulate(hd.example(), "easy-sjbf", rules.predictor, **rules.simulate)

    Raises
    ------
    InputError
        For an unknown name.
    """
    if not isinstance(name, str) or name.lower() not in _ALL:
        near = near_name(name, _ALL) if isinstance(name, str) else ""
        raise InputError(f"conventions: expected one of {', '.join(NAMES)}, got {shown(name)}{near}")
    return _ALL[name.lower()]
