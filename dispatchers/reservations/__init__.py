"""Stochastic jobs: which times to request for them, and the round-based scheduler of the paper on them."""
