"""The command line: thin commands over the rest. Heavy imports wait until a command needs them."""

from .app import cli, main

__all__ = ["cli", "main"]
