"""A past that is replayed under its own dispatcher does not change."""

import numpy as np
import pytest
from internal_options import simulate
from standing_states import state_of

from hpcdispatch.dispatchers import Portfolio
from hpcdispatch.testing import moldable, samples

WORKLOADS = samples()[1:]


class Mirror(Portfolio):
    """A portfolio of one candidate. It keeps each replay with its time."""

    def __init__(self, name):
        self.seen = []
        super().__init__(of=name, reference=name, every="1h", window="4h", repredict=False)

    def use_replays(self, replay):
        def kept(past, dispatcher, budget):
            found = replay(past, dispatcher, budget)
            self.seen.append((past, found))
            return found

        super().use_replays(kept)


def real_waits(result, past):
    """Return the waits at the end of a stretch, seconds, of jobs that had not started at its begin."""
    ends = dict(zip(result.jobs["id"], result.jobs["end"], strict=True))
    held = dict.fromkeys(ends, 0)
    for id_, start, end in zip(*(result.attempts[name] for name in ("id", "start", "end")), strict=True):
        held[id_] += min(end, past.end) - min(start, past.end)
    jobs = [job for job, counts in zip(past.jobs, past.waiting, strict=True) if counts]
    return [min(ends[job.id], past.end) - job.submit - held[job.id] for job in jobs]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.provenance.source.partition("(")[0])
@pytest.mark.parametrize("overrun", ["run", "kill", "resubmit"])
def test_it_is_what_really_happened_where_run_times_are_known(workload, overrun):
    """Guards against a replay that begins with another state."""
    mirror = Mirror("fcfs")
    result = simulate(workload, mirror, "oracle", overrun=overrun)
    assert mirror.seen
    for past, replayed in mirror.seen[:: max(1, len(mirror.seen) // 3)]:
        assert not replayed.failure
        assert replayed.outcome.waits.tolist() == real_waits(result, past)
        submits = np.array([job.submit for job in past.jobs])[past.waiting]
        assert replayed.outcome.fresh.tolist() == (submits >= past.begin).tolist()


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.provenance.source.partition("(")[0])
def test_a_candidate_with_predictions_of_its_own_makes_its_own_past(workload):
    """Guards against a replay by other predictions than the candidate's."""
    mirror = Mirror("sjf@last2:count=1")
    result = simulate(workload, mirror, "oracle")
    for past, replayed in mirror.seen[:: max(1, len(mirror.seen) // 3)]:
        assert not replayed.failure
        assert replayed.outcome.waits.tolist() == real_waits(result, past)
    if workload.provenance.source.startswith("pool"):
        assert result.jobs["start"].tolist() != simulate(workload, "sjf", "oracle").jobs["start"].tolist()


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.provenance.source.partition("(")[0])
def test_what_ran_at_the_beginning_runs_in_replays(workload):
    """Guards against replays on a machine that is emptier than it was."""
    left, state = state_of(workload)
    mirror = Mirror("fcfs")
    result = simulate(left, mirror, "oracle", overrun="kill", state=state)
    assert mirror.seen
    for past, replayed in mirror.seen[:: max(1, len(mirror.seen) // 3)]:
        assert not replayed.failure
        assert replayed.outcome.waits.tolist() == real_waits(result, past)


def test_what_ran_on_one_of_its_shapes_does_so_in_replays():
    left, state = state_of(moldable(), dispatcher="sa")
    assert any(run.shape is not None for run in state.running)
    mirror = Mirror("fcfs")
    result = simulate(left, mirror, "oracle", overrun="kill", state=state)
    assert mirror.seen
    for past, replayed in mirror.seen[:4]:
        assert not replayed.failure
        assert replayed.outcome.waits.tolist() == real_waits(result, past)


def test_predictors_of_candidates_learn_from_what_had_ended_at_the_beginning():
    left, state = state_of(WORKLOADS[0])
    starts = [
        simulate(left, dispatcher, predictor, state=state).jobs["start"].tolist()
        for dispatcher, predictor in (
            ("portfolio:of=sjf@last2:count=1,reference=fcfs,repredict=false,every=90d,window=90d", "walltime"),
            ("sjf", "last2:count=1"),
            ("sjf", "walltime"),
        )
    ]
    assert starts[0] == starts[1] != starts[2]


def test_a_budget_ends_it():
    mirror = Mirror("fcfs")
    mirror.options = mirror.options.__class__(of="fcfs", reference="fcfs", every="1h", window="4h", budget=2)
    simulate(WORKLOADS[0], mirror)
    assert {replayed.outcome is None for _, replayed in mirror.seen if replayed.decisions > 2} <= {True}
