from .closed_loops import closed_loop
from .describe import Description, describe, expected_waits
from .failures import FailureLaw, with_failures
from .fetching import at_hand, fetch
from .formats import RunColumns, TraceWarning, read, read_run_times, read_runs, write
from .generators.accre import accre
from .generators.eviction_scenarios import draw_checkpoints, theta_scenario
from .generators.generator import GENERATORS, generate
from .generators.intrepid import intrepid_neuroscience
from .generators.lublin import lublin
from .generators.stochastic import stochastic
from .generators.theta import theta
from .jitter import jitter
from .job import Checkpoint, Job, ResourceMap, Shape
from .machine import Machine
from .machine_rules import Limit, Outage, Power, Reservation
from .machine_state import EndedJob, MachineState, RunningSince, recorded_state
from .molding import Speedup, SpeedupLaw, mold
from .operating_conditions import OperatingConditions
from .power_caps import with_power_cap
from .resampling import resample
from .signals import Signal, wait_for_better_hours
from .slurm_cluster import Snapshot, read_cluster
from .workload import Provenance, Workload

__all__ = [
    "GENERATORS",
    "Checkpoint",
    "Description",
    "EndedJob",
    "FailureLaw",
    "Job",
    "Limit",
    "Machine",
    "MachineState",
    "OperatingConditions",
    "Outage",
    "Power",
    "Provenance",
    "Reservation",
    "ResourceMap",
    "RunColumns",
    "RunningSince",
    "Shape",
    "Signal",
    "Snapshot",
    "Speedup",
    "SpeedupLaw",
    "TraceWarning",
    "Workload",
    "accre",
    "at_hand",
    "closed_loop",
    "describe",
    "draw_checkpoints",
    "expected_waits",
    "fetch",
    "generate",
    "intrepid_neuroscience",
    "jitter",
    "lublin",
    "mold",
    "read",
    "read_cluster",
    "read_run_times",
    "read_runs",
    "recorded_state",
    "resample",
    "stochastic",
    "theta",
    "theta_scenario",
    "wait_for_better_hours",
    "with_failures",
    "with_power_cap",
    "write",
]
