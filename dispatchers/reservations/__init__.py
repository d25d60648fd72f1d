"""Walltimes of stochastic jobs, and the round-based scheduler of the paper."""
