"""Checks of numbers and options. Each raises one line with the name, the expected and the received value."""

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from math import inf, isfinite
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from .arrays import BoolArray, FloatArray

#: Longest allowed time, seconds: over 300 years, also since 1970.
LONGEST = 10**10
#: Largest amount. A float represents every whole number up to it.
LARGEST = 2**53
#: Most processors of a machine. The largest machines have ten million.
MOST_PROCESSORS = 10**9
#: Most jobs of a workload, each a few hundred bytes of memory. And most nodes of a machine, each read in every decision
#: on nodes.
MOST_JOBS, MOST_NODES = 10**7, 2**20
#: Most items that a decision may process in sequence: jobs, plans of a search, values of a law.
MOST_STEPS = 100_000
#: Reasons for these bounds, for messages.
EACH_STEP = "each costs time in every decision"
IN_MEMORY = "all are in memory at once"
#: Longest value in a message, letters.
_SHOWN = 60
#: Number of cached types of options. Reading them takes longer than most constructors.
_KEPT = 512
#: Names of JSON types.
_NAMES = {str: "text", int: "whole number", float: "number", dict: "object"}


@dataclass(frozen=True, slots=True)
class Range:
    """Allowed numbers of an input field, from `least` to `most`.

    Attributes
    ----------
    what
        What the numbers are, such as ``seconds``.
    least, most
        Bounds, inclusive.
    whole
        Whether only whole numbers are allowed.
    """

    what: str
    least: float = -LARGEST
    most: float = LARGEST
    whole: bool = False

    def outside(self, values: FloatArray) -> BoolArray:
        """Return which numbers of a column are not allowed. NaN is never allowed."""
        inside = (values >= self.least) & (values <= self.most)
        return ~(inside & (values == np.trunc(values)) if self.whole else inside)

    def __str__(self) -> str:
        """Return what is expected."""
        least = "" if self.least == -self.most else f"from {_plain(self.least)} "
        return f"{self.what} {least}{'to' if least else 'up to'} {_plain(self.most)}"


#: Ranges of most fields. A negative number means unknown.
SECONDS = Range("seconds", -LONGEST, LONGEST)
AMOUNT = Range("a number")
COUNT = Range("a whole number", whole=True)
PROCESSORS = Range("a whole number", -MOST_PROCESSORS, MOST_PROCESSORS, whole=True)


def shown(value: Any) -> str:
    """Return a value for a one-line message, shortened if long."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 8 * _SHOWN:
        return f"a number of {value.bit_length():,} bits"  # Python converts only a limited number of digits to text
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
    """Raise ``ValueError`` unless `found` is a JSON object with these types. It may have further fields.

    Parameters
    ----------
    where
        Its name in messages.
    types
        Type of each field. A list holds the type of its items, a mapping the fields of an object.
    optional
        Fields that may be missing, also in inner objects.
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
        Unless it is a whole number from `least` to `most`, by default :data:`LARGEST`. `why` gives the reason for the
        upper bound.
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
    """Return whether `value` is a number of at most :data:`LARGEST`. False for inf and nan."""
    return is_real(value) and -LARGEST <= value <= LARGEST


def is_real(value: Any) -> bool:
    """Return whether `value` is a real number, including inf and nan."""
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
    """Raise ``ValueError`` unless `value` is a number within the bounds or, with `none`, ``None``.

    Without bounds, at most :data:`LARGEST`. With `infinite`, ``inf`` is allowed too.
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


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of an option, in its annotation: ``jobs: Annotated[int, whole(1)] = 10``."""

    check: Callable[..., Any]
    limits: Mapping[str, Any]


def whole(least: int, most: int | None = None, why: str = "") -> Bounds:
    """Return the bounds of a whole number, as :func:`check_whole` has them."""
    return Bounds(check_whole, {"least": least, "most": most, "why": why})


def number(**limits: float) -> Bounds:
    """Return the bounds of a number, as :func:`check_number` has them."""
    return Bounds(check_number, limits)


class Checked:
    """A dataclass of options. Each value must be a choice of its ``Literal``, and within its :class:`Bounds`.

    Raises
    ------
    ValueError
        If one is not. ``None`` is allowed where the annotation allows it.
    """

    def __post_init__(self) -> None:
        kind: Any = type(self)
        hints = _hints(kind)
        for each in fields(kind):
            hint = hints[each.name]
            value = getattr(self, each.name)
            if get_origin(hint) is Literal:
                check_choice(each.name, value, hint)
            none = NoneType in get_args(getattr(hint, "__origin__", None))
            for bounds in getattr(hint, "__metadata__", ()):
                more = {"none": none} if bounds.check is check_number else {}
                if value is not None or not none:
                    bounds.check(each.name, value, **bounds.limits, **more)


@lru_cache(_KEPT)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
