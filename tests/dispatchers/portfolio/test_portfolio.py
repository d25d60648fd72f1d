"""Going on with the dispatcher that would have done best of late."""

import math

import numpy as np
import pytest
from internal_options import simulate

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import ListScheduler, Lookahead, Portfolio, Start
from hpcdispatch.dispatchers.portfolio import PortfolioGoal, ReplayMetrics, ReplayResult
from hpcdispatch.dispatchers.portfolio.tuning import Tuner
from hpcdispatch.simulation import ActionError, SimulationError, check
from hpcdispatch.workloads import Job, Machine, Workload, generate

WORKLOAD = generate("lublin:jobs=100,processors=16,load=0.9", seed=4)
QUICK = "portfolio:of=fcfs+sjf,reference=fcfs,every=2h,window=12h"


def run(dispatcher, **given):
    result = simulate(WORKLOAD, dispatcher, **given)
    check(WORKLOAD, result)
    return result


def tunings(result):
    return result.decisions[result.decisions["tuned"] == 1]


def test_one_candidate_is_that_candidate():
    assert run("portfolio:of=sjf,reference=sjf").jobs["start"].equals(run("sjf").jobs["start"])


def test_it_goes_on_with_the_better_one_and_says_so():
    found = tunings(run(f"{QUICK},goal=means:bound=none"))
    assert "sjf" in set(found["chosen"])
    changed = found[found["chosen"] != found["chosen"].shift(fill_value="fcfs")]
    assert (changed["gain"] > 0.02).all()
    assert (found["replays"] == 2).all()
    assert (found["replayed"] > 0).all()
    assert (found["failure"] == "").all()


def test_the_first_tunings_come_at_growing_distances():
    every, first = (tunings(run(f"{QUICK}{given}"))["time"].to_numpy() for given in ("", ",first=10m"))
    begin = WORKLOAD.jobs[0].submit
    assert every[0] - begin >= 7200
    assert first[0] - begin < every[0] - begin
    # A tuning comes with the first decision that is due.
    least = np.minimum(600 * 2 ** np.arange(len(first)), 7200)
    assert (np.diff(first, prepend=begin) >= least).all()
    assert len(first) > len(every)


def test_a_candidate_with_longer_waits_than_the_reference_is_not_chosen():
    found = tunings(run(f"{QUICK},goal=means:slack=0.01"))
    assert set(found["chosen"].iloc[3:]) == {"fcfs"}
    assert set(tunings(run(f"{QUICK},goal=means:bound=none"))["chosen"].iloc[3:]) == {"sjf"}


def replayed_as(waits):
    """Return a portfolio. Its replays have these waits per order of the candidate."""

    class Replaced(Portfolio):
        def use_replays(self, given):
            def replay(past, dispatcher, budget):
                found = np.array(waits[dispatcher.order])
                return ReplayResult(ReplayMetrics(found, np.ones(len(found)), np.ones(len(found), dtype=bool)), 1)

            super().use_replays(replay)

    return Replaced


@pytest.mark.parametrize(
    ("waits", "chosen"),
    [
        # It and a better one break the bound, and the reference costs more.
        ({"sjf": [10, 2000], "ljf": [5, 1990], "submission": [1500, 1500]}, "sjf"),
        # It breaks the bound. Another one keeps it and costs less, by more than the hysteresis or not.
        ({"sjf": [1000, 2000], "ljf": [10, 1000], "submission": [1500, 1500]}, "ljf"),
        ({"sjf": [1000, 2000], "ljf": [1400, 1500], "submission": [1500, 1500]}, "sjf"),
        # Both keep it.
        ({"sjf": [1000, 1500], "ljf": [1000, 1400], "submission": [1500, 1500]}, "sjf"),
    ],
)
def test_the_first_one_is_not_turned_away(waits, chosen):
    made = replayed_as(waits)(of="sjf+ljf", reference="fcfs", every="2h", window="12h", hysteresis=0.5)
    assert set(tunings(run(made))["chosen"]) == {chosen}


@pytest.mark.parametrize(("share", "recent", "chosen"), [(0.6, "28d", "ljf"), (2.0, "28d", "sjf"), (0.6, "1m", "sjf")])
def test_the_bound_is_easys_longest_wait_of_late_where_that_is_more(share, recent, chosen):
    longest = run("easy").jobs["wait"].max()
    waits = {"sjf": [1000] * 2, "ljf": [0] * 999 + [share * longest], "submission": [1500] * 2}
    given = {"of": "sjf+ljf", "reference": "fcfs", "every": "2h", "window": "12h", "recent": recent}
    found = tunings(run(replayed_as(waits)(**given)))
    assert found["chosen"].iloc[0] == "sjf"
    assert found["chosen"].iloc[-1] == chosen


def test_candidates_are_told_the_longest_wait_under_easy(monkeypatch):
    told = []
    monkeypatch.setattr(Lookahead, "use_longest_wait", lambda self, seconds: told.append(seconds))
    found = run("portfolio:of=lookahead+sjf,reference=fcfs,every=2h,window=12h")
    assert len(told) > len(tunings(found)) > 0
    assert told[0] == 0
    assert told == sorted(told)
    assert 0 < told[-1] <= run("easy").jobs["wait"].max()


@pytest.mark.parametrize(
    ("given", "hours", "told"),
    [
        ("", 2, 3600),
        ("", 100, 6 * 3600),
        (":residual=20h", 100, 20 * 3600),
        (":residual=0", 100, 0),
        (":of=lookahead", 100, 0),
        (":of=lookahead,residual=20h", 30, 15 * 3600),
    ],
)
def test_candidates_are_told_of_no_shorter_wait_than_jobs_that_run_have_left_up_to_a_bound(
    given, hours, told, monkeypatch
):
    jobs = tuple(Job(str(number), 60 * number, 600, hours * 3600) for number in range(3))
    heard = []
    monkeypatch.setattr(Lookahead, "use_longest_wait", lambda self, seconds: heard.append(seconds))
    simulate(Workload(jobs, Machine.pool(4)), f"portfolio{given}")
    assert set(heard) == {told}


def test_candidates_are_told_the_longest_wait_of_late(monkeypatch):
    def told(recent):
        heard = []
        monkeypatch.setattr(Lookahead, "use_longest_wait", lambda self, seconds: heard.append(seconds))
        # The deciding dispatcher is the same. Only its information differs.
        run(f"portfolio:of=lookahead:patience=inf,reference=fcfs,every=9d,window=9d,recent={recent}")
        return np.array(heard)

    ever, late = told("inf"), told("2h")
    assert (late <= ever).all()
    assert (late < ever).mean() > 0.2
    assert (np.diff(late) < 0).any()


def test_changes_do_not_change_what_is_known_of_easy():
    """Guards against growing due times. They grow if EASY continues from the state that others left.

    Both candidates are the same on a pool. Only their knowledge can make a difference.
    """
    workload = generate("lublin:jobs=400,processors=32,load=1.0", seed=2)

    class Turning(Portfolio):
        def use_replays(self, given):
            def replay(past, dispatcher, budget):
                turn = (past.end // 7200) % 2
                waits = np.full(3, 10.0 if (dispatcher.options.placement == "best-fit") == turn else 1e6)
                return ReplayResult(ReplayMetrics(waits, np.ones(3), np.ones(3, dtype=bool)), 1)

            super().use_replays(replay)

    class Informed(Lookahead):
        """Hears of ends while the queue is empty, as a portfolio does."""

        def job_ended(self, id_, ran, now):
            if self._history is not None:
                self._history.ended(id_, ran)

    same = "lookahead:patience=0.5/least_due=10m"
    both = f"{same}+{same}/placement=best-fit"
    given = {"every": "2h", "window": "12h", "goal": "means:bound=none"}
    result = simulate(workload, Turning(of=both, reference=same, **given))
    assert result.decisions["chosen"].nunique() == 2
    alone = simulate(workload, Informed(patience=0.5, least_due="10m"))
    assert result.jobs["start"].equals(alone.jobs["start"])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_what_would_let_a_job_wait_longer_than_under_easy_is_held(seed):
    workload = generate("lublin:jobs=400,processors=32,load=1.0", seed=seed)
    free, held = (simulate(workload, f"portfolio:of=ljf,reference=ljf,guard={guard}") for guard in ("inf", 1))
    assert free.decisions["held"].sum() == 0
    assert 0 < held.decisions["held"].mean() < 1
    assert held.jobs["wait"].max() < free.jobs["wait"].max()


@pytest.mark.nightly
def test_the_default_candidates_are_guarded_and_others_only_if_asked():
    workload = generate("lublin:jobs=400,processors=32,load=1.0", seed=1)
    found = simulate(workload, "portfolio")
    named = "portfolio:of=ljf,reference=ljf"
    assert found.decisions["held"].any()
    assert found.jobs["start"].equals(simulate(workload, "portfolio:guard=1").jobs["start"])
    assert not simulate(workload, named).decisions["held"].any()
    assert simulate(workload, f"{named},guard=1").decisions["held"].any()


def test_a_budget_that_allows_no_replay_leaves_the_candidate():
    found = tunings(run(f"{QUICK},budget=1"))
    assert set(found["chosen"]) == {"fcfs"}
    assert "budget of 1 decisions allowed no replay: fcfs goes on" in set(found["failure"])
    assert found["replayed"].max() <= 2


class Nowhere(PortfolioGoal):
    """No number."""

    def cost(self, outcome: ReplayMetrics) -> float:
        return math.nan


class Broken(PortfolioGoal):
    """No answer."""

    def cost(self, outcome: ReplayMetrics) -> float:
        raise KeyError("cost")


class Wordy(PortfolioGoal):
    """No answer, in two lines."""

    def cost(self, outcome: ReplayMetrics) -> float:
        raise ValueError("no\ncost")


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (Nowhere(), "fcfs is left out: expected a finite cost and tail, got nan and 0.0"),
        (Broken(), "fcfs is left out: goal raised KeyError: 'cost'"),
        (Wordy(), "fcfs is left out: goal raised ValueError: no cost"),
    ],
)
def test_a_goal_that_is_no_number_is_noted_and_changes_nothing(goal, message):
    found = tunings(run(Portfolio(of="fcfs+sjf", reference="fcfs", every="2h", window="12h", goal=goal)))
    assert set(found["chosen"]) == {"fcfs"}
    assert found["failure"].str.startswith(message).all()


class Seconds(PortfolioGoal):
    """The mean wait, which is no logarithm."""

    def cost(self, outcome: ReplayMetrics) -> float:
        return outcome.mean_wait


def test_costs_may_differ_by_more_than_logarithms_do():
    workload = generate("lublin:jobs=300,processors=32,load=1.0", seed=0)
    found = tunings(simulate(workload, Portfolio(of="easy+lxf", goal=Seconds())))
    assert set(found["chosen"]) == {"easy", "lxf"}
    assert found["gain"].max() == math.inf


class Undecided(Seconds):
    """Cannot tell whether a wait is allowed."""

    def allows(self, tail: float, reference: float) -> bool:
        raise ValueError("who knows")


def test_a_goal_that_cannot_tell_what_is_allowed_leaves_all_but_the_reference_out():
    found = tunings(run(Portfolio(of="sjf+lxf", reference="fcfs", every="2h", window="12h", goal=Undecided())))
    assert set(found["chosen"]) == {"fcfs"}
    left_out = "; ".join(f"{name} is left out: goal raised ValueError: who knows" for name in ("sjf", "lxf"))
    assert found["failure"].str.contains(left_out, regex=False).any()


def test_a_candidate_learns_of_jobs_that_end_as_it_does_by_itself():
    workload = generate("lublin:jobs=300,processors=32,load=0.3", seed=1)
    alone = "guarded:over=ljf,least=1s"
    candidate = "guarded:over=ljf/least=1s"
    found = simulate(workload, f"portfolio:of={candidate},reference={candidate}")
    assert found.jobs["start"].equals(simulate(workload, alone).jobs["start"])


def test_in_replays_as_well(monkeypatch):
    heard, tune = [], Tuner.tune

    def noting(self, past, now, *given):
        heard.clear()
        found = tune(self, past, now, *given)
        times = [ended for _, _, ended in heard]
        assert all(now - 12 * 3600 <= ended <= now for ended in times)
        noting.told += len(times)
        return found

    noting.told = 0
    monkeypatch.setattr(Tuner, "tune", noting)
    monkeypatch.setattr(ListScheduler, "job_ended", lambda self, *told: heard.append(told), raising=False)
    run("portfolio:of=fcfs+sjf,reference=fcfs,every=2h,window=12h")
    assert noting.told > 100


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "expected a sequence of actions, got None"),
        ([Start(5, [0])], "expected a job or its id, got 5"),
        ([Start(WORKLOAD.jobs[0].id, ["a"])], "placement must be 1 node indices"),
    ],
)
def test_what_no_action_is_is_said_as_ever(monkeypatch, answer, said):
    monkeypatch.setattr(ListScheduler, "dispatch", lambda self, state: answer)
    with pytest.raises(ActionError, match=said):
        run("portfolio:of=sjf,reference=fcfs")


def test_a_candidate_that_fails_in_a_replay_is_left_out():
    def replay(past, dispatcher, budget):
        replay.count += 1
        if replay.count % 2:
            return ReplayResult(ReplayMetrics(np.ones(1), np.ones(1), np.ones(1, dtype=bool)), 5)
        return ReplayResult(None, 1, "it raised ValueError: no")

    class Replaced(Portfolio):
        def use_replays(self, given):
            super().use_replays(replay)

    replay.count = 0
    found = tunings(run(Replaced(of="fcfs+sjf", reference="fcfs", every="2h", window="12h")))
    assert set(found["failure"]) == {"sjf is left out: it raised ValueError: no"}
    assert set(found["replayed"]) == {6}


@pytest.mark.parametrize("named", ["nobody", WORKLOAD.jobs[-1].id])
def test_a_candidate_that_starts_a_job_that_does_not_wait_gets_an_error(monkeypatch, named):
    monkeypatch.setattr(ListScheduler, "dispatch", lambda self, state: [Start(named, [0])])
    with pytest.raises(ActionError, match=f"Portfolio at t=.*{named}"):
        run("portfolio:of=sjf,reference=fcfs")


def test_a_window_shorter_than_a_job_is_noted():
    found = tunings(run("portfolio:of=fcfs+sjf,reference=fcfs,every=2h,window=2h"))
    assert found["failure"].str.contains("window: 2h is less than job").any()


def test_without_replays_the_first_candidate_goes_on():
    class Alone(Portfolio):
        def use_replays(self, replay):
            pass

    result = run(Alone(of="sjf+fcfs", reference="fcfs"))
    assert result.decisions["tuned"].sum() == 0
    assert result.jobs["start"].equals(run("sjf").jobs["start"])


def test_an_unknown_candidate_and_goal_are_refused():
    with pytest.raises(InputError, match="unknown dispatcher 'nobody'"):
        simulate(WORKLOAD, "portfolio:of=nobody")
    with pytest.raises(InputError, match="unknown goal 'nothing'"):
        simulate(WORKLOAD, "portfolio:goal=nothing")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"of": ""}, r"of must be 1 to 100 dispatchers with \+ between them, got ''"),
        ({"of": "easy+"}, "of must be 1 to 100 dispatchers"),
        ({"of": "portfolio:of=easy"}, "of must be dispatchers other than portfolios"),
        ({"every": 0}, "every must be at least 1 s, got 0"),
        ({"every": "soon"}, "every: expected a time such as 90s, 15m, 2h, 1d12h or 2-00:00:00, got 'soon'"),
        ({"window": "1h"}, "window must be at least every = 1d, got '1h'"),
        ({"window": math.nan}, "window: a time must be a number >= 0"),
        ({"guard": 0}, "guard must be a number > 0, got 0"),
        ({"guard": "on"}, "guard must be a number > 0, got 'on'"),
        ({"recent": 0}, "recent must be at least 1 s, got 0"),
        ({"recent": math.nan}, "recent: a time must be a number >= 0"),
        ({"hysteresis": -1}, "hysteresis must be a number >= 0, got -1"),
        ({"budget": 0}, "budget must be a whole number >= 1, got 0"),
        ({"halving": 1}, "halving must be a whole number >= 2, got 1"),
        ({"goal": 7}, "goal must be a name or a PortfolioGoal, got 7"),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Portfolio(**given)


def test_what_the_chosen_one_does_wrong_is_an_error_as_ever():
    class Wrong(Portfolio):
        def dispatch(self, state):
            super().dispatch(state)
            return [None]

    with pytest.raises(SimulationError, match="expected Start, Stop, Wake or Reject"):
        run(Wrong(of="fcfs"))
