"""Printed commands with a mistake: one line each. Nights try all."""

import pytest

from faults.arguments import finding
from faults.mistakes import cases, mistaken, prepare


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the samples."""
    where = tmp_path_factory.mktemp("desk")
    prepare(where)
    return where


@pytest.mark.parametrize("words", cases(every=10), ids=lambda words: ascii(" ".join(words))[:60])
def test_a_mistake_is_one_line(folder, words):
    assert not finding(words, folder, codes=(2,))


def test_each_kind_of_word_gets_its_mistake():
    words = "run", "examples/trace.swf.gz", "--dispatcher", "easy:depth=2", "--warm-up", "2d"
    wrong = {next(one for one, other in zip(each, words, strict=True) if one != other) for each in mistaken(words)}
    assert wrong == {"ru", "examples/race.swf.gz", "--ispatcher", "esy:depth=2", "--arm-up", "2dx"}


def test_a_command_without_a_mistake_is_found(folder):
    assert finding(("list", "easy"), folder, codes=(2,)) == "exit code 0"
