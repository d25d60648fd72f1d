"""How long will a job run? Predictors, from the walltime to the data-driven heuristic.

A predictor is anything with `predict` and `observe` (`Predictor`); it may also correct itself (`Correcting`),
give a distribution (`Distributional`) and start afresh (`Resettable`). Third parties register theirs under
the entry-point group ``hpcdispatch.predictors``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _repr_html_() -> str:
    """Return the registered ones as a table, which a notebook shows."""
    html: str = __getattr__("registry")._repr_html_()
    return html
