"""The engine on AccaSim, its results, metrics and the check of the invariants."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
