"""The rooms of the house: one word a family on every floor, unique names, and nothing that grew too large."""

import ast
from collections import Counter, defaultdict

import numpy as np
import pytest
from source_tree import ROOT, SOURCES, TESTS, short, tree

#: A family's word is the name of its folder on every floor, of its page and of its benchmark.
FAMILIES = {path.parent.name for path in ROOT.glob("dispatchers/*/__init__.py")}
#: Other names that stand twice on purpose, with the reason.
REPEATED = {
    "__main__": "what `python -m` runs of a package",
    "campaigns": "the benchmark of bench.campaigns",
    "engine": "the benchmark of simulation.engine",
    "registered": "what can be had by name: of dispatchers, of predictors",
    "evict": "the dispatcher and the command, both called so by users",
}
#: Folders of `models` for what every family shares.
SHARED = {"events", "scheduling"}

#: Folders of `tests` for the whole: all parts with all others; malformed inputs; recorded schedules;
#: processes, disks and plug-ins.
OF_THE_WHOLE = {"cross", "faults", "fuzz", "recorded"}

FUNCTIONS = [
    (path, node)
    for path in SOURCES
    for node in ast.walk(tree(path))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
]
CLASSES = [(path, node) for path in SOURCES for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]


def body_lines(function):
    """Return the number of lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def repeated(names):
    """Return where the names stand that stand in several places, by name, for pairs of name and place."""
    places = defaultdict(list)
    for name, place in names:
        places[name].append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_module_name_stands_twice_without_a_reason():
    modules = [(path.stem, short(path)) for path in SOURCES if path.stem != "__init__"]
    folders = [(path.parent.name, short(path.parent)) for path in SOURCES if path.stem == "__init__"]
    assert {
        name: found for name, found in repeated(modules + folders).items() if name not in FAMILIES | set(REPEATED)
    } == {}


def test_every_reason_is_needed():
    names = [path.stem for path in SOURCES] + [path.parent.name for path in SOURCES if path.stem == "__init__"]
    assert [name for name in REPEATED if names.count(name) < 2] == []


def test_no_folder_has_more_than_twenty_modules():
    modules = Counter(short(path.parent) for path in [*SOURCES, *TESTS] if path.stem != "__init__")
    assert {folder: count for folder, count in modules.items() if count > 20} == {}


def test_a_family_has_the_same_word_on_every_floor():
    assert {path.parent.name for path in ROOT.glob("models/*/__init__.py")} - SHARED <= FAMILIES
    assert {path.name for path in ROOT.glob("tests/dispatchers/*") if any(path.glob("test_*.py"))} == FAMILIES


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_has_a_page(family):
    assert (ROOT / "docs" / f"{family}.md").is_file()


def test_the_tests_mirror_the_folders():
    folders = {path.parent.relative_to(ROOT / "tests") for path in TESTS if path.name.startswith("test_")}
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder).is_dir()] == sorted(OF_THE_WHOLE)


def test_functions_are_short():
    lines = {f"{short(path)}:{function.lineno} {function.name}": body_lines(function) for path, function in FUNCTIONS}
    assert {name: count for name, count in lines.items() if count > 40} == {}
    assert np.percentile(list(lines.values()), 95) <= 20


def test_classes_are_short():
    lines = {f"{short(path)} {found.name}": found.end_lineno - found.lineno + 1 for path, found in CLASSES}
    assert {name: count for name, count in lines.items() if count > 250} == {}


def test_a_docstring_is_no_part_of_the_body():
    function = ast.parse(
        'def two():\n    """Say it.\n\n    At length.\n    """\n    one = 1\n    return one + 1\n'
    ).body[0]
    assert body_lines(function) == 2
