"""What the claims of the CP paper need, and the parts that they are judged over."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.bench.campaigns.samples import Samples
from hpcdispatch.bench.studies.reproductions import StudySettings
from hpcdispatch.bench.studies.reproductions.cp2019 import contenders, crowds, quality
from hpcdispatch.bench.studies.reproductions.cp2019.conditions import conditions_of
from hpcdispatch.bench.studies.reproductions.cp2019.eurora import Draws
from hpcdispatch.bench.studies.reproductions.cp2019.months import MONTH, SimulatedPart, months_of
from hpcdispatch.bench.studies.reproductions.cp2019.prediction_claims import Told, pcp_claims
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload


def part(real, predicted, queues=("a", "b"), queued=200):
    jobs = pd.DataFrame(
        {
            "status": "completed",
            "attempts": 1,
            "end": 10**6,
            "runtime": real,
            "predicted": predicted,
            "queue": np.resize(np.array(queues), len(real)),
        }
    )
    return SimulatedPart(jobs, pd.DataFrame({"queued": [queued]}), pd.Series([0.1]), 0.0, 0.1, 0.5)


GOOD = part([100] * 4, [110] * 4), part([100] * 4, [1000] * 4)


def unmet(guessed, requested, nodes=64):
    return [
        condition.text for condition in conditions_of([guessed] * 3, [requested] * 3, nodes).all if not condition.met
    ]


def test_all_are_met_where_all_is_as_in_the_paper():
    assert unmet(*GOOD) == []


@pytest.mark.parametrize(
    ("guessed", "requested", "nodes", "what"),
    [
        (*GOOD, 1, "more than one node"),
        (GOOD[0], part([100] * 4, [1000] * 4, queues=["a"]), 64, "at least two queues"),
        (part([100] * 4, [600] * 4), GOOD[1], 64, "the heuristic errs at most 0.3 times as much as the requests"),
        (part([100], [100]), part([100] * 4, [110, 1000, 1000, 1000]), 64, "fewer than 10% of the requests"),
        (GOOD[0], part([100] * 4, [1000] * 4, queued=100), 64, "more than 100 jobs wait at a call"),
    ],
)
def test_each_can_fail(guessed, requested, nodes, what):
    [found] = unmet(guessed, requested, nodes)
    assert found.startswith(what)


def test_a_claim_needs_what_it_speaks_of():
    conditions = conditions_of(*([each] for each in GOOD), 64)
    assert conditions.of("HCP3-R", "PBS") == (conditions.nodes,)
    assert conditions.of("HCP1-R", "HCP3-R") == (conditions.nodes, conditions.queues)
    assert conditions.of("PCP3-D", "PBS") == (conditions.nodes, conditions.names, conditions.heuristic)
    assert conditions.of("HCP3-W", "HCP1-W") == (conditions.nodes, conditions.queues, conditions.requests)
    assert conditions.crowd in conditions.of("HCP", "HCP1-W")


def test_a_claim_turns_with_the_dispatcher():
    conditions = conditions_of(*([each] for each in GOOD), 64)
    values = {label: {"slowdown": [1.0, 2.0, 3.0], "wait": [1.0, 2.0, 3.0]} for label in contenders.PCPS}
    values["PCP3-R"] = {"slowdown": [0.5, 1.0, 1.5], "wait": [0.5, 1.0, 1.5]}
    by_text = {claim.text: claim.holds for claim in pcp_claims(values, conditions)}
    assert by_text["PCP3-R is better than PCP1-R: wait"] is True
    values["PCP3-R"] = values["PBS"]
    by_text = {claim.text: claim.holds for claim in pcp_claims(values, conditions)}
    assert by_text["PCP3-R is better than PCP1-R: wait"] is False
    assert Told({}, conditions).better("PCP3-R", "PCP1-R", ("", "")) == ()


def test_a_part_without_such_jobs_is_left_out():
    conditions = conditions_of(*([each] for each in GOOD), 64)
    nan = float("nan")
    values = {label: {"wait": [2.0, nan, 2.0, 2.0], "slowdown": [1.0] * 4} for label in ("PCP3-R", "PBS")}
    values["PCP3-R"]["wait"] = [1.0, nan, 1.0, 1.0]
    claims = Told(values, conditions).better("PCP3-R", "PBS", ("", ""))
    assert [claim.holds for claim in claims] == [False, True]


def test_months_are_disjoint_and_a_short_last_one_is_left_out():
    submits = [0, 10, MONTH, MONTH + 5, MONTH + 6, 2 * MONTH + 1]
    jobs = tuple(Job(str(place), submit, 5, 5) for place, submit in enumerate(submits))
    first, second = months_of(simulate(Workload(jobs, Machine.pool(1)), "fcfs"))
    assert first.jobs["submit"].tolist() == [0, 10]
    assert second.jobs["submit"].tolist() == [MONTH, MONTH + 5, MONTH + 6]
    assert first.decisions["time"].max() < second.decisions["time"].min()


def test_a_past_is_not_measured():
    jobs = tuple(Job(str(place), 10 * place, 5, 5) for place in range(6))
    found = SimulatedPart.of(simulate(Workload(jobs, Machine.pool(1)), "fcfs"), 4)
    assert found.jobs["submit"].tolist() == [40, 50]
    assert found.decisions["time"].min() >= 40
    assert found.utilization == pytest.approx(10 / 15)


@pytest.mark.traces
def test_what_one_queue_cannot_tell_is_not_testable(tmp_path, monkeypatch):
    jobs = tuple(Job(str(place), 5 * place, 20 + 7 * place, 400, 1 + place % 3, {"core": 1}) for place in range(8))
    contest = contenders.Contest((Samples(Workload(jobs, Machine.homogeneous(3, core=1)), 1),), "3600", "")
    monkeypatch.setattr(contenders, "hpc2n", lambda scale: contest)
    monkeypatch.setattr(contenders, "PCPS", ("PBS", "PCP1-W", "PCP1-R", "PCP3-R", "PCP3-D"))
    monkeypatch.setattr(contenders, "HCPS", ("PBS", "HCP3-W", "HCP3-R", "HCP3-D"))
    outcome = quality.on_hpc2n(StudySettings("smoke", tmp_path))
    told = {claim.text: claim for claim in outcome.claims}
    assert "at least two queues" in told["PCP3-R is better than PCP1-R: wait"].unmet
    assert not told["HCP3-R is better than PBS: wait"].unmet


class TestCrowds:
    def waiting(self, submit, start, labels=None):
        jobs = pd.DataFrame({"submit": submit, "start": start}, index=labels)
        return SimulatedPart(jobs, pd.DataFrame(), pd.Series(dtype=float), 0.0, 0.0, 0.0)

    def test_begin_where_more_than_so_many_wait(self):
        some = self.waiting([0, 1, 2, 3, 50, 60], [0, 40, 41, 42, 50, 60])
        assert crowds.crowd_begins(some, 1) == 2
        assert crowds.crowd_begins(some, 2) == 3

    def test_begin_at_the_longest_queue_where_nowhere_so_many_wait(self):
        assert crowds.crowd_begins(self.waiting([0, 1, 2, 30], [0, 20, 21, 30]), 300) == 2

    def test_are_told_by_the_rows_of_the_whole_simulation(self):
        assert crowds.crowd_begins(self.waiting([0, 1, 2], [9, 9, 9], [700, 701, 702]), 1) == 701

    def test_of_each_draw_one_stretch_after_its_past(self, tmp_path):
        means = StudySettings("smoke", tmp_path)
        contest = contenders.eurora(means)
        [stretch] = crowds.stretches(contest, means)
        [part] = stretch.simulated([("fcfs", "walltime")], means)
        assert 1 <= stretch.past <= crowds.PAST["smoke"]
        assert len(part.jobs) == len(stretch.jobs.workload) - stretch.past
        assert len(part.jobs) <= crowds.BUDGET["smoke"]

    @pytest.mark.parametrize(("queues", "left"), [((1, 2, 2), [1, 2]), ((1, 1, 1), [0, 1, 2]), ((2, 2, 2), [0, 1, 2])])
    def test_those_of_one_queue_are_left_out_unless_all_are(self, tmp_path, monkeypatch, queues, left):
        def drawn(seed):
            names = ["other", *("ab"[place % queues[seed]] for place in range(3))]
            jobs = [Job(f"{seed}.{place}", place, 9, 9, 1, {"core": 1}, queue=name) for place, name in enumerate(names)]
            return Workload(jobs, Machine.homogeneous(1, core=1))

        monkeypatch.setattr(Draws, "__call__", lambda self, seed: drawn(seed))
        waiting = {"EASY-W": [self.waiting([0, 1, 2, 3], [0, 9, 2, 3])] * 3}
        monkeypatch.setattr(contenders.Contest, "results", lambda *_: waiting)
        contest = contenders.Contest((Samples(Draws(1000), 3, label="draws"),), "", "")
        found = crowds.stretches(contest, StudySettings("smoke", tmp_path))
        assert [each.jobs.workload.jobs[0].id[0] for each in found] == [str(seed) for seed in left]
