"""Corrections by name: they serve any predictor, and the default keeps running jobs from ending at any second."""

import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError, installed
from hpcdispatch.base.corrections import correction_of, named_correction, with_correction
from hpcdispatch.predictors import Heuristic, LastTwo, Walltime, create
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.simulation.engine import PredictionWarning
from hpcdispatch.testing import overrunning, pool
from hpcdispatch.workloads import Job, Machine, Workload

JOB = Job("a", 0, 50_000, 10_000)


class Short:
    """A share of the walltime, without a correction."""

    def __init__(self, share=0.25):
        self.share = share

    def predict(self, job, now):
        return job.walltime * self.share

    def observe(self, job):
        pass


@pytest.fixture(autouse=True)
def own_parts(monkeypatch):
    """Give each test registries without parts of a script."""
    monkeypatch.setattr(installed, "_OF_SCRIPT", {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reqtime", [10_000, 10_000, 12_000]),
        ("doubling", [4_000, 10_000, 24_000]),
        ("tsafrir", [2_060, 9_300, 12_900]),
        ("none", [2_000, 9_000, 12_000]),
    ],
)
def test_a_correction_before_and_after_the_walltime(name, expected):
    correct = named_correction(name)
    assert [correct(JOB, elapsed, misses) for elapsed, misses in ((2_000, 0), (9_000, 1), (12_000, 2))] == expected


def starts(predictor):
    """Return the starts on 4 cores: a runs past its prediction, b waits for it, and c backfills only beside b."""
    jobs = (Job("a", 0, 1_000, 1_200, 2), Job("b", 1, 100, 100, 4), Job("c", 400, 500, 500, 2))
    return hd.simulate(Workload(jobs, Machine.pool(4)), "easy", predictor).jobs["start"].tolist()


def test_a_predictor_without_corrections_does_not_close_backfilling():
    class Known(Short):
        def predict(self, job, now):
            return 300 if job.id == "a" else job.walltime

    # At 400, a is past its 300 s. Uncorrected it ends at 401, and c would delay b. Tsafrir's steps put it at 660, then
    # at the walltime.
    assert starts(with_correction(Known(), "none")) == [0, 1000, 1100]
    assert starts(with_correction(Known(), "reqtime")) == [0, 1000, 400]
    assert starts(Known()) == starts(with_correction(Known(), "tsafrir"))


def test_every_predictor_takes_a_correction_by_name():
    for name in ("walltime", "last2", "heuristic", "empirical", "regression", "ranges", "scaled"):
        made = create(f"{name}:correction=doubling")
        assert correction_of(made)(JOB, 2_000, 0) == 4_000
        assert "correction" in {option.name for option in predictors.options(name)}


def test_own_corrections_keep_their_names():
    assert create("last2:correction=sc15").correction == "sc15"
    assert create("heuristic:correction=none").correct(JOB, 20_000, 0) == 20_000
    assert LastTwo().correct(JOB, 2_000, 1) == 2_300
    assert Heuristic().correct(JOB, 2_000, 1) == 10_000
    assert Walltime().correct(JOB, 2_000, 0) == 10_000


def test_a_class_can_name_its_correction():
    class Named(Short):
        correction = "reqtime"

    assert correction_of(Named())(JOB, 2_000, 0) == 10_000


def test_a_correction_of_a_script():
    hd.register("correction", "half-more", lambda job, elapsed, misses: 1.5 * elapsed)
    hd.register("predictor", "short", Short)
    made = create("short:share=0.5,correction=half-more")
    assert made.correct(JOB, 2_000, 0) == 3_000
    assert made.share == 0.5


def test_an_unknown_correction_is_named():
    with pytest.raises(InputError, match=r"unknown correction 'doublin' \(did you mean doubling\?\); known: doubling"):
        create("last2:correction=doublin")


def test_an_object_with_a_correction_has_its_own_label():
    made = with_correction(Short(0.5), "doubling")
    found = hd.compare(pool(20), "easy", [Short(0.5), made])
    assert found.table["predictor"].tolist() == ["Short:share=0.5", "Short:share=0.5,correction=doubling"]


@pytest.mark.nightly
def test_walltimes_with_a_correction_leave_the_compiled_path():
    workload = hd.generate("lublin", jobs=10_001, processors=64, seed=1)
    plain = hd.simulate(workload, "easy", "walltime").jobs
    assert hd.simulate(workload, "easy", "walltime:correction=none").jobs.equals(plain)


def test_predictions_above_the_walltime_are_said_once():
    with pytest.warns(PredictionWarning, match=r"Short:share=2: 80 predictions above the walltime count as") as told:
        result = hd.simulate(pool(80), "easy", Short(2), overrun="kill")
    assert len(told) == 1
    assert result.manifest["cut_predictions"] == 80
    assert result.jobs.equals(hd.simulate(pool(80), "easy", "walltime", overrun="kill").jobs.assign())


@pytest.mark.parametrize("overrun", ["run", "kill"])
def test_scaled_predictions_are_kept(overrun, recwarn):
    scaled = hd.simulate(pool(80), "easy", "scaled:factor=2", overrun=overrun)
    assert not [warning for warning in recwarn if warning.category is PredictionWarning]
    assert "cut_predictions" not in scaled.manifest
    assert (scaled.jobs["predicted"] == 2 * scaled.jobs["walltime"]).all()


def test_scaled_predictions_of_another_predictor():
    workload = overrunning(60)
    once = hd.simulate(workload, "easy", "last2:count=3")
    same = hd.simulate(workload, "easy", "scaled:factor=1,of=last2:count=3")
    assert same.jobs.equals(once.jobs)
    assert create("scaled:of=last2:count=3/correction=doubling").correct(JOB, 2_000, 0) == 4_000


def test_scaled_needs_a_factor_above_zero():
    with pytest.raises(InputError, match="predictor scaled: factor must be a number > 0, got 0"):
        create("scaled:factor=0")


def test_predict_judges_predictors_and_corrections():
    found = hd.evaluate_predictors(pool(80), ["last2", "last2:correction=none"], dispatcher="easy")
    assert found.table["predictor"].tolist() == ["last2", "last2:correction=none"]
    assert found.table["mae"].nunique() == 1
    assert found.table["wait"].nunique() == 2
