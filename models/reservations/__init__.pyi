from .checkpointed_sequences import (
    Checkpointing,
    evaluate_checkpointed,
    longest_worthwhile,
    optimal_checkpointed_sequence,
)
from .fits import Fit, fit
from .laws import ESDD, Distribution, binned, discretize, from_samples, thinned
from .optimal_sequences import Cost, Sequence, evaluate, expected_makespan, optimal_sequence

__all__ = [
    "ESDD",
    "Checkpointing",
    "Cost",
    "Distribution",
    "Fit",
    "Sequence",
    "binned",
    "discretize",
    "evaluate",
    "evaluate_checkpointed",
    "expected_makespan",
    "fit",
    "from_samples",
    "longest_worthwhile",
    "optimal_checkpointed_sequence",
    "optimal_sequence",
    "thinned",
]
