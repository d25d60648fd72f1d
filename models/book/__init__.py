"""Reservations of waiting jobs beside what runs, compiled."""
