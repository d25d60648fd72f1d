from .cluster_state import cluster_state
from .curves import used_between, utilization
from .eviction_moments import eviction_front, recorded_starts, scenario_at
from .eviction_scenario import Scenario, read_scenario, scenario_of, write_scenario
from .paired import LEAST_FOR_TEST, compare_pairs, paired_differences, ratio_of_means, sign_test, wilcoxon_test
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
from .trimming import NOTHING, Cut, Window, steady_state
from .workflows import EXPLAINS, PERCENTILES, Workflow, analyze, class_table, phase_table, summary_table

__all__ = [
    "EXPLAINS",
    "GROWTH",
    "LEAST_FOR_TEST",
    "LEAST_TO_HALVE",
    "LEAST_TO_TRUST",
    "METRICS",
    "NOTHING",
    "PERCENTILES",
    "STATISTICS",
    "Advice",
    "Cut",
    "Planning",
    "PredictorEvaluation",
    "Scenario",
    "Strategy",
    "StrategyResult",
    "Window",
    "Workflow",
    "advise",
    "analyze",
    "class_table",
    "cluster_state",
    "compare_pairs",
    "describe",
    "evaluate_predictors",
    "eviction_front",
    "fairness",
    "fare",
    "jain",
    "paired_differences",
    "phase_table",
    "prediction",
    "ratio_of_means",
    "read_scenario",
    "recorded_starts",
    "run_time_class",
    "scenario_at",
    "scenario_of",
    "sign_test",
    "statistics_by_class",
    "steady_state",
    "strategies",
    "summary_table",
    "used_between",
    "utilization",
    "wilcoxon_test",
    "write_scenario",
]
