"""Constraint-programming models on CP-SAT, with and without nodes."""

import lazy_loader

from ...base.old_names import with_old_names

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = with_old_names(__name__, {"Budget": "DecisionBudget", "Limit": "SolverLimit"}, __getattr__)
