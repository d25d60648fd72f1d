"""The best modes and starts of a few jobs on a pool. All are tried, second by second."""

from itertools import product


def overfull(problem, rows, starts):
    """Return whether these rows hold more than the capacity at some second."""
    last = max([*(start + int(problem.duration[row]) for row, start in zip(rows, starts, strict=True)), 0])
    for second in range(last):
        for resource, capacity in enumerate(problem.capacity[0].tolist()):
            used = sum(
                int(amount[resource])
                for begin, end, amount in zip(problem.held_from, problem.held_to, problem.held_amount, strict=True)
                if begin <= second < end
            )
            used += sum(
                int(problem.slots[row] * problem.demand[row, resource])
                for row, start in zip(rows, starts, strict=True)
                if start <= second < start + problem.duration[row]
            )
            if used > capacity:
                return True
    return False


def cost_of(problem, rows, starts):
    """Return the weighted lateness of the ends."""
    return sum(
        int(problem.weight[row]) * max(0, start + int(problem.duration[row]) - int(problem.due[row]))
        for row, start in zip(rows, starts, strict=True)
    )


def best_modes(problem, horizon):
    """Return the least cost over all modes and integer starts with ends by the horizon."""
    jobs = int(problem.mode_of[-1]) + 1
    modes = [[row for row, job in enumerate(problem.mode_of) if job == number] for number in range(jobs)]
    best = None
    for rows in product(*modes):
        for starts in product(*(range(horizon - int(problem.duration[row]) + 1) for row in rows)):
            cost = cost_of(problem, rows, starts)
            if (best is None or cost < best) and not overfull(problem, rows, starts):
                best = cost
    return best
