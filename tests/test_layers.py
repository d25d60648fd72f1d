"""The layers of the package: allowed imports, no cycles, no private names across modules."""

import ast
import gc
import graphlib
import importlib
import sys
import tomllib

import pytest
from source_tree import (
    MODULES,
    PACKAGES,
    ROOT,
    ROOT_MODULES,
    SOURCES,
    STUDIES,
    TESTS,
    TESTS_OF_STUDIES,
    dotted,
    imports,
    imports_and_attributes,
    short,
    tree,
    used_modules,
)

EVERYTHING = set(PACKAGES)
#: Package to the packages of ours it may import, beside itself.
OURS = {
    "base": set(),
    "workloads": {"base"},
    "predictors": {"base", "workloads"},
    "models": {"base"},
    "dispatchers": {"base", "models", "workloads"},
    "simulation": {"base", "dispatchers", "predictors", "workloads"},
    "learn": {"base", "dispatchers", "models", "predictors", "simulation", "workloads"},
    "analysis": {"base", "dispatchers", "models", "predictors", "simulation", "workloads"},
    "testing": {"base", "dispatchers", "models", "predictors", "simulation", "workloads"},
    "bench": EVERYTHING - {"api", "cli"},
    "api": EVERYTHING - {"cli"},
    "cli": EVERYTHING,
    "hpcdispatch": EVERYTHING,
}
#: Library to the one package that may import it.
ONLY = {"ortools": "models", "numba": "models", "accasim": "simulation"}
#: Package to the other libraries it may import. The top layers may import any.
LIBRARIES = {
    "base": {"lazy_loader", "numpy"},
    "workloads": {"lazy_loader", "numpy", "pandas", "pyarrow", "scipy"},
    "predictors": {"lazy_loader", "numpy", "scipy"},
    "models": {"lazy_loader", "numpy", "scipy"},
    "dispatchers": {"lazy_loader", "numpy"},
    "simulation": {"lazy_loader", "matplotlib", "numpy", "pandas", "scipy"},
    "learn": {"gymnasium", "lazy_loader", "numpy"},
    "analysis": {"lazy_loader", "numpy", "pandas", "pydantic", "scipy"},
    "testing": {"lazy_loader", "numpy", "pandas", "scipy"},
    "hpcdispatch": {"lazy_loader"},
}


@pytest.fixture(scope="module", autouse=True)
def _trees():
    """Look for no garbage in the trees, which takes longer than to parse them. Forget them at the end."""
    gc.disable()
    yield
    gc.enable()
    for kept in (tree, imports_and_attributes, used_modules):
        kept.cache_clear()


def allowed(package, name):
    """Return whether a module of `package` may import what has the absolute name `name`."""
    library, *rest = name.split(".")
    if library == "hpcdispatch":
        return not rest or rest[0] == package or rest[0] in OURS[package]
    if library in ONLY:
        return ONLY[library] == package
    return library in sys.stdlib_module_names or package not in LIBRARIES or library in LIBRARIES[package]


def forbidden(module, path):
    """Return what the module at `path` imports against the tables."""
    package = path.parent.relative_to(ROOT).parts[0] if path.parent != ROOT else "hpcdispatch"
    names = {".".join(filter(None, (source, name))) for source, name, _ in imports(module, path)}
    return {name for name in names if not allowed(package, name)}


def private_names(module, path):
    """Return the private names that the module at `path` takes from other modules of ours."""
    found, modules = set(), {}
    for source, name, alias in imports(module, path):
        full = ".".join(filter(None, (source, name)))
        if full in MODULES:
            modules[alias] = full
        if full.startswith("hpcdispatch.") and any(is_private(part) for part in full.split(".")):
            found.add(full)
    for node in imports_and_attributes(module)[1]:
        if is_private(node.attr):
            of = node.value.id if isinstance(node.value, ast.Name) else ast.unparse(node.value)
            if of in modules:
                found.add(f"{modules[of]}.{node.attr}")
    return found


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def cycle_in(graph):
    """Return a cycle in a mapping of nodes to their needs, or ``None``."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " <- ".join(error.args[1])
    return None


def test_imports_only_what_the_table_allows():
    assert {short(path): names for path in SOURCES if (names := forbidden(tree(path), path))} == {}


def test_the_walk_sees_every_form_of_import():
    source = """
from ..models import choose
from . import options
from .. import simulation
import hpcdispatch.cli.main
import pandas
def later():
    import numba
    from accasim.base import event_class
"""
    assert forbidden(ast.parse(source), ROOT / "dispatchers" / "imaginary.py") == {
        "hpcdispatch.simulation",
        "hpcdispatch.cli.main",
        "pandas",
        "numba",
        "accasim.base.event_class",
    }


def test_takes_no_private_name_from_another_module():
    assert {short(path): names for path in [*SOURCES, *TESTS] if (names := private_names(tree(path), path))} == {}


def test_the_walk_sees_every_private_name():
    source = """
from ..models.cp import solver, _secret
from ..models._hidden import shown
import hpcdispatch.base.checks as checks
checks._wrong(solver._STATUS, solver.__name__)
"""
    assert private_names(ast.parse(source), ROOT / "dispatchers" / "imaginary.py") == {
        "hpcdispatch.models.cp._secret",
        "hpcdispatch.models._hidden.shown",
        "hpcdispatch.base.checks._wrong",
        "hpcdispatch.models.cp.solver._STATUS",
    }


def test_no_module_imports_itself_by_a_way_round():
    assert cycle_in({dotted(path): used_modules(path) for path in SOURCES}) is None


def test_a_way_round_is_found():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) is not None
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}}) is None


def test_the_table_names_every_package():
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == EVERYTHING == set(OURS) - {"hpcdispatch"}
    assert [path.name for path in ROOT_MODULES] == ["__init__.py", "__main__.py"]


def test_the_floors_are_in_order():
    for floor, package in enumerate(PACKAGES):
        assert OURS[package] - {package} <= set(PACKAGES[:floor])


def test_every_folder_but_the_studies_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    product = [path for path in SOURCES if not path.is_relative_to(STUDIES)]
    assert sorted(listed) == sorted({dotted(path.parent / "__init__.py") for path in product})


def uses_studies(path):
    """Return whether the module at `path` imports a study."""
    return any(MODULES[name].is_relative_to(STUDIES) for name in used_modules(path))


def test_only_one_command_imports_the_studies():
    product = [path for path in SOURCES if not path.is_relative_to(STUDIES)]
    assert [short(path) for path in product if uses_studies(path)] == ["cli/commands/reproduce.py"]


def test_the_one_command_imports_them_when_it_runs():
    module = tree(ROOT / "cli" / "commands" / "reproduce.py")
    names = (f"{node.module}.{node.names[0].name}" for node in module.body if isinstance(node, ast.ImportFrom))
    assert not [name for name in names if "studies" in name]


def test_tests_of_the_product_import_no_study():
    product = [path for path in TESTS if not path.is_relative_to(TESTS_OF_STUDIES)]
    assert [short(path) for path in product if uses_studies(path)] == []


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_is_typed_and_shows_a_curated_list(package):
    assert (ROOT / package / "py.typed").is_file()
    module = importlib.import_module(f"hpcdispatch.{package}".rstrip("."))
    assert module.__doc__
    names = module.__all__
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []
    assert not [name for name in names if name.startswith("_")]
