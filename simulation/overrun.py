"""What happens to a job that reaches its walltime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..base import LONGEST, InputError, check_number, check_whole, convert_options, options_of, parse_spec, shown
from ..base.time_texts import seconds_option

OverrunMode = Literal["run", "kill", "resubmit"]


@dataclass(frozen=True, slots=True)
class Overrun:
    """What happens to a job that reaches its walltime.

    Attributes
    ----------
    mode
        ``"run"``: it continues to its end. ``"kill"``: it ends there, and its work is lost. ``"resubmit"``: it is
        killed, and returns to the end of the queue with a larger walltime.
    factor
        Factor on the walltime of a resubmission, above 1.
    cap
        The largest walltime, seconds. A job killed at it is rejected. ``None``: no cap.

    Raises
    ------
    ValueError
        If a value is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import Overrun
    >>> from hpcdispatch.testing import overrunning
    >>> result = hd.simulate(overrunning(), "easy", overrun=Overrun("resubmit", factor=2.0))
    >>> int(result.jobs["attempts"].max())
    3
    """

    mode: OverrunMode = "run"
    factor: float = 1.5
    cap: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in get_args(OverrunMode):
            raise ValueError(f"overrun: expected one of {', '.join(get_args(OverrunMode))}, got {shown(self.mode)}")
        check_number("overrun: factor", self.factor, above=1)
        if self.cap is not None:
            check_whole("overrun: cap", self.cap, 1, LONGEST)

    @classmethod
    def parse(cls, spec: str | Overrun) -> Overrun:
        """Build it from text such as ``kill`` or ``resubmit:factor=1.3,cap=1d``.

        Raises
        ------
        InputError
            If the text has an unknown policy or option.
        """
        if isinstance(spec, Overrun):
            return spec
        mode, given = parse_spec(spec)
        known = [option for option in options_of(cls) if option.name != "mode"]
        try:
            if "cap" in given and given["cap"] != "none":
                given = {**given, "cap": seconds_option("overrun: cap", given["cap"])}  # type: ignore[dict-item]
            return cls(mode, **convert_options(f"overrun {mode}", known, given))  # type: ignore[arg-type]
        except ValueError as error:
            raise InputError(str(error)) from None

    def enlarge(self, walltime: int) -> int | None:
        """Return the next walltime after `walltime` was too short; ``None`` if that was the cap."""
        larger = min(max(walltime + 1, int(walltime * self.factor)), LONGEST)
        if self.cap is None or larger <= self.cap:
            return larger
        return self.cap if walltime < self.cap else None

    def __str__(self) -> str:
        """Render in the form :meth:`parse` reads."""
        if self.mode != "resubmit":
            return self.mode
        return f"resubmit:factor={self.factor}" + (f",cap={self.cap}" if self.cap is not None else "")
