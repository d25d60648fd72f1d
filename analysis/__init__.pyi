from .cluster_state import cluster_state
from .conclusions import Daily, Estimate, conclusions, of_days, of_samples, spread
from .eviction_moments import eviction_front, recorded_starts, scenario_at
from .eviction_scenario import Scenario, read_scenario, scenario_of, write_scenario
from .predictor_evaluation import PredictorEvaluation, evaluate_predictors
from .requests import (
    GROWTH,
    LEAST_TO_HALVE,
    LEAST_TO_TRUST,
    Advice,
    Planning,
    Strategy,
    StrategyResult,
    advise,
    fare,
    strategies,
)
from .statistics import METRICS, STATISTICS, describe, fairness, jain, prediction, run_time_class, statistics_by_class
from .workflows import EXPLAINS, PERCENTILES, Workflow, analyze, class_table, phase_table, summary_table

__all__ = [
    "EXPLAINS",
    "GROWTH",
    "LEAST_TO_HALVE",
    "LEAST_TO_TRUST",
    "METRICS",
    "PERCENTILES",
    "STATISTICS",
    "Advice",
    "Daily",
    "Estimate",
    "Planning",
    "PredictorEvaluation",
    "Scenario",
    "Strategy",
    "StrategyResult",
    "Workflow",
    "advise",
    "analyze",
    "class_table",
    "cluster_state",
    "conclusions",
    "describe",
    "evaluate_predictors",
    "eviction_front",
    "fairness",
    "fare",
    "jain",
    "of_days",
    "of_samples",
    "phase_table",
    "prediction",
    "read_scenario",
    "recorded_starts",
    "run_time_class",
    "scenario_at",
    "scenario_of",
    "spread",
    "statistics_by_class",
    "strategies",
    "summary_table",
    "write_scenario",
]
