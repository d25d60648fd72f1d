from .backfilling.conservative import Conservative
from .backfilling.easy import EASY, EASYSJBF, PBS
from .backfilling.list_scheduling import FCFS, LJF, LXF, SJF, ListScheduler
from .backfilling.orders import QueueOrder, orders
from .cp import HCP, HCP1, HCP2, HCP3, PCP, PCP1, PCP2, PCP3, PCP21, ConstraintProgramming, PCPFast
from .eviction import Evict
from .lookahead import Guarded, Lookahead
from .moldable import SA
from .onthefly.hybrid import Hybrid
from .onthefly.onthefly import LEJF, SEJF
from .onthefly.rbs import RBS
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
from .reservations.reservation_sequences import ReservationSequences
from .reservations.rounds import Rounds
from .reservations.sequence_presets import ATOptimal, ClassicHPC, Neuroscience, TOptimal
from .reservations.soft_sequences import SoftTOptimal
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
    "QueueOrder",
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
    "orders",
    "registry",
    "space_of",
]
