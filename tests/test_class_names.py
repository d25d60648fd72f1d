"""One name for one thing: no two classes of the product share a name."""

import re
from collections import defaultdict

from source_tree import ROOT, SOURCES, short

#: Names that two classes may share, each with its reason.
SHARED: dict[str, str] = {}
_CLASS = re.compile(r"^ *class ([A-Za-z_]\w*) *(?:\(.*|:.*)$", re.MULTILINE)


def test_each_class_has_a_name_of_its_own():
    places = defaultdict(list)
    for path in [*SOURCES, *sorted((ROOT / "examples").rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        for found in _CLASS.finditer(text):
            places[found[1]].append(f"{short(path)}:{text.count(chr(10), 0, found.start()) + 1}")
    assert len(places) > 100
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice.keys() == SHARED.keys(), "give each class a name of its own, or a reason here: " + str(twice)
