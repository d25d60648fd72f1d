"""Every dispatcher x overrun mode x predictor: `python -m cross`, with `tests` in the path."""
