"""Candidates of a portfolio that go by another predictor than the simulation."""

import math

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Portfolio
from hpcdispatch.dispatchers.portfolio import own_predictions
from hpcdispatch.predictors import LastTwo
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import samples
from hpcdispatch.workloads import generate

WORKLOAD = generate("lublin:jobs=100,processors=16,load=0.9", seed=4)
LEARNING = "last2", "regression:quantile=0.6", "empirical:least=2/quantile=0.8"


def source(workload):
    return workload.provenance.source.partition("(")[0]


def starts(workload, dispatcher, predictor="walltime", **given):
    result = simulate(workload, dispatcher, predictor, **given)
    check(workload, result)
    return result.jobs["start"].tolist()


@pytest.mark.parametrize("workload", samples(), ids=source)
@pytest.mark.parametrize("predictor", LEARNING)
@pytest.mark.parametrize("overrun", ["run", "kill", "resubmit"])
def test_it_decides_as_in_a_simulation_with_that_predictor(workload, predictor, overrun):
    """Guards against predictions, corrections and lessons at other times or of other requests than the engine's."""
    candidate = f"easy@{predictor}"
    own = starts(workload, f"portfolio:of={candidate},reference={candidate},every=9d,window=9d", overrun=overrun)
    assert own == starts(workload, "easy", predictor.replace("/", ","), overrun=overrun)


@pytest.mark.parametrize("dispatcher", ["lookahead", "conservative", "sjf"])
def test_any_dispatcher_can_go_by_it(dispatcher):
    workload = generate("lublin:jobs=300,processors=32,load=0.9", seed=2)
    own = starts(workload, f"portfolio:of={dispatcher}@last2,reference={dispatcher}@last2,every=90d,window=90d")
    assert own == starts(workload, dispatcher, "last2")
    assert own != starts(workload, dispatcher)


def tunings(portfolio, **given):
    result = simulate(WORKLOAD, portfolio, **given)
    check(WORKLOAD, result)
    return result.decisions[result.decisions["tuned"] == 1]


def test_the_better_predictor_is_chosen():
    """The worse one says that every job is as long as the others."""
    given = "reference=fcfs,every=2h,window=12h,goal=means:bound=none"
    found = tunings(f"portfolio:of=sjf@empirical:by=user/least=1+sjf@oracle,{given}", predictor="oracle")
    assert "sjf@oracle" in set(found["chosen"])


class Broken(LastTwo):
    """Raises, or answers what is no time, after some predictions."""

    def __init__(self, good, answer):
        super().__init__()
        self.left, self.answer = good, answer

    def predict(self, job, now):
        self.left -= 1
        if self.left >= 0:
            return super().predict(job, now)
        if self.answer is None:
            raise KeyError("user")
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "sjf@broken is left out: broken: predict raised KeyError: 'user', job "),
        (math.nan, "sjf@broken is left out: broken: a prediction must be >= 0 s, got nan of job "),
        (-1.0, "sjf@broken is left out: broken: a prediction must be >= 0 s, got -1.0 of job "),
        ("soon", "sjf@broken is left out: broken: a prediction must be >= 0 s, got 'soon' of job "),
    ],
)
@pytest.mark.parametrize("good", [0, 30])
def test_a_predictor_that_fails_is_left_out_and_the_rest_goes_on(monkeypatch, answer, message, good):
    create = own_predictions.predictors.create
    made = {"broken": lambda: Broken(good, answer)}
    monkeypatch.setattr(own_predictions.predictors, "create", lambda spec: made.get(spec, lambda: create(spec))())
    found = tunings("portfolio:of=sjf@broken+ljf,reference=fcfs,every=2h,window=12h")
    assert found["failure"].iloc[-1].startswith(message)
    assert found["chosen"].iloc[-1] != "sjf@broken"
    assert found["replays"].iloc[-1] == 2


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ("easy@", "of: expected a predictor behind the @, got 'easy@'"),
        ("easy@nobody", "unknown predictor 'nobody'"),
        ("easy@last2:many=2", "unknown option 'many'"),
        ("@last2", "unknown dispatcher ''"),
        ("easy@last2@last2", "unknown predictor|expected a whole number|unknown option"),
    ],
)
def test_what_is_no_candidate_is_refused(of, message):
    with pytest.raises(InputError, match=message):
        Portfolio(of=of)


def test_in_a_script_without_replays_it_still_goes_by_its_own():
    class Alone(Portfolio):
        def use_replays(self, replay):
            pass

    found = simulate(WORKLOAD, Alone(of="sjf@last2+ljf", reference="fcfs")).jobs["start"].tolist()
    assert found == starts(WORKLOAD, "sjf", "last2")
