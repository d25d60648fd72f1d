"""Batch jobs that give way to on-demand jobs (Maurya et al., DS-RT 2020)."""
