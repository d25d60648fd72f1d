"""The engine on AccaSim, its results, its metrics and the check of schedules."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
