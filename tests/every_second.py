"""A naive availability profile that counts every second, and random commands for it and another one."""

import numpy as np
from hypothesis import strategies as st

HORIZON = 60


class Seconds:
    """Free amounts in every second up to the horizon, and after it."""

    def __init__(self, free):
        self.free = np.repeat(np.asarray(free)[None], HORIZON + 1, axis=0)

    def add(self, start, end, placement, demand, sign):
        for node in placement:
            self.free[start:end, node] += sign * np.array(demand)

    def earliest(self, nodes, demand, duration, after, before=None):
        for start in range(after, HORIZON + 1):
            if before is not None and start >= before:
                return None
            least = self.free[start : max(start + duration, start + 1)].min(axis=0)
            if slots(least, demand) >= nodes:
                return start
        return None

    def longest(self, nodes, demand, start):
        lasting = [
            end for end in range(start + 1, HORIZON + 2) if slots(self.free[start:end].min(axis=0), demand) >= nodes
        ]
        return not lasting, None if not lasting or lasting[-1] > HORIZON else lasting[-1]


def slots(free, demand):
    return sum(max(0, min(row[r] // amount for r, amount in enumerate(demand) if amount)) for row in free)


# Takes that fit, and others (of overrun jobs). Gives of taken amounts (a job that ends early gives the rest), advances
# of the clock, and questions.
COMMANDS = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "take", "force", "give", "advance", "ask"]),
        st.integers(0, 8),
        st.integers(0, 12),
        st.integers(0, 10),
        st.integers(0, 10),
    ),
    max_size=25,
)


def play(capacity, commands, make, rule="first-fit"):
    """Yield the answers of a profile and the naive model after each command."""
    capacity = np.array(capacity)
    profile = make(capacity, rule)
    naive = Seconds(capacity)
    now, held = 0, []
    for command, first, duration, delay, pick in commands:
        demand = tuple(1 + (first + r) % 2 if r == 0 else (first * r) % 3 for r in range(capacity.shape[1]))
        wanted = 1 + pick % 4
        after = now + delay
        if command == "advance":
            now += duration % 4
            profile.advance(now)
        elif command == "give" and held:
            start, end, placement, demand = held.pop(pick % len(held))
            profile.give(start, end, placement, demand, now)
            naive.add(max(now, start), end, placement, demand, 1)
        elif command == "force":
            placement = np.sort(np.array([(first + k) % len(capacity) for k in range(wanted)]))
            profile.take(after, after + duration, placement, demand)
            naive.add(after, after + duration, placement, demand, -1)
            held.append((after, after + duration, placement, demand))
        else:
            before = after + pick if first % 2 else None
            found = profile.earliest(wanted, demand, duration, after, before)
            yield (None if found is None else found[0]), naive.earliest(wanted, demand, duration, after, before)
            longest = profile.free_until(wanted, demand, now)
            yield (longest is None, longest and longest[0]), naive.longest(wanted, demand, now)
            if found is not None and command == "take" and found[0] + duration <= HORIZON:
                start, placement = found
                assert len(placement) == wanted
                profile.take(start, start + duration, placement, demand)
                naive.add(start, start + duration, placement, demand, -1)
                held.append((start, start + duration, placement, demand))
    for time in range(now, HORIZON):
        yield profile.total(time), tuple(np.maximum(naive.free[time], 0).sum(axis=0).tolist())
