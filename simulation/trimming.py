"""Parts of a workload by submission: the ends to leave out, and the window to draw."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..base import BoolArray, InputError, IntArray, seconds_of, shown, time_text
from ..base.argument_types import names_wrong_types
from ..base.time_texts import FORMS

_WRITTEN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(%|jobs?)")
EXPECTED = f"a share of the jobs such as 5%, a number such as 200 jobs, or a time such as {FORMS}"


@dataclass(frozen=True, slots=True)
class Cut:
    """An amount of a workload, from its first submission on or back from its last.

    Attributes
    ----------
    amount
        A number of units.
    unit
        ``%`` of the jobs, ``jobs``, or ``s`` seconds.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import Cut
    >>> result = hd.simulate(hd.example(), "easy")
    >>> result.summary(warm_up=Cut(10, "%"))["jobs"], result.summary(warm_up="10%")["jobs"]
    (810, 810)
    """

    amount: float = 0.0
    unit: Literal["%", "jobs", "s"] = "s"

    @classmethod
    def parse(cls, text: str) -> Cut:
        """Read ``5%``, ``200 jobs``, or a time such as ``12h``. ``0`` and ``none`` mean nothing.

        Raises
        ------
        InputError
            If it is none of these.
        """
        text = text.strip()
        if text in ("0", "none"):
            return cls()
        match = _WRITTEN.fullmatch(text)
        try:
            amount, unit = (float(match[1]), match[2][:3]) if match else (seconds_of(text), "s")
        except ValueError:
            raise InputError(f"expected {EXPECTED}, got {shown(text)}") from None
        if text.isdecimal() or (unit == "%" and amount > 100) or (unit == "job" and not float(amount).is_integer()):
            raise InputError(f"expected {EXPECTED}, got {shown(text)}")
        return cls(float(amount), "jobs" if unit == "job" else unit) if amount else cls()  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Render in the form that :meth:`parse` reads."""
        if not self.amount:
            return "none"
        return f"{self.amount:.15g}{'' if self.unit == '%' else ' '}{self.unit}"

    @property
    def told(self) -> str:
        """The amount for messages, as ``5%``, ``200 jobs`` or ``1d12h``."""
        return time_text(self.amount) if self.unit == "s" else str(self)

    def jobs(self, count: int) -> int:
        """Return the number of jobs out of `count`, rounded down; 0 for seconds."""
        if self.unit == "s":
            return 0
        return min(int(self.amount if self.unit == "jobs" else self.amount * count / 100), count)


NOTHING = Cut()


def cut_of(name: str, given: str | Cut | None) -> Cut:
    """Return the amount in a text; ``None`` is nothing.

    Raises
    ------
    InputError
        If it is none. The error begins with the `name`.
    """
    try:
        return given if isinstance(given, Cut) else Cut.parse(given) if given is not None else NOTHING
    except (InputError, AttributeError) as error:
        told = f"expected {EXPECTED}, in quotes, got {shown(given)}" if isinstance(error, AttributeError) else error
        raise InputError(f"{name}: {told}") from None


@dataclass(frozen=True, slots=True)
class Window:
    """A period of a workload. Both ends count from the first submission on.

    Examples
    --------
    >>> from hpcdispatch.simulation import Cut, Window
    >>> window = Window(begin=Cut(1, "s"), end=Cut(86400, "s"))
    >>> window.end.amount
    86400
    """

    begin: Cut
    end: Cut

    @classmethod
    def parse(cls, text: str) -> Window:
        """Read ``START:END``, each as :meth:`Cut.parse` does.

        Raises
        ------
        InputError
            If the text has another form.
        """
        first, colon, last = text.partition(":")
        try:
            if not colon:
                raise InputError
            made = cls(Cut.parse(first), Cut.parse(last))
        except InputError:
            raise InputError(f"expected START:END, each {EXPECTED}, got {shown(text)}") from None
        if made.begin.unit == made.end.unit and made.begin.amount >= made.end.amount:
            raise InputError(f"expected START:END with START before END, got {shown(text)}")
        return made

    def __str__(self) -> str:
        """Render in the form that :meth:`parse` reads."""
        return f"{self.begin}:{self.end}".replace("none", "0")

    def seconds(self, submit: IntArray) -> tuple[int, int]:
        """Return begin and end in seconds from the first submission.

        Raises
        ------
        InputError
            If the end is not after the begin, or the begin is after the last submission.
        """
        since = np.sort(submit - submit.min())
        begin, end = (_moment(cut, since) for cut in (self.begin, self.end))
        if not begin < end or begin > since[-1]:
            raise InputError(f"window {self}: expected a stretch that begins by the last submission, {since[-1]} s")
        return begin, end


def _moment(cut: Cut, since: IntArray) -> int:
    """Return the time at which this amount of a workload has been submitted."""
    return int(cut.amount if cut.unit == "s" else since[min(cut.jobs(len(since)), len(since) - 1)])


@names_wrong_types
def steady_state(submit: IntArray, warm_up: Cut, cool_down: Cut) -> BoolArray:
    """Return the jobs between warm-up and cool-down, shape (jobs,), from their submissions in seconds.

    Jobs and shares of jobs count by submission. Shares are rounded down. Seconds leave out jobs submitted less than so
    many seconds after the first or before the last submission.

    Raises
    ------
    InputError
        If no job is left.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.simulation import Cut, steady_state
    >>> steady_state(np.array([0, 100, 200, 300]), Cut(100, "s"), Cut(1, "jobs"))
    array([False,  True,  True, False])
    """
    count = len(submit)
    chosen = np.ones(count, dtype=bool)
    if not count:
        return chosen
    order = np.argsort(submit, kind="stable")
    chosen[order[: warm_up.jobs(count)]] = False
    chosen[order[count - cool_down.jobs(count) :]] = False
    if warm_up.unit == "s":
        chosen &= submit - submit.min() >= warm_up.amount
    if cool_down.unit == "s":
        chosen &= submit.max() - submit >= cool_down.amount
    if not chosen.any():
        cuts = ", ".join(
            f"{name} {cut.told}" for name, cut in (("warm-up", warm_up), ("cool-down", cool_down)) if cut.amount
        )
        raise InputError(f"{cuts}: no job of {count:,} is left between; leave out less")
    return chosen
