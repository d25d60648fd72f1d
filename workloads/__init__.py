"""Jobs, machines and workloads."""

from .job import Checkpoint, Job, ResourceMap, Shape
from .machine import Machine
from .workload import Provenance, Workload

__all__ = ["Checkpoint", "Job", "Machine", "Provenance", "ResourceMap", "Shape", "Workload"]
