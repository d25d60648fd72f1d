"""What the constraint-programming dispatchers cost, prove and bring; parts of one command."""

from .parts import PartsSetting, load, main

__all__ = ["PartsSetting", "load", "main"]
