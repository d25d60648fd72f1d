"""Jobs, machines and workloads: reading, writing, generating, fetching and describing them."""

from .describe import Description, describe
from .fetching import fetch
from .formats import RunColumns, TraceWarning, read, read_run_times, read_runs, write
from .generators import (
    GENERATORS,
    WorkflowModel,
    accre,
    eurora,
    generate,
    intrepid_neuroscience,
    lublin,
    stochastic,
    theta,
    theta_scenario,
    workflow_logs,
    workload_names,
)
from .jitter import jitter
from .job import Checkpoint, Job, ResourceMap, Shape
from .machine import Machine
from .molding import Speedup, SpeedupLaw, mold
from .recorded_waits import expected_waits
from .workload import Provenance, Workload

__all__ = [
    "GENERATORS",
    "Checkpoint",
    "Description",
    "Job",
    "Machine",
    "Provenance",
    "ResourceMap",
    "RunColumns",
    "Shape",
    "Speedup",
    "SpeedupLaw",
    "TraceWarning",
    "WorkflowModel",
    "Workload",
    "accre",
    "describe",
    "eurora",
    "expected_waits",
    "fetch",
    "generate",
    "intrepid_neuroscience",
    "jitter",
    "lublin",
    "mold",
    "read",
    "read_run_times",
    "read_runs",
    "stochastic",
    "theta",
    "theta_scenario",
    "workflow_logs",
    "workload_names",
    "write",
]
