"""Many choosers: what is measured is what single simulations find, and claims are decided by it either way."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings, find
from hpcdispatch.bench.studies.reproductions.jsspp2000 import bushel_results
from hpcdispatch.bench.studies.reproductions.jsspp2000.many_choosers import (
    AGAIN,
    LUBLIN,
    OVER,
    SETTINGS,
    SHARES,
    at_load,
    measure,
    sample,
)
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import describe, generate

WORKLOAD = sample(LUBLIN, 40, 0.95, 1, 1)


@pytest.mark.parametrize("load", [0.6, 0.95])
def test_a_stretched_workload_offers_its_load(load):
    stretched = at_load(generate("lublin:jobs=50,processors=32,load=2", seed=2), load)
    assert describe(stretched).load == pytest.approx(load, rel=0.01)


def test_what_choosers_and_others_gain_is_what_whole_simulations_find():
    found = measure(WORKLOAD, "sa:over=easy", 2, (0.5, 1.0), 0).set_index("share")
    assert found.loc[-1.0, "choosers"] == 0
    assert found["choosers"].loc[0.0].tolist() == [1, 1]
    rigid = WORKLOAD.with_jobs(replace(job, shapes=()) for job in WORKLOAD.jobs)
    nobody, everybody = (took(simulate(jobs, "sa:over=easy", overrun="kill")) for jobs in (rigid, WORKLOAD))
    chooses = np.array([bool(job.shapes) for job in WORKLOAD.jobs])
    assert found.loc[1.0, "gain"] == pytest.approx((nobody - everybody)[chooses].mean())
    assert found.loc[1.0, "choosers"] == chooses.sum()
    assert found.loc[0.5, "choosers"] == round(chooses.sum() / 2)
    summary = simulate(WORKLOAD, "sa:over=easy", overrun="kill").summary()
    assert found.loc[1.0, "efficiency"] == pytest.approx(summary["efficiency"])
    assert found.loc[-1.0, "efficiency"] > found.loc[1.0, "efficiency"]


def took(result):
    return np.log(np.maximum(result.jobs["end"] - result.jobs["submit"], 1)).to_numpy()


def test_choosers_under_conservative_are_never_late_and_say_how_often_they_changed_their_minds():
    found = measure(WORKLOAD, "sa:again=2,over=conservative", 0, (1.0,), 0).set_index("share")
    assert found.loc[1.0, "late"] == 0
    assert found.loc[1.0, "error"] <= 0
    assert 0 < found.loc[1.0, "changes"] <= 2


def made(gain=0.5, falls=0.2, late=0.0):
    """Return samples in which choosers gain, and less so the more of them there are."""
    rng = np.random.default_rng(0)
    small = SETTINGS["small"]
    rows = []
    for again, over, load, share, name, seed in product(
        (0, AGAIN), OVER, small.loads, (-1.0, *SHARES), small.workloads, range(small.samples)
    ):
        noise = rng.normal(0, 0.01)
        many = max(share, 0)
        rows.append(
            {
                "again": again,
                "over": over,
                "load": load,
                "share": share,
                "workload": name,
                "seed": seed,
                "choosers": 100 * many,
                "efficiency": 0.9 - 0.1 * many,
                "gain": gain - falls * share - load / 10 + noise,
                "others": noise - falls * share,
                "error": noise,
                "spread": share + noise,
                "late": late,
                "other_size": 0.7,
                "changes": 1.0,
            }
        )
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("given", "holds"), [({}, True), ({"gain": -0.5, "falls": -0.2, "late": 0.1}, False)])
def test_claims_hold_or_not_by_what_was_measured(monkeypatch, given, holds):
    monkeypatch.setattr(bushel_results, "crowds", lambda _: made(**given))
    claims = {claim.text: claim for claim in bushel_results.bushel(StudySettings("small", None)).claims}
    judged = [claim.holds for text, claim in claims.items() if "one job" in text or "loses" in text or "No " in text]
    judged += [claim.holds for text, claim in claims.items() if "A chooser gains less" in text]
    assert judged == [holds] * (4 * len(OVER) + 1)


def test_a_chooser_that_takes_no_other_size_fails(monkeypatch):
    monkeypatch.setattr(bushel_results, "crowds", lambda _: made().assign(other_size=0.1))
    assert {claim.holds for claim in bushel_results.bushel(StudySettings("small", None)).claims} == {False}


@pytest.mark.nightly
def test_a_sample_of_a_workload_decides_nothing_but_the_promise(tmp_path):
    outcome = find("jsspp2000/bushel").run(StudySettings("smoke", tmp_path))
    decided = [claim for claim in outcome.claims if claim.counts and claim.holds is not None]
    assert [claim.text for claim in decided if not claim.holds] == []
    assert all("No chooser ends later" in claim.text for claim in decided)
    assert len({row.subject for row in outcome.rows}) > 2 * len(OVER) * len(SHARES)
