"""Shared by all layers: checks of bad input and its error, registries of plug-in parts, files and durations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
