from .backfilling import EASY, EASYSJBF, FCFS, LJF, LXF, PBS, SJF, Conservative, ListScheduler
from .cp import HCP, HCP1, HCP2, HCP3, PCP, PCP1, PCP2, PCP3, PCP21, ConstraintProgramming, PCPFast
from .eviction import Evict
from .lookahead import Guarded, Lookahead
from .moldable import SA
from .onthefly import LEJF, RBS, SEJF, Hybrid
from .portfolio import Portfolio
from .protocol import (
    Action,
    Dispatcher,
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
from .registered import create_dispatcher, registry
from .reservations import (
    ATOptimal,
    ClassicHPC,
    Neuroscience,
    ReservationSequences,
    Rounds,
    SoftTOptimal,
    TOptimal,
)
from .slurm import Slurm
from .space import NODE_ZERO, NodeSpace, PoolSpace, Space, space_of
from .warm_start import WarmStart

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
    "PBS",
    "PCP",
    "PCP1",
    "PCP2",
    "PCP3",
    "PCP21",
    "RBS",
    "SA",
    "SEJF",
    "SJF",
    "ATOptimal",
    "Action",
    "ClassicHPC",
    "Conservative",
    "ConstraintProgramming",
    "Dispatcher",
    "Evict",
    "Guarded",
    "Hybrid",
    "JobView",
    "ListScheduler",
    "Lookahead",
    "Neuroscience",
    "NodeSpace",
    "PCPFast",
    "Placement",
    "PoolSpace",
    "Portfolio",
    "Reject",
    "ReservationSequences",
    "Rounds",
    "Running",
    "ShapeView",
    "Slurm",
    "SoftTOptimal",
    "Space",
    "Start",
    "State",
    "Stop",
    "TOptimal",
    "Waiting",
    "Wake",
    "WarmStart",
    "create_dispatcher",
    "registry",
    "space_of",
]
