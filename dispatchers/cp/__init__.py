"""The constraint-programming dispatchers PCP and HCP (Galleguillos et al., CP 2019)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
