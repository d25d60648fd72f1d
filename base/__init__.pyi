from .arrays import BoolArray, FloatArray, IntArray, count_slots, rises
from .checks import LONGEST, check_choice, check_number, check_whole, shown
from .errors import InputError
from .files import read_bounded
from .registry import (
    Option,
    Registry,
    convert_options,
    distinct_labels,
    options_of,
    parse_spec,
    part_label,
    register,
    unknown_option,
)
from .time_texts import seconds_of, time_text
from .unfinished_files import write_whole

__all__ = [
    "LONGEST",
    "BoolArray",
    "FloatArray",
    "InputError",
    "IntArray",
    "Option",
    "Registry",
    "check_choice",
    "check_number",
    "check_whole",
    "convert_options",
    "count_slots",
    "distinct_labels",
    "options_of",
    "parse_spec",
    "part_label",
    "read_bounded",
    "register",
    "rises",
    "seconds_of",
    "shown",
    "time_text",
    "unknown_option",
    "write_whole",
]
