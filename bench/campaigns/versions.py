"""What made a result besides its arguments: normalised options, versions of packages, sources under development."""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, NamedTuple

from ...base import Option, Registry, convert_options, parse_spec
from ...dispatchers import create_dispatcher
from ...dispatchers import registry as dispatchers
from ...predictors import create as create_predictor
from ...predictors import registry as predictors

#: Packages whose code every simulation runs. Those that only write tables and files, pandas and pyarrow, are not here.
ALWAYS = ("hpcdispatch", "accasim", "numpy")
#: What the dispatchers that solve need beyond.
SOLVING = ("ortools", "scipy")
#: Modules of dispatchers that never solve; of any other, the solvers' versions count.
_NOT_SOLVING = ("list_scheduling", "easy", "conservative", "lookahead", "onthefly", "rbs", "hybrid")
#: The packages of this one that a simulation runs.
_OWN = ("base", "workloads", "predictors", "models", "dispatchers", "simulation")


def canonical_dispatcher(spec: str) -> str:
    """Return the one spelling of a dispatcher with its options; it is built once, so that it refuses what it must.

    Raises
    ------
    InputError
        For an unknown name or option, or a value that is refused.
    """
    create_dispatcher(spec)
    return _canonical(dispatchers, spec)


def canonical_predictor(spec: str) -> str:
    """Return the one spelling of a predictor, as :func:`canonical_dispatcher`."""
    create_predictor(spec)
    return _canonical(predictors, spec)


def _canonical(registry: Registry, spec: str) -> str:
    """Sort the options, spell their values in one way, and leave out those that are the default."""
    name, given = parse_spec(spec)
    known = {option.name: option for option in registry.options(name)}
    values = convert_options(f"{registry.kind} {name}", list(known.values()), given)
    options = [f"{key}={_spelled(values[key])}" for key in sorted(values) if not _is_default(values[key], known[key])]
    return name + ":" * bool(options) + ",".join(options)


def _spelled(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _is_default(value: Any, option: Option) -> bool:
    return bool(value == option.default) and isinstance(value, bool) == isinstance(option.default, bool)


@cache
def made_by(dispatcher: str, predictor: str) -> dict[str, str]:
    """Return package to version, and source to digest, of all that takes part in simulating two specs.

    A plug-in counts with its version and with its source, since its author changes it more often than its version.
    Of hpcdispatch the source counts where it runs from a checkout. Python counts with two numbers: the sum of
    floating-point numbers changed in 3.12.
    """
    parts = [_part(registry, spec) for registry, spec in ((dispatchers, dispatcher), (predictors, predictor))]
    foreign = [part for part in parts if part.package != "hpcdispatch"]
    names = [*ALWAYS, *(SOLVING if foreign or parts[0].module.rpartition(".")[2] not in _NOT_SOLVING else ())]
    found = {name: version(name) for name in names}
    found["python"] = ".".join(platform.python_version_tuple()[:2])
    if _under_development():
        found["hpcdispatch source"] = _own_source()
    for part in foreign:
        found |= _versions_of(part)
    return dict(sorted(found.items()))


class _Part(NamedTuple):
    """A registered part: the module that defines it, and the distribution that registers it."""

    module: str
    dist: Distribution | None

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


def _part(registry: Registry, spec: str) -> _Part:
    name = parse_spec(spec)[0]
    entry = {entry.name: entry for entry in entry_points(group=registry.group)}[name]
    return _Part(getattr(registry.factory(name), "__module__", entry.module), entry.dist)


def _versions_of(part: _Part) -> dict[str, str]:
    """Return the versions of a plug-in and of what it says it needs, and the digest of its source."""
    found = {f"{part.package} source": _source_of(part.package)}
    if part.dist is not None:
        found[part.dist.name] = part.dist.version
        for line in part.dist.requires or ():
            if "extra ==" not in line:
                found |= _installed(line)
    return found


def _installed(requirement: str) -> dict[str, str]:
    """Return name and version of what a requirement asks for, if it is there."""
    name = requirement.partition(";")[0]
    for mark in " <>=!~[(@":
        name = name.partition(mark)[0]
    try:
        return {name: version(name)}
    except PackageNotFoundError:
        return {}


@cache
def _source_of(package: str) -> str:
    """Return the digest of a package as it was when it was first asked for, which is soon after its import."""
    return _digest(_files_of(package))


def _files_of(package: str) -> list[Path]:
    """Return the Python files of an imported package or module."""
    module = sys.modules.get(package)
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    if folders:
        return [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    file = Path(getattr(module, "__file__", None) or "")
    return [file] if file.suffix == ".py" else []


def _under_development() -> bool:
    """Return whether this package runs from a checkout, whose source changes while its version stays.

    Told by where it lies, and not by its metadata: a checkout may hold metadata of its own, found first from within it.
    """
    return not {"site-packages", "dist-packages"} & {folder.name for folder in Path(__file__).resolve().parents}


@cache
def _own_source() -> str:
    root = Path(__file__).parents[2]
    return _digest(path for folder in _OWN for path in sorted((root / folder).rglob("*.py")))


def _digest(files: Iterable[Path]) -> str:
    """Return a digest of what the files do: comments, docstrings and layout do not count."""
    sha = hashlib.sha256()
    for path in files:
        sha.update(f"{path.name}\0{_code(path)}\0".encode(errors="surrogateescape"))
    return sha.hexdigest()[:16]


def _code(path: Path) -> str:
    """Return the code of a file; what this Python cannot read, as it stands."""
    data = path.read_bytes()
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return data.decode("utf-8", "surrogateescape")
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _drop_docstring(node)
    return ast.unparse(tree)


def _drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:]
