"""Rounds whose reservations stand over a whole simulation in compiled code: what is imported is used."""

from . import compiled_rounds as compiled_rounds
