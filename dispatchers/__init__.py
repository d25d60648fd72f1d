"""Dispatchers: a :class:`State` in, actions out."""

from __future__ import annotations

from typing import cast

from ..base import InputError, Registry
from ..models import NODE_ZERO, shift
from .conservative import Conservative
from .cp import ConstraintProgramming
from .cp_presets import HCP, HCP1, HCP2, HCP3, PCP, PCP1, PCP2, PCP3
from .easy import EASY, EASYSJBF
from .listing import FCFS, LJF, LXF, SJF, ListScheduler
from .lookahead import Lookahead
from .protocol import (
    Action,
    Dispatcher,
    IntArray,
    JobView,
    Placement,
    Reject,
    Running,
    ShapeView,
    Start,
    State,
    Stop,
    Waiting,
    Wake,
)
from .space import NodeSpace, PoolSpace, Space, space_of

registry = Registry("dispatcher", "hpcdispatch.dispatchers")


def create_dispatcher(spec: str | Dispatcher) -> Dispatcher:
    """Build a registered dispatcher from ``NAME:key=value,...``; an object that dispatches passes as it is.

    Raises
    ------
    InputError
        For an unknown name or option, or an object without a ``dispatch`` method.
    """
    if isinstance(spec, str):
        return cast(Dispatcher, registry.create(spec))
    if not callable(getattr(spec, "dispatch", None)) or isinstance(spec, type):
        raise InputError(f"dispatcher: expected a name or an object with dispatch(state), got {spec!r}")
    return spec


__all__ = [
    "EASY",
    "EASYSJBF",
    "FCFS",
    "HCP",
    "HCP1",
    "HCP2",
    "HCP3",
    "LJF",
    "LXF",
    "NODE_ZERO",
    "PCP",
    "PCP1",
    "PCP2",
    "PCP3",
    "SJF",
    "Action",
    "Conservative",
    "ConstraintProgramming",
    "Dispatcher",
    "IntArray",
    "JobView",
    "ListScheduler",
    "Lookahead",
    "NodeSpace",
    "Placement",
    "PoolSpace",
    "Reject",
    "Running",
    "ShapeView",
    "Space",
    "Start",
    "State",
    "Stop",
    "Waiting",
    "Wake",
    "create_dispatcher",
    "registry",
    "shift",
    "space_of",
]
