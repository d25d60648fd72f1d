"""One decision under rules over whole plans, by every order: shares no code with the package.

Costs never fall with a later start, and each rule forbids overlaps or orders two jobs. So some order gives an optimal
schedule, if each job in turn starts at the first second that all rules admit.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import permutations

import numpy as np


@dataclass(frozen=True)
class Row:
    """A job: amount, seconds, seconds waited, user. A running job has its seconds left."""

    id: str
    amount: int
    seconds: int
    waited: int
    user: str


@dataclass(frozen=True)
class Ruled:
    """A pool with running and waiting jobs, and rules.

    Attributes
    ----------
    before
        Pairs of ids: the second starts after the end of the first.
    apart
        Pairs of users whose jobs never overlap.
    most
        Number of jobs of one user at a time, or ``None``.
    """

    capacity: int
    running: tuple[Row, ...]
    waiting: tuple[Row, ...]
    before: tuple[tuple[str, str], ...]
    apart: tuple[tuple[str, str], ...]
    most: int | None

    def exclude(self, one: Row, other: Row) -> bool:
        """Return whether two jobs never overlap."""
        return any({one.user, other.user} == set(pair) for pair in self.apart)

    def candidates(self, capped: bool = True) -> list[Row]:
        """Return the jobs that fit now: by free amounts, and if `capped` by the running jobs of their users.

        An own constraint on whole plans does not say which jobs fit.
        """
        free = self.capacity - sum(run.amount for run in self.running)
        count = Counter(run.user for run in self.running)
        return [row for row in self.waiting if row.amount <= free and not (capped and self._full(count[row.user]))]

    def _full(self, count: int) -> bool:
        return self.most is not None and count >= self.most

    def admits(self, row: Row, start: int, placed: dict[Row, int], names: set[str]) -> bool:
        """Return whether a job may start beside placed ones and running ones (start 0)."""
        end = start + row.seconds
        for first, then in self.before:
            if then == row.id:
                if any(start < begin + other.seconds for other, begin in placed.items() if other.id == first):
                    return False
                outside = any(other.id == first for other in self.waiting) and first not in names
                if outside and start == 0:
                    return False
        beside = {other: begin for other, begin in placed.items() if begin < end and start < begin + other.seconds}
        if any(self.exclude(row, other) for other in beside):
            return False
        for time in {start, *(begin for begin in beside.values() if begin > start)}:
            there = [other for other, begin in beside.items() if begin <= time < begin + other.seconds]
            if sum(other.amount for other in there) + row.amount > self.capacity:
                return False
            if self._full(sum(other.user == row.user for other in there)):
                return False
        return True

    def least_cost(self, capped: bool = True) -> float:
        """Return the least sum of slowdowns of the candidates. `capped` as in :meth:`candidates`."""
        jobs = self.candidates(capped)
        names = {row.id for row in jobs}
        running = dict.fromkeys(self.running, 0)
        best = np.inf
        for order in permutations(jobs):
            placed = dict(running)
            cost = 0.0
            for row in order:
                late = [first for first, then in self.before if then == row.id and first in names]
                if any(first not in {other.id for other in placed} for first in late):
                    cost = np.inf
                    break
                start = next(time for time in range(10_000) if self.admits(row, time, placed, names))
                placed[row] = start
                cost += (start + row.waited + row.seconds) / row.seconds
            best = min(best, cost)
        return float(best)

    def broken(self, started: set[str]) -> str:
        """Return what the start of some jobs now breaks. Empty if nothing."""
        jobs = [row for row in self.waiting if row.id in started]
        placed = dict.fromkeys(self.running, 0)
        for row in jobs:
            if not self.admits(row, 0, placed, {other.id for other in self.waiting}):
                return f"{row.id} may not start beside {[other.id for other in placed]}"
            placed[row] = 0
        for first, then in self.before:
            if then in started and any(row.id == first for row in (*self.waiting, *self.running)):
                return f"{then} starts before the end of {first}"
        return ""

    def must_start(self) -> bool:
        """Return whether some waiting job may start on an empty machine, beside the rules about the other ones."""
        waiting = {row.id for row in self.waiting}
        return any(
            row.amount <= self.capacity and not any(then == row.id and first in waiting for first, then in self.before)
            for row in self.waiting
        )


def random_ruled(rng: np.random.Generator) -> Ruled:
    """Draw a decision. Precedences have no cycle."""
    capacity = int(rng.integers(2, 6))
    users = ("a", "b", "c")

    def row(name: str, most: int) -> Row:
        amount, seconds, waited = (int(rng.integers(low, high)) for low, high in ((1, most + 1), (1, 12), (0, 40)))
        return Row(name, amount, seconds, waited, str(rng.choice(users)))

    running: list[Row] = []
    for place in range(int(rng.integers(0, 3))):
        free = capacity - sum(run.amount for run in running)
        drawn = row(f"r{place}", max(free, 1))
        if free >= drawn.amount:
            running.append(drawn)
    waiting = [row(f"q{place}", capacity) for place in range(int(rng.integers(1, 6)))]
    names = [each.id for each in (*running, *waiting)]
    before = []
    for _ in range(int(rng.integers(0, 3))):
        one, other = sorted(rng.choice(len(names), size=2).tolist())
        if one != other and names[other].startswith("q"):
            before.append((names[one], names[other]))
    apart = [
        tuple(map(str, rng.choice(users, size=2, replace=bool(rng.integers(2))))) for _ in range(rng.integers(0, 2))
    ]
    most = int(rng.integers(1, 3)) if rng.random() < 0.5 else None
    return Ruled(capacity, tuple(running), tuple(waiting), tuple(before), tuple(apart), most)
