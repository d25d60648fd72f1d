"""What breaks around a simulation: `python -m faults --kills N`, with `tests` in the path, for a long time."""
