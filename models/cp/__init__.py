"""The constraint-programming models on CP-SAT: pooled, with the nodes in one model, and by decomposition."""
