"""Texts of the help."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """Return the lines as a block that click does not wrap."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
