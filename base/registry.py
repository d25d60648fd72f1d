"""Registries of named parts from entry points, and the text form ``NAME:key=value,key=value``.

Parts of hpcdispatch register like those of third parties, through the entry-point groups ``hpcdispatch.dispatchers``,
``hpcdispatch.predictors`` and ``hpcdispatch.workloads`` of their package's metadata. A script registers its own parts
with :func:`register`.
"""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .checks import shown
from .errors import InputError
from .facts import Facts
from .installed import KINDS, add_part_of_script, entry_points_of, parts_of_script, rivals_of
from .printed import near_name

_REQUIRED = inspect.Parameter.empty
#: Longest text of a part with its options. It appears in names, tables and messages.
MOST_LETTERS = 4_000
#: Number of cached signatures. Reading one takes longer than most constructors.
_KEPT = 512
#: Longest name of an object with its options. A longer one has no options.
_LONGEST_LABEL = 120
#: A name that no separator of a part's text can split.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
#: Types of defaults that tell the type of an option without an annotation.
_PLAIN = (bool, int, float)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a registered part.

    Attributes
    ----------
    name
        Its key in ``NAME:key=value``.
    annotation
        Type of its value.
    default
        Default value, or ``inspect.Parameter.empty`` if required.
    was
        Its name in earlier versions, for error messages. Empty if unchanged.
    internal
        Whether only code may set it: known to the constructor, not to :meth:`Registry.create`.
    meaning
        What it does, if no docstring of the part says it.
    """

    name: str
    annotation: Any
    default: Any
    was: str = ""
    internal: bool = False
    meaning: str = ""

    def __str__(self) -> str:
        """Return ``name=default``, with the choices if the type lists them."""
        choices = typing.get_args(self.annotation) if typing.get_origin(self.annotation) is typing.Literal else ()
        shown = "|".join(map(str, choices)) if choices else None
        if self.default is _REQUIRED:
            return f"{self.name}={shown or _type_name(self.annotation)}"
        return f"{self.name}={self.default}" + (f" ({shown})" if shown else "")


class Registry:
    """Parts of one kind, by name.

    Parameters
    ----------
    kind
        Name of the kind in messages, such as ``dispatcher``.
    group
        Entry-point group of the parts.
    """

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group

    def __repr__(self) -> str:
        """Return the names in one line."""
        names = self.names()
        return f"{len(names)} {self.kind}s: {', '.join(names)}"

    def _repr_html_(self) -> str:
        return Facts(
            f"{self.kind}s", [(name, *self._told(name)) for name in self.names()], ("name", "", "options")
        ).html()

    def _told(self, name: str) -> tuple[str, str]:
        """Return the summary and options of a part, or why it cannot be used."""
        try:
            return self.summary(name), ", ".join(map(str, self.options(name)))
        except InputError as error:
            return f"cannot be used: {error}", ""

    def names(self) -> list[str]:
        """Return all registered names, sorted."""
        return sorted({*entry_points_of(self.group), *parts_of_script(self.group)})

    def factory(self, name: str) -> Callable[..., Any]:
        """Return the class or function registered as `name`.

        Raises
        ------
        InputError
            If `name` is unknown, registered by several packages, or its package cannot be imported.
        """
        entries = entry_points_of(self.group)
        own = parts_of_script(self.group)
        if name not in entries and name in own:
            return own[name]
        if name not in entries:
            names = self.names()
            hint = " (several are a list of names)" if "," in name else near_name(name.lower(), names)
            first, comma, rest = name.partition(",")
            if comma and "=" in rest and first in names:
                hint = f" (options follow a colon: {first}:{rest})"
            known = ", ".join(names) or "none is installed"
            raise InputError(f"unknown {self.kind} {shown(name)}{hint}; known: {known}")
        if rivals := rivals_of(self.group, name):
            packages = " and ".join(rivals)
            raise InputError(
                f"{self.kind} {name!r}: expected one package that registers it, got {packages}; "
                "uninstall all but one of them"
            )
        try:
            return typing.cast(Callable[..., Any], entries[name].load())
        except (Exception, SystemExit) as error:  # a third party's module may raise anything when it is imported
            value = f"{self.kind} {name!r}: cannot load {entries[name].value}: {type(error).__name__}: {error}"
            raise InputError(value) from error

    def options(self, name: str, internal: bool = False) -> list[Option]:
        """Return the options of the part `name`, in order of declaration.

        Parameters
        ----------
        name
            The part.
        internal
            Whether to include options that only code may set.

        Raises
        ------
        InputError
            As :meth:`factory`, or if its signature cannot be read.
        """
        factory = self.factory(name)
        try:
            return [option for option in options_of(factory) if internal or not option.internal]
        except Exception as error:  # annotations are evaluated, and a third party's may be anything
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{self.kind} {name!r}: cannot read its options: {reason}") from error

    def summary(self, name: str) -> str:
        """Return one line about the part `name`: its own, or the first of its docstring."""
        factory = self.factory(name)
        told: str = getattr(factory, "summary", None) or inspect.getdoc(factory) or ""
        return told.partition("\n")[0]

    def create(self, spec: str, internal: bool = False, **fixed: Any) -> Any:
        """Create the part that `spec` describes.

        Parameters
        ----------
        spec
            ``NAME`` or ``NAME:key=value,key=value``.
        internal
            Whether to accept options that only code may set, for specs that users never write.
        **fixed
            Further arguments, already converted.

        Raises
        ------
        InputError
            For an unknown name or key, a value that does not convert, or one that the part rejects.
        """
        name, given = parse_spec(spec)
        factory = self.factory(name)
        arguments = convert_options(f"{self.kind} {name}", self.options(name, internal), {**given, **fixed})
        try:
            return self.made(factory, arguments)
        except InputError:
            raise
        except (ValueError, OverflowError) as error:
            raise InputError(f"{self.kind} {name}: {error}") from error
        except (RecursionError, MemoryError) as error:
            raise InputError(f"{self.kind} {name}: its options ask for too much ({type(error).__name__})") from error
        except (Exception, SystemExit) as error:  # a third party's constructor may raise anything
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{self.kind} {name}: it cannot be made: {reason}") from error

    def made(self, factory: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Return a part from its converted options."""
        return factory(**arguments)


def register(kind: str, name: str, factory: Callable[..., Any]) -> None:
    """Give a part of a script or notebook a name, which then works wherever a registered name works.

    The name holds in this process and in the workers that it starts. To register a name for all programs, write a
    package with entry points.

    Parameters
    ----------
    kind
        ``"dispatcher"``, ``"predictor"``, ``"correction"``, ``"workload"``, ``"objective"``, ``"constraint"``,
        ``"goal"``, ``"order"`` or ``"metric"``.
    name
        Letters, digits, ``-``, ``_`` and ``.``. A name that the script has registered before gets the new part.
    factory
        A class, or a function that makes one. Its parameters are the options of the part. For a workload, a metric or a
        correction, the function itself.

    Raises
    ------
    InputError
        For an unknown kind, an unusable name, a name of hpcdispatch or of an installed package, or a `factory` that
        cannot be called.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> class Half:
    ...     "Predict half the walltime."
    ...
    ...     def predict(self, job, now):
    ...         return job.walltime / 2
    ...
    ...     def observe(self, job):
    ...         pass
    >>> hd.register("predictor", "half", Half)
    >>> round(hd.simulate("example", "easy", predictor="half").summary()["wait_mean"])
    7362
    """
    singular = {plural: one for one, plural in KINDS.items()}.get(kind, kind)
    if singular not in KINDS:
        raise InputError(f"register: kind must be one of {', '.join(KINDS)}, got {shown(kind)}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"register: name must be letters, digits, '-', '_' and '.', got {shown(name)}")
    group = f"hpcdispatch.{KINDS[singular]}"
    taken = entry_points_of(group).get(name)
    if taken is not None:
        owner = taken.module.partition(".")[0]
        raise InputError(f"register: {singular} {name!r} is a name of {owner} already; choose another name")
    if not callable(factory):
        call = " (an object: give its class, or a function that makes it)"
        raise InputError(f"register: factory must be a class or a function, got {shown(factory)}{call}")
    add_part_of_script(group, name, factory)


def part_label(part: Any) -> str:
    """Return the name of a part: its text, its attribute ``name``, or its class with the options that it was given.

    Options follow as in ``Area:power=2``. They are those of the constructor with another value than the default.
    """
    if isinstance(part, str):
        return part
    name = getattr(part, "name", None)
    return str(name) if name else label_with_options(part)


def label_with_options(part: Any) -> str:
    """Return the name of an object, or of its class, with the options that it was given."""
    name = str(getattr(part, "name", None) or type(part).__name__)
    try:
        given = [f"{key}={text}" for key, text in _given(part)]
    except Exception:  # noqa: BLE001 - annotations are evaluated, and a plugged-in part's may be anything
        given = []
    label = name + ":" * bool(given) + ",".join(given)
    return label if len(label) <= _LONGEST_LABEL else name


def distinct_labels(parts: Sequence[Any]) -> list[str]:
    """Return a name for each part. Objects of equal names are told apart by their options, or else by a number."""
    labels = [part_label(part) for part in parts]
    for place, part in enumerate(parts):
        if not isinstance(part, str) and sum(label == labels[place] for label in map(part_label, parts)) > 1:
            labels[place] = label_with_options(part)
    for place, part in enumerate(parts):
        same = {id(other) for other, label in zip(parts[:place], labels, strict=False) if label == labels[place]}
        if not isinstance(part, str) and same and id(part) not in same:
            number = 2
            while f"{labels[place]} #{number}" in labels:
                number += 1
            labels[place] = f"{labels[place]} #{number}"
    return labels


def _given(part: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each option of an object that is not the default."""
    options = getattr(part, "options", None)
    holder = options if dataclasses.is_dataclass(options) else part
    for option in options_of(type(part)):
        for name in (option.name, f"_{option.name}"):
            value = getattr(holder, name, _REQUIRED)
            if value is not _REQUIRED and not (callable(value) and hasattr(value, "__self__")):
                if value is not option.default and not _equal(value, option.default):
                    yield option.name, _text_of(value)
                break


def _equal(one: Any, other: Any) -> bool:
    try:
        return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
    except Exception:  # noqa: BLE001 - arrays and plugged-in parts may compare as they like
        return False


def _text_of(value: Any) -> str:
    """Return a value of an option for a label."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "+".join(map(_text_of, value))
    if isinstance(value, str | int | float):
        return str(value)
    if not inspect.isfunction(type(value).__init__):  # such as an array
        return type(value).__name__
    return label_with_options(value).replace(",", "/")


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split ``NAME:key=value,key=value`` into the name and its options.

    Raises
    ------
    InputError
        If it is too long, or an option has no ``=``, no key, or appears twice.
    """
    if not isinstance(spec, str):
        raise InputError(f"expected NAME or NAME:key=value,key=value, got {shown(spec)}")
    if len(spec) > MOST_LETTERS:
        raise InputError(f"{shown(spec)}: expected at most {MOST_LETTERS:,} letters, got {len(spec):,}")
    name, colon, rest = spec.partition(":")
    options: dict[str, str] = {}
    for item in rest.split(",") if colon else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise InputError(f"{shown(spec)}: expected NAME:key=value,key=value, got {shown(item)} as an option")
        if key in options:
            raise InputError(f"{shown(spec)}: option {shown(key)} is given twice")
        options[key] = value
    return name.strip(), options


def options_of(factory: Callable[..., Any]) -> list[Option]:
    """Return the options of a class or function: declared ones, else from its signature."""
    declared = getattr(factory, "declared_options", None)
    if declared is not None:
        return list(declared())
    kept = inspect.isclass(factory) or inspect.isfunction(factory)
    return list((_in_signature if kept else _in_signature.__wrapped__)(factory))


@lru_cache(_KEPT)
def _in_signature(factory: Callable[..., Any]) -> tuple[Option, ...]:
    hints = _hints(factory)
    fields = dataclasses.fields(factory) if dataclasses.is_dataclass(factory) else ()
    was: dict[str, str] = {each.name: each.metadata.get("was", "") for each in fields}
    return tuple(
        Option(
            parameter.name,
            hints.get(parameter.name) or _type_of(parameter.default),
            parameter.default,
            was.get(parameter.name, ""),
        )
        for parameter in inspect.signature(factory).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    )


def _type_of(default: Any) -> type:
    """Return the type of an option without an annotation: that of its default if it is a number or a flag."""
    return next((kind for kind in _PLAIN if type(default) is kind), str)


def _hints(factory: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameter types of a class or function, resolved in its own module."""
    if not inspect.isclass(factory):
        return typing.get_type_hints(factory)
    owner = next(kind for kind in factory.__mro__ if "__init__" in vars(kind))
    made = dataclasses.is_dataclass(owner) and "__dataclass_params__" in vars(owner)
    return typing.get_type_hints(owner if made else vars(owner)["__init__"])


def convert_options(owner: str, known: list[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the text values in `given` to the types of the `known` options.

    Other values are returned as they are.

    Raises
    ------
    InputError
        For an unknown key, a missing required one, or a malformed value.
    """
    by_name = {option.name: option for option in known}
    for key in given:
        if key not in by_name:
            raise InputError(f"{owner}: {unknown_option(known, key)}")
    for option in known:
        if option.default is _REQUIRED and option.name not in given:
            raise InputError(f"{owner}: option {option.name!r} must be given ({_type_name(option.annotation)})")
    return {
        key: _convert(value, by_name[key].annotation, f"{owner}: option {key!r}") if isinstance(value, str) else value
        for key, value in given.items()
    }


def unknown_option(known: Sequence[Option], name: str) -> str:
    """Return the error for an unknown option name: its new name, or the known names."""
    now = next((option.name for option in known if option.was == name), None)
    if now is not None:
        return f"unknown option {shown(name)}; it is called {now!r} now"
    return f"unknown option {shown(name)}; known: {', '.join(option.name for option in known) or 'it has none'}"


def _convert(text: str, wanted: Any, where: str) -> Any:
    origin = typing.get_origin(wanted)
    if origin is typing.Literal:
        for choice in typing.get_args(wanted):
            if text == str(choice):
                return choice
        raise InputError(f"{where}: expected one of {', '.join(map(str, typing.get_args(wanted)))}, got {shown(text)}")
    if origin in (typing.Union, types.UnionType):
        return _convert_union(text, typing.get_args(wanted), where)
    if wanted is bool:
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise InputError(f"{where}: expected true or false, got {shown(text)}")
    if wanted in (int, float):
        try:
            return wanted(text)
        except ValueError:
            raise InputError(f"{where}: expected {_type_name(wanted)}, got {shown(text)}") from None
    return text


def _convert_union(text: str, members: tuple[Any, ...], where: str) -> Any:
    if type(None) in members and text.lower() in ("none", ""):
        return None
    members = tuple(member for member in members if member is not type(None))
    for member in members:
        try:
            return _convert(text, member, where)
        except InputError:
            continue
    expected = " or ".join(_type_name(member) for member in members)
    raise InputError(f"{where}: expected {expected}, got {shown(text)}")


def _type_name(wanted: Any) -> str:
    """Return how to write a value of a type. For a union, of its types with a text form."""
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if typing.get_origin(wanted) is typing.Literal:
        return f"one of {', '.join(map(str, typing.get_args(wanted)))}"
    if typing.get_origin(wanted) in (typing.Union, types.UnionType):
        return " or ".join(names[member] for member in typing.get_args(wanted) if member in names)
    return names.get(wanted, str(wanted))
