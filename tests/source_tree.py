"""The sources as the tests of the structure see them: modules, imports, definitions."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The layers, from the bottom up.
PACKAGES = (
    "base",
    "workloads",
    "predictors",
    "models",
    "dispatchers",
    "simulation",
    "learn",
    "analysis",
    "testing",
    "bench",
    "api",
    "cli",
)


def files(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


#: What makes the root a package; setup.py builds it and is not installed.
ROOT_MODULES = sorted(set(ROOT.glob("*.py")) - {ROOT / "setup.py"})
SOURCES = [*ROOT_MODULES, *files(*PACKAGES)]
TESTS = files("tests")
#: Where the studies stand, which are not installed.
STUDIES = ROOT / "bench" / "studies"
TESTS_OF_STUDIES = ROOT / "tests" / "bench" / "studies"


def short(path):
    return path.relative_to(ROOT).as_posix()


def dotted(path):
    """Return the name under which the module at `path` is imported. A package has that of its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("hpcdispatch", *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {dotted(path): path for path in SOURCES}


@cache
def tree(path):
    # Trees are millions of objects, none of them garbage. To look for it takes longer than to parse.
    enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if enabled:
            gc.enable()


def imports(module, path):
    """Yield (source, name, alias) for each import in the syntax tree of the module at `path` , at any place.

    `name` is ``None`` where a module as a whole is imported.
    """
    package = ("hpcdispatch", *path.relative_to(ROOT).parts[:-1])
    for node in imports_and_attributes(module)[0]:
        if isinstance(node, ast.Import):
            yield from ((name.name, None, name.asname or name.name) for name in node.names)
        else:
            start = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join((*start, *([node.module] if node.module else [])))
            yield from ((source, name.name, name.asname or name.name) for name in node.names)


@cache
def imports_and_attributes(module):
    """Return the imports in a syntax tree and its attributes, in one walk."""
    found, attributes = [], []
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            attributes.append(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
    return found, attributes


@cache
def used_modules(path):
    """Return our modules that the one at `path` imports, also for types and within functions."""
    found = set()
    for source, name, _ in imports(tree(path), path):
        inner = f"{source}.{name}"
        found.add(inner if inner in MODULES else source)
    return {name for name in found if name in MODULES}
