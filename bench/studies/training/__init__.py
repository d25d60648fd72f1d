"""Learned policies: how fast environments are, and what training gains."""
