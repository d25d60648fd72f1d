"""Moldable jobs: their speedups, and the choice of processors to request (Cirne and Berman, JSSPP 2000)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
