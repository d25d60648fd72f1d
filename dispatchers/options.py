"""Options that several dispatchers share, and their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from ..models import PlacementRule


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise ``ValueError`` unless `value` is one of the members of the ``Literal`` `choices`."""
    known = get_args(choices)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {value!r}")


def check_least(name: str, value: float | None, least: float) -> None:
    """Raise ``ValueError`` unless `value` is ``None`` or a finite number >= `least`."""
    if value is not None and not least <= value < float("inf"):
        raise ValueError(f"{name} must be a number >= {least:g}, got {value!r}")


@dataclass(frozen=True)
class PlacementOption:
    """The choice of how nodes are picked.

    Attributes
    ----------
    placement
        ``"first-fit"`` fills the nodes in their order; ``"best-fit"`` the one with the least free share first.
    """

    placement: PlacementRule = "first-fit"

    def __post_init__(self) -> None:
        check_choice("placement", self.placement, PlacementRule)
