"""Jobs, machines and workloads: reading, writing, generating, fetching and describing them."""

from .describe import Description, describe
from .fetching import fetch
from .formats.read_log import TraceWarning
from .formats.reading import read
from .formats.run_table import RunColumns, read_runs
from .formats.run_times import read_run_times
from .formats.swf_writer import write
from .generators import GENERATORS, generate, workload_names
from .generators.accre import accre
from .generators.eviction_scenarios import theta_scenario
from .generators.intrepid import intrepid_neuroscience
from .generators.lublin import lublin
from .generators.stochastic import stochastic
from .generators.theta import theta
from .generators.workflow_logs import WorkflowModel, workflow_logs
from .jitter import jitter
from .job import Checkpoint, Job, ResourceMap, Shape
from .machine import Machine
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
