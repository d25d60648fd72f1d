"""Choose the walltimes to request in sequence for a job with stochastic run time (Gainaru et al., ICPP 2019)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
