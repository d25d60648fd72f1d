"""Examples in Python with a mistake: one line each. Nights try those of all pages."""

import random

import pytest

import hpcdispatch as hd
from faults.example_mistakes import KINDS, Mistake, a_folder, examples, finding, mistakes, try_group
from hpcdispatch.dispatchers import JobView

EXAMPLES = examples()
#: Pages and docstrings that take little time, and have each kind of mistake.
BY_DAY = (
    "README.md",
    "hpcdispatch.dispatchers.EASY",
    "hpcdispatch.predictors.Empirical",
    "hpcdispatch.workloads.jitter",
)


@pytest.mark.parametrize("name", BY_DAY)
def test_a_mistake_is_one_line(name):
    with a_folder():
        tried = list(try_group(EXAMPLES[name], random.Random(1), 0.5))
    assert tried, "no mistake was drawn"
    assert [(mistake, wrong) for mistake, wrong in tried if wrong] == []


def test_each_kind_of_argument_gets_its_mistake():
    with a_folder():
        source = "r = hd.compare('examples/trace.swf.gz', ['easy:depth=2'], seeds=3, jitter='5m', warm_up='1d')\n"
        made = [each for each in mistakes(source, {"hd": hd}) if each.kind != "type"]
        lone = [each for each in mistakes("hd.simulate(w, 'easy:depth=2')", {"hd": hd}) if each.kind != "type"]
    words = {(each.kind, each.word) for each in (*made, *lone)}
    assert words == {
        ("file", "no-trace.swf.gz"),
        ("keyword", "seds"),
        ("keyword", "jtter"),
        ("keyword", "wrm_up"),
        ("unit", "5mx"),
        ("unit", "1dx"),
        ("name", "esy"),
        ("option", "dpth"),
    }
    assert set(KINDS) == {each.kind for each in (*made, *lone)} | {"type"}


def test_errors_from_inside_and_accepted_mistakes_are_found():
    names = {"hd": hd, "JobView": JobView}
    assert "AttributeError" in finding(Mistake("type", "JobView(None, None)", "None", False), names)
    assert finding(Mistake("keyword", "hd.Machine.pool(4)", "pol", True), names) == "'pol' is taken"
    assert finding(Mistake("keyword", "hd.simulate('example', 'easy', sed=1)", "sed", True), names) == ""
    assert "not named" in finding(Mistake("name", "hd.simulate('example', 'esy')", "else", True), names)
