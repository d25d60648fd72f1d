"""Choose running jobs to evict for an on-demand job, at the least loss (Maurya et al., DS-RT 2020)."""

import lazy_loader

# This function has the name of its module. The imported module would hide it.
from .greedy import greedy as greedy

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
