"""Every public name has its page and an example that runs, and docstrings keep the form of numpydoc."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest
from numpydoc.validate import validate

from hpcdispatch.base import installed

API = Path(__file__).parents[1] / "docs" / "reference" / "api"
#: The pages of the reference, by the module whose names each has.
PAGES = {
    re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8"))[0]: page
    for page in sorted(API.glob("*.md"))
    if page.name != "index.md"
}
#: What numpydoc checks: a summary of one line, a sentence that begins with a verb of the right form; sections by their
#: names, in order and once; parameters that exist, in the order of the signature, each with a description.
CHECKS = {
    *("GL01", "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10"),
    *("SS01", "SS02", "SS03", "SS04", "SS05", "SS06"),
    *("PR02", "PR03", "PR05", "PR06", "PR07", "PR09", "PR10"),
    *("RT02", "RT03", "RT05"),
}
#: These take options of other classes as ``**options``, and describe them by name.
PASSES_ON = {"hpcdispatch.learn.DispatchEnv"}


def public(module):
    loaded = importlib.import_module(module)
    return [(name, getattr(loaded, name)) for name in loaded.__all__]


def is_described(part):
    """Tell whether the docstring of a part is its own: that of a function or a class."""
    return inspect.isclass(part) or inspect.isroutine(part)


#: Each function and class once, by its shortest name.
DESCRIBED = {
    id(part): (f"{module}.{name}", part)
    for module in sorted(PAGES, key=len, reverse=True)
    for name, part in public(module)
    if is_described(part) and str(part.__module__).startswith("hpcdispatch")
}
DESCRIBED = dict(DESCRIBED.values())


def test_every_public_package_has_a_page():
    listed = set(re.findall(r"\[`(hpcdispatch[\w.]*)`\]", (API / "index.md").read_text(encoding="utf-8")))
    assert listed == set(PAGES)


@pytest.mark.parametrize("module", PAGES)
def test_every_name_has_an_example(module):
    page = PAGES[module].read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"^(?:>>>|\.\.\.) .*", page, re.MULTILINE))
    without = [
        name
        for name, part in public(module)
        if ">>> " not in (inspect.getdoc(part) or "" if is_described(part) else "")
        and not re.search(rf"\b{name}\b", shown)
    ]
    assert without == []


@pytest.mark.parametrize("module", PAGES)
def test_every_name_has_its_entry(module):
    """Automodule lists functions and classes alone. Others stand on the page by name."""
    page = PAGES[module].read_text(encoding="utf-8")
    others = [name for name, part in public(module) if not is_described(part)]
    assert [name for name in others if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("name", DESCRIBED)
def test_examples_print_what_they_say(name, monkeypatch, tmp_path):
    if name.startswith("hpcdispatch.learn."):
        pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
    if name.endswith(".SklearnPredictor"):
        pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'hpcdispatch[learn]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installed, "_OF_SCRIPT", {})  # what an example registers ends with it
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(exclude_empty=True).find(DESCRIBED[name], name, globs={"__name__": "__main__"}):
        runner.run(test)
    assert runner.failures == 0


@pytest.mark.parametrize("name", DESCRIBED)
def test_docstrings_have_the_form_of_numpydoc(name):
    part = DESCRIBED[name]
    checks = CHECKS - {"PR02"} if name in PASSES_ON else CHECKS
    errors = validate(f"{part.__module__}.{part.__qualname__}")["errors"]
    assert [text for code, text in errors if code in checks] == []
