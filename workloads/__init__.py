"""Jobs, machines and workloads: reading, writing, generating, fetching and describing them."""

from .describe import Description, describe
from .fetching import fetch
from .generators import GENERATORS, generate, workload_names
from .jitter import jitter
from .job import Checkpoint, Job, ResourceMap, Shape
from .lublin import lublin
from .machine import Machine
from .reading import read
from .swf_writer import write
from .trouble import TraceWarning
from .waits import expected_waits
from .workload import Provenance, Workload

__all__ = [
    "GENERATORS",
    "Checkpoint",
    "Description",
    "Job",
    "Machine",
    "Provenance",
    "ResourceMap",
    "Shape",
    "TraceWarning",
    "Workload",
    "describe",
    "expected_waits",
    "fetch",
    "generate",
    "jitter",
    "lublin",
    "read",
    "workload_names",
    "write",
]
