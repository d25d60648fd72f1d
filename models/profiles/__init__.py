"""Availability over time: of one amount, of several amounts, or of amounts on nodes."""
