"""Rounds with standing reservations over a whole simulation in compiled code. The package exports what it imports."""

from . import compiled_rounds as compiled_rounds
