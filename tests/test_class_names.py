"""One name for one thing: no two classes of the product share a name."""

import ast
from collections import defaultdict

from source_tree import ROOT, SOURCES, short, tree

#: Names that two classes may share, each with its reason.
SHARED: dict[str, str] = {}


def test_each_class_has_a_name_of_its_own():
    places = defaultdict(list)
    for path in [*SOURCES, *sorted((ROOT / "examples").rglob("*.py"))]:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{short(path)}:{node.lineno}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice.keys() == SHARED.keys(), "give each class a name of its own, or a reason here: " + str(twice)
