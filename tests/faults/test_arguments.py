"""Commands with some odd arguments; nights try all."""

import pytest

from faults.arguments import CALLS, cases, finding, prepare

#: Without commands that simulate for long where an odd value has a meaning.
SOME = [words for words in cases(every=331) if words[0] not in ("what-if", "campaign", "compare")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files of the calls."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", "restored at the end")
        where = tmp_path_factory.mktemp("odd")
        prepare(where)
        yield where


@pytest.mark.parametrize("words", SOME, ids=lambda words: ascii(" ".join(words))[:60])
def test_an_odd_argument(folder, words):
    assert not finding(words, folder)


def test_odd_arguments_are_many():
    assert len(cases()) > 4000
    assert {" ".join(words[:1]) for words in cases()} == {call.split()[0] for call in CALLS}
