"""Replays in compiled code are those of the engine."""

import numpy as np
import pytest
from combinations import each_value, some
from internal_options import made, simulate
from standing_states import state_of

from hpcdispatch.dispatchers import Portfolio
from hpcdispatch.dispatchers.portfolio import CompiledReplays
from hpcdispatch.workloads import Job, Machine, Workload, generate

CANDIDATES = (
    "easy",
    "easy:reserve_by=walltimes",
    "easy-sjbf",
    "easy-sjbf:reserve_by=walltimes",
    "lookahead",
    "lookahead:blocked=0,least_due=1h",
    "lookahead:patience=0.5,guards=3,tolerance=0",
    "lookahead:patience=inf",
    "lookahead:least_due=1h,trust=0.1",
    "lookahead:least_due=1h,trust=inf",
)
PREDICTORS = ("walltime", "last2", "regression:quantile=0.75", "regression@last2")


def two_resources(seed=5):
    """Return jobs on a pool of two resources. Some overrun their walltime, end at once or arrive together."""
    rng = np.random.default_rng(seed)
    at = 0
    jobs = []
    for number in range(220):
        at += int(rng.choice([0, 40, 200, 400]))
        asked = {"core": int(rng.integers(1, 9)), "gpu": int(rng.integers(0, 3))}
        runtime = int(rng.choice([0, 60, 900, 2400]))
        user = int(rng.integers(4))
        jobs.append(Job(f"j{number}", at, runtime, int(rng.choice([60, 1200, 3600])), per_node=asked, user=f"u{user}"))
    return Workload(tuple(jobs), Machine.homogeneous(1, core=16, gpu=4))


WORKLOADS = {
    "lublin": generate("lublin:jobs=250,processors=32,load=0.9", seed=3),
    "two resources": two_resources(),
}


class Both(Portfolio):
    """A portfolio that replays each past under all candidates. In the engine and in compiled code."""

    def __init__(self, predictor=""):
        self.pairs = []
        own = f"easy-sjbf{predictor}"
        super().__init__(of=f"{own}+lookahead", reference="easy", every="3h", window="9h")

    def use_replays(self, replay):
        def kept(past, dispatcher, budget):
            if past.waiting.sum() >= 25 and len(self.pairs) < 4 * len(CANDIDATES):
                for name in CANDIDATES:
                    self.pairs.append((name, past, *self.both(replay, past, name, budget)))
            return replay(past, dispatcher, budget)

        super().use_replays(kept)

    def both(self, replay, past, name, budget):
        answers = []
        for compiled in (False, True):
            dispatcher = made(name)
            if hasattr(dispatcher, "use_longest_wait"):
                dispatcher.use_longest_wait(5000)
            with pytest.MonkeyPatch.context() as patched:
                if compiled:
                    patched.setattr(type(replay), "_in_engine", lambda *given: pytest.fail("not compiled"))
                else:
                    patched.setattr(CompiledReplays, "waits", lambda *given: None)
                answers.append(replay(past, dispatcher, budget))
        return answers


@pytest.mark.parametrize(("workload", "predictor", "overrun"), each_value(list(WORKLOADS), PREDICTORS, ["run", "kill"]))
def test_they_give_what_the_engine_gives(workload, predictor, overrun):
    """Guards against events, corrections and decisions that are not those of a simulation."""
    workload = WORKLOADS[workload]
    predictor, _, own = predictor.partition("@")
    both = Both(own and f"@{own}")
    simulate(workload, both, predictor, overrun=overrun)
    assert len(both.pairs) >= 2 * len(CANDIDATES)
    assert_same(both.pairs)
    doubting, trusting = (
        [pair[3] for pair in both.pairs if pair[0].endswith(end)] for end in ("trust=0.1", "trust=inf")
    )
    waits = [(one.outcome.waits == other.outcome.waits).all() for one, other in zip(doubting, trusting, strict=True)]
    assert all(waits) == (predictor == "walltime" and not own)


@pytest.mark.parametrize(
    ("workload", "overrun"),
    some([("two resources", "kill"), ("lublin", "run"), ("lublin", "kill"), ("two resources", "run")]),
)
def test_they_do_so_where_jobs_ran_already(workload, overrun):
    """Guards against replays that know nothing of what a state has running."""
    workload = WORKLOADS[workload]
    left, state = state_of(workload)
    both = Both("@last2")
    simulate(left, both, overrun=overrun, state=state)
    begun = [past for _, past, *_ in both.pairs if past.begin <= state.at]
    assert any(job.submit < state.at for past in begun for job in past.jobs)
    assert_same(both.pairs)


def assert_same(pairs):
    """Pairs of replays have the same outcome, and somewhere candidates differ."""
    different = set()
    for name, past, engine, compiled in pairs:
        assert (engine.failure, compiled.failure) == ("", "")
        assert compiled.outcome.waits.tolist() == engine.outcome.waits.tolist(), (name, past.begin)
        assert compiled.outcome.slowdowns.tolist() == engine.outcome.slowdowns.tolist()
        assert compiled.outcome.fresh.tolist() == engine.outcome.fresh.tolist()
        assert 0 <= compiled.decisions <= engine.decisions
        different.add((past.begin, past.end, tuple(compiled.outcome.waits.tolist())))
    assert len(different) > len(pairs) // len(CANDIDATES)
