"""Tables of other simulators under their own rules, and what each rule changes."""

from .tables_and_rules import RUNS

__all__ = ["RUNS"]
