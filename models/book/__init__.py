"""Compiled reservations of waiting jobs beside running jobs."""
