"""Parts of a script: names, options, objects in the place of names, labels."""

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError, Registry, distinct_labels, installed, part_label, register
from hpcdispatch.dispatchers import EASY, FCFS, ConstraintProgramming, Portfolio, Start, orders, space_of
from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import Walltime, with_correction
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.testing import pool


class Area:
    """Least area first."""

    def __init__(self, power=1.0):
        self.power = power

    def ranks(self, state):
        return (state.queue.nodes * state.queue.demand[:, 0] * state.queue.predicted) ** self.power


class Fat:
    """Largest job first."""

    def __init__(self, patience=60):
        self.patience = patience

    def dispatch(self, state):
        space, actions = space_of(state), []
        for job in sorted(state.queue, key=lambda job: -job.nodes * job.demand[0]):
            placement = space.place(job.nodes, job.demand)
            if placement is not None:
                actions.append(Start(job, placement))
        return actions


class Share:
    """A share of the walltime."""

    def __init__(self, share=0.5):
        self.share = share

    def predict(self, job, now):
        return job.walltime * self.share

    def observe(self, job):
        pass


@pytest.fixture(autouse=True)
def own_parts(monkeypatch):
    """Give each test registries without parts of a script."""
    monkeypatch.setattr(installed, "_OF_SCRIPT", {})


def test_a_registered_name_works_with_options():
    hd.register("dispatcher", "fat", Fat)
    hd.register("predictors", "share", Share)
    assert "fat" in dispatchers.names()
    assert "share" in predictors.names()
    assert dispatchers.create("fat:patience=3600").patience == 3600
    result = hd.simulate(pool(), "fat", predictor="share:share=0.25")
    assert result.manifest["predictor"] == "share:share=0.25"
    assert result.jobs.equals(hd.simulate(pool(), Fat(), predictor=Share(0.25)).jobs)


def test_a_new_part_replaces_one_of_the_script():
    hd.register("order", "area", Area)
    hd.register("order", "area", lambda: Area(2.0))
    assert orders.create("area").power == 2.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("order", "sjf", Area), "order 'sjf' is a name of hpcdispatch already; choose another name"),
        (("oder", "x", Area), "kind must be one of dispatcher, predictor, .*, got 'oder'"),
        (("order", "a:b", Area), "name must be letters, digits, '-', '_' and '.', got 'a:b'"),
        (("order", "", Area), "name must be letters"),
        (("order", 3, Area), "name must be letters, .*, got 3"),
        (("order", "x", Area()), "factory must be a class or a function, got .*give its class"),
    ],
)
def test_what_cannot_be_registered(given, message):
    with pytest.raises(InputError, match=message) as error:
        register(*given)
    assert "\n" not in str(error.value)


def test_an_unknown_name_is_told_the_script_s_names():
    register("predictor", "share", Share)
    with pytest.raises(InputError, match=r"unknown predictor 'shar'.*did you mean share"):
        predictors.create("shar")


def test_options_without_annotations_have_the_type_of_their_default():
    register("predictor", "share", Share)
    with pytest.raises(InputError, match="option 'share': expected a number, got 'much'"):
        predictors.create("share:share=much")


@pytest.mark.parametrize("option", ["order", "backfill"])
def test_an_order_is_a_name_or_an_object(option):
    register("order", "area", Area)
    named = hd.simulate(pool(), f"easy:{option}=area:power=2", "oracle")
    given = hd.simulate(pool(), EASY(**{option: Area(2.0)}), "oracle")
    assert given.jobs.equals(named.jobs)
    assert not given.jobs.equals(hd.simulate(pool(), "easy", "oracle").jobs)


def test_a_list_takes_an_order_object():
    register("order", "area", Area)
    assert hd.simulate(pool(), FCFS(order=Area())).jobs.equals(hd.simulate(pool(), "fcfs:order=area").jobs)


@pytest.mark.parametrize("wrong", [Area, Walltime(), 3])
def test_what_is_no_order(wrong):
    with pytest.raises(InputError, match=r"expected a name or an object with ranks\(state\)"):
        EASY(backfill=wrong)


def test_a_correction_is_a_name_or_a_function():
    def twice(job, elapsed, misses):
        return 2 * elapsed + 1

    register("correction", "twice", twice)
    register("predictor", "share", Share)
    named = hd.simulate(pool(), "easy", "share:share=0.25,correction=twice")
    given = hd.simulate(pool(), "easy", with_correction(Share(0.25), twice))
    assert given.jobs.equals(named.jobs)
    assert given.manifest["predictor"] == "Share:share=0.25,correction=twice"
    with pytest.raises(InputError, match="expected a function of job, elapsed, misses, got 3"):
        with_correction(Share(), 3)


def test_what_is_no_goal_is_told_what_to_subclass():
    for part, options in ((Portfolio, {"goal": Fat()}), (ConstraintProgramming, {"objective": Fat()})):
        with pytest.raises(InputError, match=r"subclass hpcdispatch\.dispatchers\..*Goal$"):
            part(**options)
    with pytest.raises(InputError, match=r"subclass hpcdispatch\.dispatchers\.cp\.SiteConstraint$"):
        ConstraintProgramming(constraints=[Fat()])


def test_a_portfolio_takes_objects():
    register("dispatcher", "fat", Fat)
    register("predictor", "share", Share)
    options = {"every": "1h", "window": "2h"}
    named = hd.simulate(pool(), Portfolio(of="easy+fat@share:share=0.75", **options))
    given = hd.simulate(pool(), Portfolio(of=["easy", (Fat(), Share(0.75))], **options))
    assert given.jobs.equals(named.jobs)
    assert given.decisions["replays"].sum() > 0
    assert set(given.decisions["chosen"]) <= {"easy", "Fat@Share:share=0.75", "easy:reserve_by=walltimes"}


def test_variants_of_a_class_are_named_by_their_options():
    assert distinct_labels([Fat(60), Fat(3600)]) == ["Fat", "Fat:patience=3600"]
    models = [ConstraintProgramming(m=3), ConstraintProgramming(m=5)]
    first, second = distinct_labels(models)
    assert (first[-4:], second[-4:]) == (":m=3", ":m=5")
    assert part_label(EASY(backfill=Area(2.0))) == "EASY:backfill=Area:power=2.0"


def test_equal_variants_are_numbered():
    same = Fat()
    assert distinct_labels([Fat(), Fat(), Fat()]) == ["Fat", "Fat #2", "Fat #3"]
    assert distinct_labels([same, same]) == ["Fat", "Fat"]


def test_a_label_tolerates_any_part():
    class Odd:
        def __init__(self, values, size=3):
            self.values = values

    assert part_label(Odd(np.arange(3))) == "Odd:values=ndarray"


def test_compare_tells_variants_apart():
    found = hd.compare(pool(20), [Fat(60), Fat(3600), EASY(backfill=Area())], [Share(0.5), Share(0.75)])
    assert list(dict.fromkeys(found.table["dispatcher"])) == ["Fat", "Fat:patience=3600", "EASY:backfill=Area"]
    assert list(dict.fromkeys(found.table["predictor"])) == ["Share", "Share:share=0.75"]
    assert len(found.contenders) == 6


def test_a_registered_part_runs_in_workers():
    register("dispatcher", "fat", Fat)
    found = hd.compare(pool(20), ["easy", "fat", "fat:patience=7"], workers=2)
    assert len(found.table) == 3, found.failures


def test_a_part_unknown_in_workers_says_so():
    register("dispatcher", "fat", lambda patience=60: Fat(patience))
    found = hd.compare(pool(20), ["easy", "fat"], workers=2)
    assert [failure.dispatcher for failure in found.failures] == ["fat"]
    assert "registered by a script and not known in another process" in found.failures[0].error


def test_results_of_a_registered_part_are_made_anew(tmp_path):
    register("predictor", "share", Share)
    first = hd.compare(pool(20), "easy", "share", out=tmp_path)
    register("predictor", "share", lambda: Share(0.1))
    second = hd.compare(pool(20), "easy", "share", out=tmp_path)
    assert first.runs["wait_mean"].item() != second.runs["wait_mean"].item()


def test_registries_of_one_group_share_parts():
    register("predictor", "share", Share)
    assert Registry("predictor", "hpcdispatch.predictors").create("share").share == 0.5
