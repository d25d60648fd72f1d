"""Identify what made a result besides its arguments: canonical options, package versions, sources under development."""

import ast
import hashlib
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from types import CodeType
from typing import Any

from ...base import InputError, Registry, convert_options, parse_spec
from ...base.files import read_bounded
from ...base.installed import entry_points_of, version_of
from ...base.unfinished_files import write_whole
from ...dispatchers import Dispatcher, create_dispatcher, orders
from ...dispatchers import registry as dispatchers
from ...dispatchers.options import Preset
from ...dispatchers.registered import spec_of_inner
from ...predictors import Predictor
from ...predictors import create as create_predictor
from ...predictors import registry as predictors
from ...workloads.fetching import cache_folder

#: Packages that every simulation runs. Pandas and pyarrow only write tables and files, and are not included.
ALWAYS = ("hpcdispatch", "accasim", "numpy")
#: Further packages that a part may use: those in its attribute ``uses``, else all.
BEYOND = ("numba", "ortools", "scipy")
#: The packages of this one that a simulation runs.
_OWN = ("base", "workloads", "predictors", "models", "dispatchers", "simulation")


def canonical_dispatcher(spec: str) -> str:
    """Return the canonical spelling of a dispatcher with its options. It is built once as a check.

    Raises
    ------
    InputError
        For an unknown name or option, or an invalid value.
    """
    create_dispatcher(spec)
    return _canonical(dispatchers, spec)


def canonical_predictor(spec: str) -> str:
    """Return the canonical spelling of a predictor, as :func:`canonical_dispatcher`."""
    create_predictor(spec)
    return _canonical(predictors, spec)


def _canonical(registry: Registry, spec: str) -> str:
    """Sort the options, spell their values canonically, and leave out defaults."""
    name, given = parse_spec(spec)
    known = {option.name: option for option in registry.options(name)}
    values = convert_options(f"{registry.kind} {name}", list(known.values()), given)
    options = []
    for key, value in sorted(values.items()):
        default = known[key].default
        if value != default or isinstance(value, bool) != isinstance(default, bool):
            options.append(f"{key}={str(value).lower() if value is None or isinstance(value, bool) else value}")
    return name + ":" * bool(options) + ",".join(options)


def made_by(dispatcher: str | Dispatcher, predictor: str | Predictor) -> dict[str, str]:
    """Return package to version, and source to digest, of all code in a simulation.

    A part counts with the packages that it uses, and with those of its inner dispatcher. A plug-in counts with its
    version and its source, since its author changes the source more often. The source of hpcdispatch counts if it runs
    from a checkout. Python counts with two numbers: the sum of floating-point numbers changed in 3.12.

    Parameters
    ----------
    dispatcher, predictor
        With their options; or objects, which count with all packages, but not with their source.
    """
    versions = {name: version_of(name) for name in ALWAYS}
    versions["python"] = ".".join(platform.python_version_tuple()[:2])
    own = own_source()
    if own is not None:
        versions["hpcdispatch source"] = own.digest
    for registry, part in ((dispatchers, dispatcher), (predictors, predictor)):
        versions |= _of_spec(registry, part) if isinstance(part, str) else {name: version_of(name) for name in BEYOND}
    return dict(sorted(versions.items()))


def _of_spec(registry: Registry, spec: str) -> dict[str, str]:
    """Return the entries of a registered part and of its inner part."""
    name, options = parse_spec(spec)
    factory: Any = registry.factory(name)
    factory = factory.build if isinstance(factory, Preset) else factory
    entry = entry_points_of(registry.group).get(name)
    package = "" if entry is None else entry.module.partition(".")[0]
    if entry is None:  # registered by a script
        versions = {used: version_of(used) for used in BEYOND}
    elif package == "hpcdispatch":
        versions = {used: version_of(used) for used in getattr(factory, "uses", BEYOND)}
    else:  # it may do other things than the class it inherits from
        versions = {used: version_of(used) for used in getattr(factory, "__dict__", {}).get("uses", BEYOND)}
        versions |= {f"{package} source": source_of(package)} | _needed(entry.dist)
    for order in (spec_of_inner(options[key]) for key in ("order", "backfill") if key in options):
        plugged = entry_points_of(orders.group).get(parse_spec(order)[0])
        if plugged is not None and plugged.module.partition(".")[0] != "hpcdispatch":
            versions |= _of_spec(orders, order)
    over = options.get("over", {option.name: option.default for option in registry.options(name)}.get("over"))
    return versions | (_of_spec(registry, spec_of_inner(over)) if isinstance(over, str) else {})


def _needed(distribution: Distribution | None) -> dict[str, str]:
    """Return the versions of a plug-in and of its requirements."""
    if distribution is None:
        return {}
    versions = {distribution.name: distribution.version}
    for line in distribution.requires or ():
        if "extra ==" in line:
            continue
        name = re.split(r"[;\s<>=!~\[(@]", line, maxsplit=1)[0]
        try:
            versions[name] = version_of(name)
        except PackageNotFoundError:
            continue
    return versions


@cache
def source_of(package: str) -> str:
    """Return the digest of a package at the first call, which is soon after its import."""
    module = sys.modules.get(package)
    if folders := list(getattr(module, "__path__", ())):
        return _digest(path for folder in folders for path in sorted(Path(folder).rglob("*.py")))
    file = Path(getattr(module, "__file__", None) or "")
    return _digest([file] if file.suffix == ".py" else [])


def _under_development() -> bool:
    """Return whether this package runs from a checkout, where the source changes under one version.

    The path decides, not the metadata. A checkout may have its own metadata, which Python finds first from within it.
    """
    return not {"site-packages", "dist-packages"} & {folder.name for folder in Path(__file__).resolve().parents}


@dataclass(frozen=True)
class OwnSource:
    """The source of a checkout at some time.

    Attributes
    ----------
    state
        Digest of the names, sizes and times of its files, and of the version of Python.
    digest
        Digest of its behaviour, see :func:`_digest`.
    """

    state: str
    digest: str


#: Of the process that started this one. While the files are the same, the digest need not be made again: it takes 2 s.
_of_parent: list[OwnSource] = []


def take_own_source(source: OwnSource | None) -> None:
    """Use what the parent process has found, if the files have not changed since."""
    _of_parent[:] = [] if source is None else [source]


@cache
def own_source() -> OwnSource | None:
    """Return the source of hpcdispatch at the first call, or ``None`` if it is installed and has a version."""
    if not _under_development():
        return None
    root = Path(__file__).parents[2]
    files = [path for folder in _OWN for path in sorted((root / folder).rglob("*.py"))]
    # The state comes first: a file that changes meanwhile gives a state that no later process has.
    made = hashlib.sha256(f"{sys.version}\0".encode())
    for path in files:
        status = path.stat()
        times = f"{status.st_mtime_ns}\0{status.st_ctime_ns}"
        made.update(f"{path}\0{status.st_size}\0{times}\0".encode(errors="surrogateescape"))
    state = made.hexdigest()
    if _of_parent and _of_parent[0].state == state:
        return _of_parent[0]
    kept_source = _kept_source(root)
    if kept_source is None or kept_source.state != state:
        kept_source = OwnSource(state, _digest(files))
        _keep_source(root, kept_source)
    return kept_source


def _place_of_source(root: Path) -> Path:
    """Return the file in the user's cache with the source of a checkout under this version of Python."""
    name = hashlib.sha256(f"{root}\0{sys.version}".encode(errors="surrogateescape")).hexdigest()[:32]
    return cache_folder() / "sources" / f"{name}.txt"


def _kept_source(root: Path) -> OwnSource | None:
    """Return the source of a checkout that the last process has found, or ``None``."""
    with suppress(OSError, InputError, RuntimeError, UnicodeDecodeError):  # without a home, or with a damaged file
        match = re.fullmatch(
            r"([0-9a-f]{64}) ([0-9a-f]{16})\n", read_bounded(_place_of_source(root), "a digest", 200).decode()
        )
        return OwnSource(match[1], match[2]) if match else None
    return None


def _keep_source(root: Path, source: OwnSource) -> None:
    """Keep the source of a checkout for later processes. Without a cache each makes it anew."""
    with suppress(OSError, RuntimeError):
        place = _place_of_source(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, f"{source.state} {source.digest}\n")


def _digest(files: Iterable[Path]) -> str:
    """Return a digest of the behaviour of files: comments, docstrings, assertions and layout do not count."""
    sha = hashlib.sha256()
    for path in files:
        sha.update(f"{path.name}\0".encode(errors="surrogateescape"))
        data = path.read_bytes()
        try:
            tree = ast.parse(data, path.name)
            node: Any
            for node in ast.walk(tree):  # since 3.13 a class keeps its first line number
                node.lineno = 1
                node.end_lineno = 1
                node.col_offset = 0
                node.end_col_offset = 0
            for part in _parts(compile(tree, path.name, "exec", optimize=2, dont_inherit=True)):
                sha.update(part)
        except (SyntaxError, ValueError):  # for another Python version: use the text
            sha.update(data)
    return sha.hexdigest()[:16]


def _parts(code: CodeType) -> Iterator[bytes]:
    """Yield all behaviour of a code object, without its position."""
    yield code.co_code + code.co_exceptiontable
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    yield repr((code.co_name, names, counts)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        elif isinstance(constant, frozenset):  # its order differs between processes
            yield repr(sorted(map(repr, constant))).encode()
        else:
            yield repr(constant).encode(errors="surrogateescape")
