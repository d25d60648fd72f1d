"""The constraint-programming models on CP-SAT: pooled, with the nodes in one model, and by decomposition."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
