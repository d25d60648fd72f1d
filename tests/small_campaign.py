"""The text of a campaign of 24 small cells, to be disturbed."""

from __future__ import annotations

TEXT = """
dispatchers = ["fcfs", "easy", "easy-sjbf", "lxf"]
predictors = ["walltime", "last2"]
jitter = 30
seeds = 3

[[workload]]
source = "lublin:jobs={jobs},processors=64,load=0.9"
"""
