"""A dispatcher that follows a script."""

import pytest

from hpcdispatch.dispatchers import FCFS
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload


class Scripted:
    """Returns a plan's actions for a time, else those of another dispatcher.

    Attributes
    ----------
    seen
        For each call the time, the queued and the running ids.
    """

    def __init__(self, plan=None, otherwise=None):
        self.plan = plan or {}
        self.otherwise = FCFS() if otherwise is None else otherwise
        self.seen = []

    def reset(self, machine, rng):
        self.left = {time: [actions] if callable(actions) else list(actions) for time, actions in self.plan.items()}
        self.seen.clear()

    def dispatch(self, state):
        self.seen.append((state.now, [w.id for w in state.queue], [r.id for r in state.running]))
        actions = self.left.pop(state.now, None)
        if actions is None:
            return self.otherwise.dispatch(state)
        return actions[0](state) if actions and callable(actions[0]) else actions


class Nothing:
    """Never does anything."""

    def dispatch(self, state):
        return []


@pytest.fixture(scope="session")
def scripted():
    return Scripted


@pytest.fixture(scope="session")
def nothing():
    return Nothing()


@pytest.fixture(scope="session")
def run():
    """Simulate rows (submit, runtime, walltime, cores), or jobs, on a pool of four cores, and check the schedule."""

    def simulated(rows, dispatcher="fcfs", predictor="walltime", machine=None, **options):
        jobs = [
            row if isinstance(row, Job) else Job(str(number), *row[:3], nodes=row[3])
            for number, row in enumerate(rows, 1)
        ]
        workload = Workload(tuple(jobs), Machine.pool(4) if machine is None else machine)
        result = simulate(workload, dispatcher, predictor, **options)
        check(workload, result)
        return result

    return simulated


@pytest.fixture(scope="session")
def stays():
    """Return what a result has of a job's attempts: start, end, outcome, useful."""

    def rows(result, id_="1"):
        table = result.attempts[result.attempts["id"] == id_]
        return [tuple(row) for row in table[["start", "end", "outcome", "useful"]].itertuples(index=False)]

    return rows
