"""Run-time predictors, from the walltime to the data-driven heuristic.

A predictor has `predict` and `observe` (`Predictor`). It may also correct itself (`Correcting`), give a distribution
(`Distributional`) and reset (`Resettable`). Third parties register theirs under the entry-point group
``hpcdispatch.predictors``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _repr_html_() -> str:
    """Return the registered predictors as a table for notebooks."""
    return __getattr__("registry")._repr_html_()
