"""What can go wrong while a simulation runs."""

from __future__ import annotations


class SimulationError(RuntimeError):
    """A simulation cannot go on: the dispatcher or the predictor did something that has no meaning."""


class ActionError(SimulationError):
    """A dispatcher asked for something impossible; the message says when, for which job, and what was expected."""


class InvariantError(SimulationError):
    """A finished schedule breaks an invariant; the message lists the first violations."""
