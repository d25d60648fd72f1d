"""Import the released AccaSim on Python versions that it does not support. All other modules import it from here.

AccaSim 1.1.3 imports ``Mapping`` from ``collections``, which Python 3.10 removed. Its docstrings have invalid escapes.
Both are fixed during the import only.
"""

import collections
import collections.abc
import warnings

_had_mapping = hasattr(collections, "Mapping")
if not _had_mapping:
    collections.Mapping = collections.abc.Mapping  # type: ignore[attr-defined]
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from accasim.base.additional_data import AdditionalData
        from accasim.base.allocator_class import AllocatorBase, FirstFit
        from accasim.base.event_class import Event, EventManager
        from accasim.base.resource_manager_class import ResourceManager, Resources
        from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut, JobVerification, SchedulerBase
        from accasim.base.simulator_class import Simulator
finally:
    if not _had_mapping:
        del collections.Mapping  # type: ignore[attr-defined]

__all__ = [
    "AdditionalData",
    "AllocatorBase",
    "EASYBackfilling",
    "Event",
    "EventManager",
    "FirstFit",
    "FirstInFirstOut",
    "JobVerification",
    "ResourceManager",
    "Resources",
    "SchedulerBase",
    "Simulator",
]
