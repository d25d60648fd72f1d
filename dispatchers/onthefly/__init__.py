"""Dispatching on the fly, by reservation, and both by turns (Gainaru et al., IJHPCA 2019)."""
