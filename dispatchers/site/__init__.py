"""What a site asks of schedules: constraints on jobs, and what parts that see a whole plan are given of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
