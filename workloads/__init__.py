"""Jobs, machines and workloads: reading, writing, generating, fetching and describing them."""

from .accre import accre
from .describe import Description, describe
from .fetching import fetch
from .generators import GENERATORS, generate, workload_names
from .intrepid import intrepid_neuroscience
from .jitter import jitter
from .job import Checkpoint, Job, ResourceMap, Shape
from .lublin import lublin
from .machine import Machine
from .reading import read
from .run_table import RunColumns, read_runs
from .run_times import read_run_times
from .scenarios import theta_scenario
from .stochastic import stochastic
from .swf_writer import write
from .theta import theta
from .trouble import TraceWarning
from .waits import expected_waits
from .workflows import WorkflowModel, workflow_logs
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
    "TraceWarning",
    "WorkflowModel",
    "Workload",
    "accre",
    "describe",
    "expected_waits",
    "fetch",
    "generate",
    "intrepid_neuroscience",
    "jitter",
    "lublin",
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
