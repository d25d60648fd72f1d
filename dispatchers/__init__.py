"""Dispatchers: a :class:`State` in, actions out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _repr_html_() -> str:
    """Return the registered dispatchers as a table for notebooks."""
    return __getattr__("registry")._repr_html_()
