"""Jobs, machines and workloads: read, write, generate, fetch and describe them."""

import lazy_loader

# These functions have the names of modules. An imported module would hide its function.
from .describe import describe as describe
from .jitter import jitter as jitter

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
