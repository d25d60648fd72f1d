"""Shared by all layers: the error for bad input, and registries of plug-in parts."""

from .arrays import BoolArray, FloatArray, IntArray
from .errors import InputError
from .registry import Option, Registry, convert_options, options_of, parse_spec, unknown_option

__all__ = [
    "BoolArray",
    "FloatArray",
    "InputError",
    "IntArray",
    "Option",
    "Registry",
    "convert_options",
    "options_of",
    "parse_spec",
    "unknown_option",
]
