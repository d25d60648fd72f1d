"""How many random inputs a test draws: nights all, ``make test`` a part of them, the same ones each time."""

from hypothesis import settings

#: The part of the inputs in ``make test``, and the least number.
_SHARE, _LEAST = 12, 4


def number_of_inputs(at_night: int, least: int = _LEAST) -> int:
    """Return how many random inputs a test draws now that draws `at_night` ones at night."""
    return max(at_night // _SHARE, min(at_night, least)) if settings.default.derandomize else at_night
