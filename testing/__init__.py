"""Tools for authors of dispatchers and predictors: small workloads, and checks for every part.

``check_dispatcher("mine")`` and ``check_predictor("mine")`` run a part through simulations. They raise if it breaks a
rule of the framework.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
