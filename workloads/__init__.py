"""Jobs, machines and workloads: reading, writing, generating, fetching and describing them."""

import lazy_loader

# Functions that the modules of their names would hide once these are imported.
from .describe import describe as describe
from .jitter import jitter as jitter

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
