from .read_log import DefaultWalltime, TraceWarning
from .reading import read
from .run_table import RunColumns, read_runs
from .run_times import Unit, as_seconds, read_run_times
from .trace_files import save
from .writing import write, written_suffix

__all__ = [
    "DefaultWalltime",
    "RunColumns",
    "TraceWarning",
    "Unit",
    "as_seconds",
    "read",
    "read_run_times",
    "read_runs",
    "save",
    "write",
    "written_suffix",
]
