"""The continuation of a schedule by EASY equals EASY in a simulation."""

import numpy as np
import pytest
from jobs_at_once import at_once

from hpcdispatch.dispatchers import EASY, Start
from hpcdispatch.dispatchers.lookahead.history import History
from hpcdispatch.models import pool_placement
from hpcdispatch.models.lookahead.taking_over import all_safe, safe_starts
from hpcdispatch.simulation import simulate


class Begun(EASY):
    """EASY, but at first only the jobs at these places of the queue start."""

    def __init__(self, places):
        super().__init__()
        self.places = places

    def dispatch(self, state):
        if self.places is None:
            return super().dispatch(state)
        first = [state.queue[place] for place in self.places]
        self.places = None
        return [Start(waiting, pool_placement(waiting.nodes)) for waiting in first]


class Asking(EASY):
    """EASY that uses the models at the first decision."""

    def __init__(self, ask):
        super().__init__()
        self.ask, self.answer = ask, None

    def dispatch(self, state):
        if self.answer is None:
            history = History(state.machine, state.now, by_walltimes=True)
            history.see(state)
            self.answer = self.ask(history, state)
        return super().dispatch(state)


def asked(workload, ask):
    dispatcher = Asking(ask)
    simulate(workload, dispatcher)
    return dispatcher.answer


def longest(workload, dispatcher):
    return int(simulate(workload, dispatcher).jobs["wait"].max())


def smallest(workload, most):
    """Return the places of those that need least, as many as fit together."""
    units = [job.nodes * job.per_node.get("core", 1) for job in workload.jobs]
    order = np.argsort([width * job.runtime for width, job in zip(units, workload.jobs, strict=True)], kind="stable")
    left, places = 32, []
    for place in order[:most]:
        if units[place] <= left:
            left -= units[place]
            places.append(int(place))
    return places


@pytest.mark.parametrize("seed", range(6))
def test_what_is_ahead_of_those_that_wait_is_what_they_wait_under_easy(seed):
    workload = at_once(seed)

    def ahead(history, state):
        return max(history.longest_wait(state.now), history.longest_ahead(state.now))

    assert asked(workload, ahead) == longest(workload, "easy")


@pytest.mark.parametrize("seed", range(3))
def test_what_runs_has_half_the_mean_duration_left_if_jobs_count_by_their_work(seed):
    workload = at_once(seed)
    work = [job.nodes * job.per_node.get("core", 1) * job.walltime for job in workload.jobs]
    half = np.average([job.walltime for job in workload.jobs], weights=work) / 2
    assert asked(workload, lambda history, state: history.residual_time()) == int(half)


def test_before_anybody_has_come_nothing_runs():
    assert History(at_once(0).machine, 0).residual_time() == 0


@pytest.mark.parametrize("most", [0, 1, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_a_bound_is_kept_with_some_if_it_is_in_a_simulation_and_by_no_second_less(seed, most):
    workload = at_once(seed)
    places = smallest(workload, most) or [0]
    bound = longest(workload, Begun(places))

    def safe(history, state):
        history.longest_wait(state.now)
        stands = history.standing(state)
        return [all_safe(stands, np.array(places), seconds) for seconds in (bound, bound - 1)]

    assert asked(workload, safe) == [True, False]


def chosen_of(workload, wanted, bound):
    def may(history, state):
        history.longest_wait(state.now)
        return safe_starts(history.standing(state), np.array(wanted), bound).tolist()

    return asked(workload, may)


@pytest.mark.parametrize("slack", [1.0, 1.2, 1.5])
@pytest.mark.parametrize("seed", range(6))
def test_with_those_that_may_start_the_bound_is_kept_in_a_simulation(seed, slack):
    workload = at_once(seed)
    bound = int(slack * longest(workload, "easy"))
    wanted = smallest(workload, 8)
    chosen = chosen_of(workload, wanted, bound)
    assert longest(workload, Begun(chosen)) <= bound
    if longest(workload, Begun(wanted)) <= bound:
        assert chosen == wanted
    kept = [place for place in wanted if place in chosen]
    assert chosen[: len(kept)] == kept


def test_some_of_these_may_not_start_all():
    bounds = [longest(at_once(seed), "easy") for seed in range(6)]
    wanted = [smallest(at_once(seed), 8) for seed in range(6)]
    chosen = [chosen_of(at_once(seed), wanted[seed], bounds[seed]) for seed in range(6)]
    assert any(longest(at_once(seed), Begun(wanted[seed])) > bounds[seed] for seed in range(6))
    assert any(not set(wanted[seed]) <= set(chosen[seed]) for seed in range(6))


@pytest.mark.parametrize("seed", range(3))
def test_where_easy_itself_cannot_keep_the_bound_no_job_starts_that_makes_it_worse(seed):
    workload = at_once(seed)
    bound = longest(workload, "easy")
    assert longest(workload, Begun(chosen_of(workload, smallest(workload, 8), bound // 2))) <= bound
