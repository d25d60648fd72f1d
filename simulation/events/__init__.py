"""Events of a simulation: their calendar, and event managers in Python and compiled code."""
