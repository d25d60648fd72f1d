"""Rules of a site: constraints on jobs, and the view of whole plans for constraints and objectives."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
