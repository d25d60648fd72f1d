"""Expected waits of queues."""

from collections.abc import Mapping
from pathlib import Path

from ...base import InputError
from ...workloads import expected_waits, read

_FIRST = 3600.0
_EXPECTED = "'measured', seconds > 0, queue:seconds;queue:seconds, or the path of a trace"


class ExpectedWaits:
    """Expected wait of a job by queue, seconds: ewt of Galleguillos et al. (CP 2019).

    Parameters
    ----------
    given
        ``"measured"``: mean wait of the queue's started jobs so far, with an hour as the first value. A number: the
        same for every queue. ``"long:7200;short:600"`` or a mapping: a number per queue. The path of a trace: mean
        recorded wait of each queue.

    Raises
    ------
    ValueError
        If `given` is none of these, or a wait is not above 0.

    Examples
    --------
    >>> from hpcdispatch.dispatchers.cp import ExpectedWaits
    >>> waits = ExpectedWaits({"long": 7200, "short": 600})
    >>> waits.of("short")
    600.0
    """

    def __init__(self, given: str | float | Mapping[str, float]) -> None:
        self.measured = given == "measured"
        self._all: float | None = None
        self._queues: dict[str, float] = {}
        self._sums: dict[str, tuple[float, int]] = {}
        if not self.measured:
            self._read(given)
        known = self._queues.values() if self._all is None else [self._all]
        for wait in known:
            if not 0 < wait < float("inf"):
                raise ValueError(f"ewt must be > 0 seconds for every queue, got {wait:g}")

    def _read(self, given: str | float | Mapping[str, float]) -> None:
        if isinstance(given, Mapping):
            self._queues = {queue: float(wait) for queue, wait in given.items()}
        elif isinstance(given, str) and Path(given).is_file():
            self._queues = expected_waits(read(given, lenient=True))
        elif isinstance(given, str) and ":" in given:
            for entry in given.split(";"):
                queue, _, wait = entry.rpartition(":")
                self._queues[queue] = _number(wait, given)
        else:
            self._all = _number(given, given)

    def reset(self) -> None:
        """Drop all measurements."""
        self._sums.clear()

    def started(self, queue: str, wait: int) -> None:
        """Record the wait of a starting job."""
        if self.measured:
            total, count = self._sums.get(queue, (_FIRST, 1))
            self._sums[queue] = (total + wait, count + 1)

    def of(self, queue: str) -> float:
        """Return the expected wait of `queue`.

        Raises
        ------
        InputError
            If waits were given for other queues only.
        """
        if self._all is not None:
            return self._all
        if self.measured:
            total, count = self._sums.get(queue, (_FIRST, 1))
            return total / count
        wait = self._queues.get(queue)
        if wait is None:
            known = ", ".join(f"{name or 'the unnamed one'} {wait:g}" for name, wait in sorted(self._queues.items()))
            raise InputError(f"ewt: expected seconds > 0 for every queue, got none for queue {queue!r}; given: {known}")
        return wait

    def longest(self) -> float:
        """Return the longest expected wait of all known queues."""
        if self._all is not None:
            return self._all
        if self.measured:
            return max((total / count for total, count in self._sums.values()), default=_FIRST)
        return max(self._queues.values())


def _number(text: str | float, given: object) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"ewt must be {_EXPECTED}, got {given!r}") from None
