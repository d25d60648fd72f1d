"""The cheapest schedule on a pool, by every order of the jobs: shares no code with the package.

The cost of a job never falls with a later start. So some order gives an optimal schedule, if each job in turn starts at
the first second at which it fits.
"""

import numpy as np


def least_cost(jobs, capacity, held, horizon):
    """Return the least cost of a schedule.

    Parameters
    ----------
    jobs
        Of each job: duration, amounts, weight, due start and earliest start. A second of delay after the due start
        costs the weight.
    capacity
        Amounts of the pool.
    held
        End and amounts of each running job. It began before.
    horizon
        A time at which all jobs may have ended, one after the other.
    """
    free = np.tile(np.array(capacity), (horizon, 1))
    for end, amounts in held:
        free[:end] -= np.array(amounts)
    best = [np.inf]

    def place(rest, free, cost):
        if cost >= best[0]:
            return
        if not rest:
            best[0] = cost
            return
        for job in rest:
            duration, amounts, weight, due, earliest = jobs[job]
            start = next(
                time for time in range(earliest, horizon) if (free[time : time + duration] >= np.array(amounts)).all()
            )
            left = free.copy()
            left[start : start + duration] -= np.array(amounts)
            place(rest - {job}, left, cost + weight * max(start - due, 0))

    place(frozenset(range(len(jobs))), free, 0)
    return best[0]
