"""Events of a simulation: their calendar, and the event managers in Python and in compiled code."""
