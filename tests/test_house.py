"""The folders of the package: each family has one word in all of them. Tests are in the folders of their subject."""

import pytest
from source_tree import ROOT, TESTS

#: A family's word is the name of its folders, its page and its benchmark.
FAMILIES = {path.parent.name for path in ROOT.glob("dispatchers/*/__init__.py")}
#: Folders of `models` for what every family shares.
SHARED = {"book", "events", "profiles", "scheduling"}

#: Folders of `tests` for the whole: all parts with all others; malformed inputs; recorded schedules;
#: processes, disks and plug-ins.
OF_THE_WHOLE = {"cross", "faults", "fuzz", "recorded"}


def test_a_family_has_the_same_word_on_every_floor():
    assert {path.parent.name for path in ROOT.glob("models/*/__init__.py")} - SHARED <= FAMILIES
    assert {path.name for path in ROOT.glob("tests/dispatchers/*") if any(path.glob("test_*.py"))} == FAMILIES


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_has_a_page(family):
    assert (ROOT / "docs" / "dispatchers" / f"{family}.md").is_file()


def test_the_tests_mirror_the_folders():
    folders = {path.parent.relative_to(ROOT / "tests") for path in TESTS if path.name.startswith("test_")}
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder).is_dir()] == sorted(OF_THE_WHOLE)
