import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.predictors import Heuristic
from hpcdispatch.predictors.heuristic import difference
from hpcdispatch.workloads import Job

NEW = Job("new", 0, 1, 1000, nodes=2, per_node={"core": 4}, user="ada", name="align_7", queue="long")


def like(runtime: int, **changes) -> Job:
    """Make a finished job that differs from `NEW` in `changes`."""
    return dataclasses.replace(NEW, id="old", runtime=runtime, **changes)


BY_RULE = {
    1: like(101),
    2: like(102, name="align_8"),
    3: like(103, nodes=3),
    4: like(104, name="align_8", per_node={"core": 8}),
    5: like(105, queue="short"),
    6: like(106, name="align", walltime=2000),
}
UNLIKE = like(107, name="sort")


def taught(*jobs: Job, **options) -> Heuristic:
    predictor = Heuristic(**options)
    for job in jobs:
        predictor.observe(job)
    return predictor


@pytest.mark.parametrize("rule", BY_RULE)
def test_each_rule_alone(rule):
    predictor = taught(BY_RULE[rule], UNLIKE)
    assert predictor.match(NEW) == (rule, 100 + rule)
    assert predictor.predict(NEW, now=0) == 100.0 + rule


@pytest.mark.parametrize("rule", BY_RULE)
def test_a_rule_goes_before_all_later_ones_though_their_jobs_ended_later(rule):
    later = [job for number, job in BY_RULE.items() if number >= rule]
    assert taught(*later).match(NEW) == (rule, 100 + rule)


@pytest.mark.parametrize("rule", BY_RULE)
def test_latest_match_wins_within_a_rule(rule):
    latest = dataclasses.replace(BY_RULE[rule], runtime=55)
    assert taught(BY_RULE[rule], latest).match(NEW) == (rule, 55)


def test_of_many_different_resources_the_latest_count():
    predictor = taught(*(like(1000 - mem, per_node={"core": 4, "mem": mem}) for mem in range(300)))
    asked = dataclasses.replace(NEW, per_node={"core": 4, "mem": 10})
    assert predictor.match(asked) == (1, 990)
    assert predictor.match(dataclasses.replace(asked, per_node={"core": 5, "mem": 10})) == (3, 1000 - 44)
    predictor.observe(like(7, per_node={"core": 4, "mem": 10}))
    for mem in range(1000, 1255):
        predictor.observe(like(1000, per_node={"core": 4, "mem": mem}))
    assert predictor.match(dataclasses.replace(asked, per_node={"core": 5, "mem": 10})) == (3, 7)
    predictor.observe(like(7, per_node={"core": 4, "mem": 10}))
    predictor.observe(like(1000, per_node={"core": 4, "mem": 2000}))
    assert predictor.match(dataclasses.replace(asked, per_node={"core": 5, "mem": 10})) == (3, 7)


def test_without_a_match_it_is_the_walltime():
    assert Heuristic().match(NEW) == (7, 1000)
    assert taught(UNLIKE).predict(NEW, now=0) == 1000.0


@pytest.mark.parametrize("change", [{"walltime": 500}, {"queue": "short"}, {"user": "bob"}])
def test_rules_1_to_4_want_the_same_queue_walltime_and_user(change):
    jobs = [dataclasses.replace(BY_RULE[rule], **change) for rule in (1, 2, 3, 4)]
    assert taught(*jobs).match(NEW)[0] == (7 if "user" in change else 5)


@pytest.mark.parametrize("change", [{"nodes": 1}, {"per_node": {"core": 5}}, {"per_node": {"core": 4, "gpu": 1}}])
def test_every_resource_is_part_of_the_profile(change):
    assert taught(like(9, **change)).match(NEW) == (3, 9)


def test_users_are_kept_apart():
    assert taught(like(5, user="bob")).match(NEW) == (7, 1000)
    assert taught(like(5, user=""), like(6, user="bob")).match(like(1, user="")) == (1, 5)


@pytest.mark.parametrize("rule", BY_RULE)
def test_capped_by_the_walltime(rule):
    assert taught(dataclasses.replace(BY_RULE[rule], runtime=5000)).predict(NEW, now=0) == 1000.0


def test_jobs_without_a_name_match_by_profile_and_request_only():
    new = dataclasses.replace(NEW, name="")
    assert taught(like(5, name="")).match(new) == (1, 5)
    assert taught(like(5, name="", nodes=9)).match(new) == (3, 5)
    assert taught(like(5, name="", queue="short")).match(new) == (7, 1000)
    assert taught(like(5)).match(new) == (7, 1000)
    assert taught(like(5, name="")).match(NEW) == (7, 1000)


def test_numbered_executables_share_no_prefix():
    new = dataclasses.replace(NEW, name="307")
    assert taught(like(5, name="30")).match(new) == (7, 1000)
    assert taught(like(5, name="30"), prefix=1).match(new) == (7, 1000)
    assert taught(like(5, name="307", queue="short")).match(new) == (5, 5)


def test_the_longest_common_prefix_wins_over_the_latest():
    longer = like(5, name="align_big_3")
    shorter = like(6, name="align_small")
    new = dataclasses.replace(NEW, name="align_big_4")
    assert taught(longer, shorter).match(new) == (2, 5)
    assert taught(longer, shorter).match(NEW) == (2, 6)
    # A name of digits and letters has a prefix, too. It must have a letter.
    assert taught(like(5, name="3d_1")).match(dataclasses.replace(NEW, name="3d_2")) == (2, 5)
    assert taught(like(5, name="3_1")).match(dataclasses.replace(NEW, name="3_2")) == (7, 1000)


def test_a_common_prefix_has_a_least_length():
    other = like(5, name="alibi")
    assert taught(other).match(NEW) == (2, 5)
    assert taught(other, prefix=3).match(NEW) == (2, 5)
    assert taught(other, prefix=4).match(NEW) == (7, 1000)


@pytest.mark.parametrize("name", [NEW.name, "align_8"])
def test_the_most_similar_resources_win_over_the_latest(name):
    near = like(5, name=name, nodes=3)
    far = like(6, name=name, nodes=60)
    assert taught(near, far).match(NEW)[1] == 5
    assert taught(far, near).match(NEW)[1] == 5
    alike = like(7, name=name, nodes=3)
    assert taught(near, far, alike).match(NEW)[1] == 7


def test_how_much_requests_differ():
    core, gpu = {"core": 4}, {"core": 4, "gpu": 1}
    assert difference((2, core), (2, core)) == 0
    assert difference((2, core), (4, core)) == difference((4, core), (2, core)) == 1.0
    assert difference((2, core), (2, gpu)) == 1.0


def test_reset_forgets():
    predictor = taught(*BY_RULE.values())
    predictor.reset()
    assert predictor.match(NEW) == (7, 1000)


@pytest.mark.parametrize(
    ("prefix", "message"),
    [(0, r"^prefix must be a whole number >= 1, got 0$"), ("x", r"^prefix must be a whole number >= 1, got 'x'$")],
)
def test_bad_options_are_named(prefix, message):
    with pytest.raises(ValueError, match=message):
        Heuristic(prefix=prefix)


def common(first: str, second: str) -> int:
    """Return the length of the longest common prefix with a letter, or 0."""
    length = next((i for i, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    length = min(len(first), len(second)) if length is None else length
    return length if any(letter.isalpha() for letter in first[:length]) else 0


def by_definition(history: list[Job], new: Job) -> tuple[int, int]:
    """Apply the rules in their written order to the whole history."""
    request = ("queue", "walltime")
    resources = ("nodes", "per_node")
    rules = [(fields, prefixed) for fields in ((*request, *resources), request, ()) for prefixed in (False, True)]
    for number, (fields, prefixed) in enumerate(rules, start=1):
        best = None
        for ended, old in enumerate(history):
            shared = common(old.name, new.name) if prefixed else len(new.name) if old.name == new.name else -1
            named = shared > 0 if prefixed or not fields else shared >= 0
            if named and old.user == new.user and all(getattr(old, name) == getattr(new, name) for name in fields):
                asked, other = ((job.nodes, job.per_node) for job in (new, old))
                rank = (shared, -difference(asked, other) if number in {3, 4} else 0, ended)
                best = max(best or (rank, old.runtime), (rank, old.runtime))
        if best is not None:
            return number, best[1]
    return 7, new.walltime


JOBS = st.builds(
    Job,
    id=st.just("1"),
    submit=st.just(0),
    runtime=st.integers(0, 100),
    walltime=st.sampled_from([50, 60]),
    nodes=st.integers(1, 2),
    per_node=st.sampled_from([{"core": 1}, {"core": 2}]),
    user=st.sampled_from(["", "a"]),
    name=st.sampled_from(["", "a", "a1", "a_2", "b1", "12", "13"]),
    queue=st.sampled_from(["", "q"]),
)


@given(st.lists(JOBS, max_size=12), JOBS)
def test_tables_give_what_the_rules_say(history, new):
    predictor = taught(*history)
    assert predictor.match(new) == by_definition(history, new)
    assert 0 <= predictor.predict(new, now=0) <= new.walltime


def test_memory_grows_with_profiles_not_jobs():
    predictor = taught(*(like(runtime) for runtime in range(1000)))
    assert sum(map(len, predictor._latest.values())) == 3 + 3 * (len(NEW.name))


def test_an_outrun_prediction_becomes_the_walltime_and_then_no_more() -> None:
    job = Job("1", 0, 900, 600)
    assert Heuristic().correct(job, 30, 0) == 600
    assert Heuristic().correct(job, 600, 1) == 600
    assert Heuristic(correction="none").correct(job, 30, 0) == 30


def test_an_unknown_correction_is_named() -> None:
    with pytest.raises(ValueError, match="correction must be one of walltime, none, got 'more'"):
        Heuristic(correction="more")  # type: ignore[arg-type]
