"""Algorithms of a portfolio: the cost of a replay, the selection of candidates, and when to change."""
