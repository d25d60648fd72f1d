"""The pages of the studies: their examples run, and their links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[3] / "bench" / "studies" / "pages").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_they_say(page):
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
