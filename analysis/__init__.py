"""Questions asked of results and histories: how runs compare, what to request, who gives way, and so on."""

import lazy_loader

# Functions that the modules of their names would hide once these are imported.
from .cluster_state import cluster_state as cluster_state
from .paired import paired as paired

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
