"""Candidates of a portfolio that go by another predictor than the simulation."""

import math

import pytest
from combinations import each_pair
from internal_options import made, simulate

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Portfolio, State
from hpcdispatch.dispatchers.portfolio import own_predictions
from hpcdispatch.predictors import LastTwo
from hpcdispatch.simulation import check
from hpcdispatch.testing import samples
from hpcdispatch.workloads import Job, Machine, Workload, generate

WORKLOAD = generate("lublin:jobs=100,processors=16,load=0.9", seed=4)
CROWDED = generate("lublin:jobs=200,processors=32,load=0.9", seed=2)
#: Predicts jobs as they come alone, as simulations do.
FIXED = "portfolio:repredict=false"
LEARNING = "last2", "regression:quantile=0.6", "empirical:least=2/quantile=0.8"


def source(workload):
    return workload.provenance.source.partition("(")[0]


def starts(workload, dispatcher, predictor="walltime", **given):
    result = simulate(workload, dispatcher, predictor, **given)
    check(workload, result)
    return result.jobs["start"].tolist()


@pytest.mark.parametrize(
    ("kind", "predictor", "overrun"),
    each_pair([source(workload) for workload in samples()], LEARNING, ["run", "kill", "resubmit"]),
)
def test_it_decides_as_in_a_simulation_with_that_predictor(kind, predictor, overrun):
    """Guards against predictions, corrections and lessons that differ from the engine's in time or walltime."""
    workload = next(workload for workload in samples() if source(workload) == kind)
    candidate = f"easy@{predictor}"
    own = starts(workload, f"{FIXED},of={candidate},reference={candidate},every=9d,window=9d", overrun=overrun)
    assert own == starts(workload, "easy", predictor.replace("/", ","), overrun=overrun)


#: Nothing in it depends on waits under EASY. A portfolio knows more about these than it would.
TIMELESS = "lookahead:patience=inf"


@pytest.mark.parametrize("dispatcher", [TIMELESS, "conservative", "sjf"])
def test_any_dispatcher_can_go_by_it(dispatcher):
    own = starts(CROWDED, f"{FIXED},of={dispatcher}@last2,reference={dispatcher}@last2,every=90d,window=90d")
    assert own == starts(CROWDED, dispatcher, "last2")
    assert own != starts(CROWDED, dispatcher)


LEARNS = f"{FIXED},of={TIMELESS},learns={{}},reference=easy,every=90d,window=90d"


@pytest.mark.parametrize("learns", ["last2", "empirical:least=3/quantile=0.75"])
def test_where_nothing_is_predicted_it_learns(learns):
    own = starts(CROWDED, LEARNS.format(learns))
    assert own == starts(CROWDED, TIMELESS, learns.replace("/", ","))
    assert own != starts(CROWDED, LEARNS.format("")) == starts(CROWDED, TIMELESS)


def replayed(workload, **options):
    """Return when jobs ended, and the pasts that a portfolio replayed."""
    pasts = []

    class Seen(Portfolio):
        def use_replays(self, replay):
            super().use_replays(lambda past, *given: (pasts.append(past), replay(past, *given))[1])

    result = simulate(workload, Seen(**options))
    return dict(zip(result.jobs["id"], result.jobs["end"], strict=True)), pasts


@pytest.mark.parametrize("learns", ["", "last2"])
def test_what_has_not_ended_runs_in_replays_as_it_is_learned(learns):
    ends, pasts = replayed(CROWDED, of="easy-sjbf", learns=learns, every="6h", window="2d")
    guessed = [job for past in pasts for job in past.jobs if ends[job.id] > past.end]
    assert guessed
    assert any(job.runtime < job.walltime for job in guessed) == bool(learns)


def test_what_ended_before_a_past_is_not_in_it():
    # One after the other, so that pasts begin when a job ends.
    jobs = [Job(str(number), 0, 1800, 1800) for number in range(12)]
    ends, pasts = replayed(Workload(jobs, Machine.homogeneous(1, core=1)), every="1h", window="3h")
    assert {past.begin for past in pasts} & set(ends.values())
    assert all(ends[job.id] > past.begin for past in pasts for job in past.jobs)


@pytest.mark.parametrize("predictor", ["oracle", "last2"])
def test_predictions_of_the_simulation_stand(predictor):
    learns = LEARNS.format("empirical:least=1/quantile=0.5")
    assert starts(CROWDED, learns, predictor) == starts(CROWDED, LEARNS.format(""), predictor)
    assert simulate(CROWDED, learns, predictor).decisions["predictor"].iloc[-1] == ""


class Halved:
    """Shows the dispatcher underneath half the prediction of every job."""

    def __init__(self, over):
        self.over = over

    def reset(self, machine, rng=None):
        self.over.reset(machine, rng)

    def dispatch(self, state):
        queue = [entry.shown_as(predicted=-(-entry.predicted // 2)) for entry in state.queue]
        return self.over.dispatch(State(state.now, queue, state.running, state.free, state.machine))


def test_predictions_of_others_stand():
    """Those of a candidate, and those of a dispatcher on top of the portfolio."""
    learns = LEARNS.replace(TIMELESS, f"{TIMELESS}@last2").format("empirical:least=1/quantile=0.5")
    assert starts(CROWDED, learns) == starts(CROWDED, TIMELESS, "last2")
    given = {"of": "easy-sjbf", "reference": "easy", "every": "90d", "window": "90d"}
    halved = [starts(CROWDED, Halved(Portfolio(learns=learns, **given))) for learns in ("", "last2")]
    assert halved[0] == halved[1] != starts(CROWDED, Portfolio(learns="last2", **given))


def test_the_reference_learns_nothing():
    for reference in ("easy", "easy-sjbf"):
        name = f"portfolio:of={reference},learns=last2,reference={reference},every=90d,window=90d"
        assert starts(CROWDED, name) == starts(CROWDED, reference) != starts(CROWDED, reference, "last2")


def test_the_default_candidates_learn_and_others_are_left_as_they_are():
    assert Portfolio().options.learned == "empirical:least=3,quantile=0.75"
    for name in (
        "portfolio:learns=none",
        "portfolio:learns=",
        "portfolio:of=easy+lxf",
        "portfolio:of=easy,learns=auto",
    ):
        assert made(name).options.learned == "", name
    assert made("portfolio:of=easy,learns=last2").options.learned == "last2"


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


def register_broken(monkeypatch, good, answer):
    """Let there be a predictor of the name "broken"."""
    create = own_predictions.predictors.create
    made = {"broken": lambda: Broken(good, answer)}
    monkeypatch.setattr(own_predictions.predictors, "create", lambda spec: made.get(spec, lambda: create(spec))())


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
    register_broken(monkeypatch, good, answer)
    found = tunings("portfolio:of=sjf@broken+ljf,reference=fcfs,every=2h,window=12h")
    assert found["failure"].iloc[-1].startswith(message)
    assert found["chosen"].iloc[-1] != "sjf@broken"
    assert found["replays"].iloc[-1] == 2


def test_where_what_it_learns_from_fails_the_predictions_of_the_simulation_count(monkeypatch):
    register_broken(monkeypatch, 30, None)
    found = tunings("portfolio:of=sjf+ljf,learns=broken,reference=fcfs,every=2h,window=12h")
    assert found["predictor"].iloc[0] == "broken"
    assert set(found["predictor"][found["failure"] != ""]) == {""}
    message = "learns: broken: predict raised KeyError: 'user', job "
    assert found["failure"].iloc[-1].startswith(message)
    assert found["failure"].iloc[-1].endswith("; by the predictions of the simulation")
    assert found["replays"].iloc[-1] == 3


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


@pytest.mark.parametrize(
    ("learns", "message"), [("nobody", "unknown predictor 'nobody'"), ("last2:many=2", "unknown option 'many'")]
)
def test_what_does_not_learn_is_refused(learns, message):
    with pytest.raises(InputError, match=message):
        Portfolio(of="easy", learns=learns)


def test_in_a_script_without_replays_it_still_goes_by_its_own():
    class Alone(Portfolio):
        def use_replays(self, replay):
            pass

    found = simulate(WORKLOAD, Alone(of="sjf@last2+ljf", reference="fcfs", repredict=False)).jobs["start"].tolist()
    assert found == starts(WORKLOAD, "sjf", "last2")
