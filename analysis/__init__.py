"""Analyses of results and histories: compare runs, choose requests, choose evictions, and more."""

import lazy_loader

# These functions have the names of modules. An imported module would hide its function.
from .cluster_state import cluster_state as cluster_state
from .conclusions import conclusions as conclusions

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
