"""Costs and quality of hpcdispatch. Each is measured against a named baseline in the same run."""
