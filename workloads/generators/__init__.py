"""Generators of workloads, by name."""
