"""Durations as text, with the same grammar for reading and printing."""

import math
import re
import sys

from .checks import LONGEST, check_number, shown

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_LETTERS = re.compile(
    r"\s*".join(rf"(?:(?P<{unit}>\d+(?:\.\d+)?)\s*{unit}{'?' if unit == 's' else ''})?" for unit in _UNITS)
)
#: Slurm's forms: D-HH, D-HH:MM and D-HH:MM:SS, or HH:MM:SS and MM:SS.
_DAYS = re.compile(r"(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+)(?::(?P<s>\d+))?)?")
_CLOCK = re.compile(r"(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+)")
#: Forms of a duration, for messages.
FORMS = "90s, 15m, 2h, 1d12h or 2-00:00:00"


def seconds_of(value: float | str) -> int:
    """Return whole seconds from a number or a text.

    Text is ``90``, ``90s``, ``15m``, ``1h30m``, ``1.5h``, ``1d12h``, or in Slurm's form: ``2-00:00:00``, ``2-12``,
    ``1:30:00`` or ``30:00``, minutes and seconds.

    Raises
    ------
    ValueError
        For anything else, or more than :data:`~.checks.LONGEST`.
    """
    if not isinstance(value, str):
        check_number("a time", value, least=0, most=LONGEST)
        return int(value)
    text = value.strip().lower()
    time_match = next((match for form in (_LETTERS, _DAYS, _CLOCK) if (match := form.fullmatch(text))), None)
    if not time_match or not any(time_match.groups()):
        raise ValueError(f"expected a time such as {FORMS}, got {shown(value)}")
    seconds = sum(float(number) * _UNITS[unit] for unit, number in time_match.groupdict().items() if number)
    if seconds > LONGEST:
        raise ValueError(f"expected at most {LONGEST} s, got {shown(value)}")
    return round(seconds)


def time_text(seconds: float, units: int = 2) -> str:
    """Return a duration as :func:`seconds_of` reads it: ``45s``, ``12m30s``, ``2h05m``, ``3d04h``.

    Parameters
    ----------
    seconds
        The duration. Below 10 s it keeps one decimal. NaN becomes a dash.
    units
        Number of units, from the largest on. The last one is rounded. 4 shows all.
    """
    if not math.isfinite(seconds):
        return "-"
    if 0 < abs(seconds) < 9.95 and units < len(_UNITS) and not float(seconds).is_integer():
        return f"{seconds:.1f}s"
    sizes = list(_UNITS.values())
    whole = round(abs(seconds))
    for _ in range(2):  # rounding may carry into a larger unit
        largest = next((index for index, size in enumerate(sizes) if whole >= size), len(sizes) - 1)
        last = min(largest + units, len(sizes)) - 1
        whole = round(whole / sizes[last]) * sizes[last]
    texts: list[str] = []
    left = whole
    for index, (unit, size) in enumerate(_UNITS.items()):
        number, left = divmod(left, size)
        if largest <= index <= last and (number or index == largest):
            texts.append(f"{number:02}{unit}" if texts else f"{number}{unit}")
    sign = "-" if seconds < 0 and whole else ""
    return sign + "".join(texts)


def seconds_option(name: str, value: float | str, least: int = 0, infinite: bool = False) -> int:
    """Return the whole seconds of an option, as :func:`seconds_of` does. ``sys.maxsize`` for ``inf`` if `infinite`.

    Raises
    ------
    ValueError
        If it is not a time, or below `least`. Names the option.
    """
    if infinite and value in (math.inf, "inf"):
        return sys.maxsize
    try:
        seconds = seconds_of(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if seconds < least:
        raise ValueError(f"{name} must be at least {least} s, got {value!r}")
    return seconds
