"""Name the argument of a wrong type when a call has failed because of it."""

import builtins
import inspect
import re
import types
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from .checks import shown
from .errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

#: What Python raises where a value is of another type. Errors of simulations and of the system say more by themselves.
_OF_TYPES = (AttributeError, TypeError, LookupError, ArithmeticError, ValueError)


def names_wrong_types(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function raise :class:`InputError` if it fails and an argument is not of its annotated type.

    A call that works costs nothing, whatever its arguments are. Only errors that a value of another type causes in
    Python are replaced. Annotations that cannot be checked are left out.
    """

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> R:
        try:
            return function(*args, **given)
        except InputError:
            raise
        except _OF_TYPES as error:
            _tell(function, args, given, error)
            raise

    @wraps(function)
    def generate(*args: P.args, **given: P.kwargs) -> Any:
        try:
            yield from function(*args, **given)  # type: ignore[misc]
        except InputError:
            raise
        except _OF_TYPES as error:
            _tell(function, args, given, error)
            raise

    return generate if inspect.isgeneratorfunction(function) else call


def _tell(function: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any], error: Exception) -> None:
    """Raise :class:`InputError` from an error if an argument is of another type, and the error does not name it."""
    name, wrong = _wrong_argument(function, args, given)
    named = isinstance(error, ValueError) and re.search(rf"\b{re.escape(name)}\b", str(error))
    if wrong and not named:
        raise InputError(f"{function.__qualname__}: {name}: {wrong}") from error


def _wrong_argument(function: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> tuple[str, str]:
    """Return which argument is of another type, and how; empty if that cannot be said of any."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **given)
    except TypeError:
        return "", ""
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if several or parameter.annotation is parameter.empty:
            continue
        annotation = _evaluated(parameter.annotation, function)
        if not _fits(value, annotation):
            return name, f"expected {_in_words(parameter.annotation)}, got {shown(value)}"
    return "", ""


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return an annotation that is a text as a type; ``Any`` if a name in it is for type checkers alone."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**vars(builtins), **function.__globals__})
    except (NameError, AttributeError, TypeError):
        return Any


def _in_words(annotation: Any) -> str:
    """Return a type as it is written, without the modules of its names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b[a-z_]\w*\.(?=\w)", "", text)


def _fits(value: Any, annotation: Any) -> bool:
    """Return whether a value may be of a type. Only what certainly is not does not fit."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation == ArrayLike:
        return _is_numbers(value)
    if annotation is None or annotation is type(None):
        return value is None
    if origin is Annotated:
        return _fits(value, inner[0])
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner if isinstance(value, str | int | None) else False
    kind = origin or annotation
    if not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False):
        names = {*dir(kind), *getattr(kind, "__annotations__", ())}
        return all(hasattr(value, name) for name in names if not name.startswith("_"))
    if kind is float:
        return isinstance(value, int | float | np.integer | np.floating)
    if kind is int:
        return isinstance(value, int | np.integer)
    if kind is np.ndarray:  # Functions take sequences as well.
        return isinstance(value, np.ndarray | list | tuple)
    if isinstance(value, str) and kind is not str and str not in inner and Any not in inner and inner:
        return False  # A text is a sequence of texts, and seldom meant so.
    return isinstance(value, kind)


def _is_numbers(value: Any) -> bool:
    """Return whether a value is an array of numbers."""
    try:
        np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return value is not None
