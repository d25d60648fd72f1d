"""The checks of numbers and options: each raises one line with the name, what was expected and what was received."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, get_args

import numpy as np

from .arrays import BoolArray, FloatArray

#: The longest time that is taken, seconds: over 300 years, also since 1970.
LONGEST = 10**10
#: The largest amount: a float still has every whole number up to it.
LARGEST = 2**53
#: Processors of a machine, of which the largest have ten million.
MOST_PROCESSORS = 10**9
#: The most that is drawn or simulated at once: jobs of a workload, each a few hundred bytes of memory, and nodes of a
#: machine, each looked at in every decision on nodes.
MOST_JOBS, MOST_NODES = 10**7, 2**20
#: What a decision may go through one after the other: jobs, plans of a search, values of a law.
MOST_STEPS = 100_000
#: The reasons for these bounds, as messages give them.
EACH_STEP, IN_MEMORY = "each costs time in every decision", "all are in memory at once"
#: Letters of a value that a message shows.
_SHOWN = 60
#: What the types of JSON are called.
_NAMES = {str: "text", int: "whole number", float: "number", dict: "object"}


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a field of the input may have, from `least` to `most`.

    Attributes
    ----------
    what
        What they are, such as ``seconds``.
    least, most
        The bounds, which are in it.
    whole
        Whether only whole numbers are.
    """

    what: str
    least: float = -LARGEST
    most: float = LARGEST
    whole: bool = False

    def outside(self, values: FloatArray) -> BoolArray:
        """Return which of many numbers are not in it, a whole column at once; nan is not, either."""
        inside = (values >= self.least) & (values <= self.most)
        return ~(inside & (values == np.trunc(values)) if self.whole else inside)

    def __str__(self) -> str:
        """Say what is expected."""
        least = "" if self.least == -self.most else f"from {_plain(self.least)} "
        return f"{self.what} {least}{'to' if least else 'up to'} {_plain(self.most)}"


#: Those of most fields, in which a negative number stands for an unknown one.
SECONDS = Range("seconds", -LONGEST, LONGEST)
AMOUNT = Range("a number")
COUNT = Range("a whole number", whole=True)
PROCESSORS = Range("a whole number", -MOST_PROCESSORS, MOST_PROCESSORS, whole=True)


def shown(value: Any) -> str:
    """Return a value as it was received, cut short where it is long, for a message of one line."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 8 * _SHOWN:
        return f"a number of {value.bit_length():,} bits"  # Python turns no more than so many digits into text
    try:
        text = repr(value[: 2 * _SHOWN] if isinstance(value, str | bytes) else value)
    except Exception as error:  # noqa: BLE001 - a plugged-in part may hand over anything
        text = f"a {type(value).__name__} of which repr raises {type(error).__name__}"
    return text if len(text) <= _SHOWN + 20 else f"{text[:_SHOWN]}..."


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise ``ValueError`` unless `value` is one of `choices`, a ``Literal`` or a sequence."""
    known = get_args(choices) or choices
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {shown(value)}")


def check_types(where: str, found: Any, types: Mapping[str, Any], optional: Collection[str] = ()) -> None:
    """Raise ``ValueError`` unless `found` is an object of JSON with fields of the types given; others may be there.

    Parameters
    ----------
    where
        What it is called in messages.
    types
        For each field a type, a list of the type of its items, or a mapping as this one for an object.
    optional
        The fields, also of objects within it, that need not be there.
    """
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected an object, got {shown(found)}")
    for name, kind in types.items():
        if name not in found:
            if name in optional:
                continue
            raise ValueError(f"{where}: field {name!r}: expected it, got none")
        value = found[name]
        if isinstance(kind, Mapping):
            check_types(f"{where}: {name}", value, kind, optional)
        elif isinstance(kind, list):
            if not isinstance(value, list) or not all(_is(each, kind[0]) for each in value):
                raise ValueError(f"{where}: field {name!r}: expected a list of {_NAMES[kind[0]]}s, got {shown(value)}")
        elif not _is(value, kind):
            raise ValueError(f"{where}: field {name!r}: expected a {_NAMES[kind]}, got {shown(value)}")


def _is(value: Any, kind: type) -> bool:
    if kind in (int, float):
        return is_number(value) and (kind is float or isinstance(value, int))
    return isinstance(value, kind)


def check_text(name: str, value: Any, none: bool = False) -> None:
    """Raise ``ValueError`` unless `value` is a text or, with `none`, ``None``."""
    if not isinstance(value, str) and not (none and value is None):
        raise ValueError(f"{name} must be a text, got {shown(value)}")


def check_flag(name: str, value: Any) -> None:
    """Raise ``ValueError`` unless `value` is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {shown(value)}")


def check_whole(name: str, value: Any, least: int, most: int | None = None, why: str = "") -> int:
    """Return `value` as an int.

    Raises
    ------
    ValueError
        Unless it is a whole number from `least` to `most`, without which it is :data:`LARGEST`; `why` says the reason
        for the bound above.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    above = number is not None and number > (LARGEST if most is None else most)
    if number is None or number < least or above:
        most = LARGEST if above and most is None else most
        wanted = f"a whole number >= {least}" + (f" and <= {most}" if most is not None else "")
        raise ValueError(f"{name} must be {wanted}{f' ({why})' if above and why else ''}, got {shown(value)}")
    return number


def is_number(value: Any) -> bool:
    """Tell whether `value` is a number of at most :data:`LARGEST`, which leaves out inf and nan."""
    return is_real(value) and -LARGEST <= value <= LARGEST


def is_real(value: Any) -> bool:
    """Tell whether `value` is a real number, inf and nan among them."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_number(
    name: str,
    value: Any,
    *,
    least: float = -inf,
    above: float = -inf,
    most: float = inf,
    below: float = inf,
    none: bool = False,
    infinite: bool = False,
) -> None:
    """Raise ``ValueError`` unless `value` is a number within the bounds, or, with `none`, ``None``.

    Without bounds it is one of at most :data:`LARGEST`; with `infinite` it may be ``inf`` as well.
    """
    if (
        (value is None and none)
        or (infinite and value == inf)
        or (is_number(value) and least <= value <= most and above < value < below)
    ):
        return
    if isinstance(value, int | float) and LARGEST < abs(value) < inf:
        least, most = (least, min(most, LARGEST)) if value > 0 else (max(least, -LARGEST), most)
    bounds = ((">=", least), (">", above), ("<=", most), ("<", below))
    wanted = " and ".join(f"{sign} {_plain(bound)}" for sign, bound in bounds if isfinite(bound))
    raise ValueError(
        f"{name} must be {' '.join(filter(None, ('a number', wanted, 'or none' * none)))}, got {shown(value)}"
    )
