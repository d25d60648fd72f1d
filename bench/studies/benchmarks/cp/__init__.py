"""What the constraint-programming dispatchers cost, prove and bring; parts of one command."""

from .parts import Setting, load, main

__all__ = ["Setting", "load", "main"]
