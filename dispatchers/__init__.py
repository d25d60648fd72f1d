"""Dispatchers: a :class:`State` in, actions out."""

from __future__ import annotations

from ..models import NODE_ZERO, shift
from .conservative import Conservative
from .cp import ConstraintProgramming
from .cp_presets import HCP, HCP1, HCP2, HCP3, PCP, PCP1, PCP2, PCP3
from .easy import EASY, EASYSJBF
from .evict import Evict
from .hybrid import Hybrid
from .listing import FCFS, LJF, LXF, SJF, ListScheduler
from .lookahead import Lookahead
from .onthefly import LEJF, SEJF
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
from .rbs import RBS
from .registered import create_dispatcher, registry
from .rounds import Rounds
from .sequences import ATOptimal, ClassicHPC, Neuroscience, ReservationSequences, TOptimal
from .space import NodeSpace, PoolSpace, Space, space_of

__all__ = [
    "EASY",
    "EASYSJBF",
    "FCFS",
    "HCP",
    "HCP1",
    "HCP2",
    "HCP3",
    "LEJF",
    "LJF",
    "LXF",
    "NODE_ZERO",
    "PCP",
    "PCP1",
    "PCP2",
    "PCP3",
    "RBS",
    "SEJF",
    "SJF",
    "ATOptimal",
    "Action",
    "ClassicHPC",
    "Conservative",
    "ConstraintProgramming",
    "Dispatcher",
    "Evict",
    "Hybrid",
    "IntArray",
    "JobView",
    "ListScheduler",
    "Lookahead",
    "Neuroscience",
    "NodeSpace",
    "Placement",
    "PoolSpace",
    "Reject",
    "ReservationSequences",
    "Rounds",
    "Running",
    "ShapeView",
    "Space",
    "Start",
    "State",
    "Stop",
    "TOptimal",
    "Waiting",
    "Wake",
    "create_dispatcher",
    "registry",
    "shift",
    "space_of",
]
