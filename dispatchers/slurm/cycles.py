"""When the parts of Slurm's scheduler run while nothing happens."""

from __future__ import annotations

from typing import NamedTuple


class CyclePeriods(NamedTuple):
    """Seconds between runs: ``sched_interval``, ``batch_sched_delay``, ``bf_interval`` and ``PriorityCalcPeriod``."""

    full: int
    main: int
    backfill: int
    priorities: int


class CycleTimes(NamedTuple):
    """When each part has run last.

    Attributes
    ----------
    main
        The main scheduler.
    full
        The main scheduler on the whole queue.
    backfill
        Backfill.
    priorities
        The priorities.
    asked
        Whether the main scheduler is to run as soon as it may.
    changed
        Whether backfill is to run as soon as it may.
    """

    main: int
    full: int
    backfill: int
    priorities: int
    asked: bool
    changed: bool

    def following(self, periods: CyclePeriods) -> int:
        """Return when the next part is due."""
        times = [self.full + periods.full, self.priorities + periods.priorities]
        times += [self.main + periods.main] if self.asked else []
        times += [self.backfill + periods.backfill] if self.changed else []
        return min(times)

    def at(self, now: int, periods: CyclePeriods) -> CycleTimes:
        """Return the times after the parts that are due now have run and started nothing."""
        main, full, backfill, priorities, asked, changed = self
        tick = now - now % periods.priorities
        if tick > priorities:
            priorities, changed = tick, True
        whole = now - full >= periods.full
        if whole or (asked and now - main >= periods.main):
            main, full, asked, changed = now, now if whole else full, False, True
        if changed and now - backfill >= periods.backfill:
            backfill, changed = now, False
        return CycleTimes(main, full, backfill, priorities, asked, changed)

    def later(self, seconds: int) -> CycleTimes:
        """Return the same times some seconds later."""
        main, full, backfill, priorities = (time + seconds for time in self[:4])
        return CycleTimes(main, full, backfill, priorities, self.asked, self.changed)


def after_idle(times: CycleTimes, begin: int, until: int, periods: CyclePeriods) -> CycleTimes:
    """Return the times after all runs between two times, both excluded, that start nothing.

    The runs repeat after some time. Then whole repetitions are left out, so that a gap may be long.
    """
    now, before = begin, dict[tuple[int | bool, ...], int]()
    while True:
        now = max(times.following(periods), now + 1)
        if now >= until:
            return times
        times = times.at(now, periods)
        key = now % periods.priorities, *(now - time for time in times[:4]), times.asked, times.changed
        if key in before:
            length = now - before[key]
            skipped = (until - 1 - now) // length * length
            now, times, before = now + skipped, times.later(skipped), {}
        else:
            before[key] = now
