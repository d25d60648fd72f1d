"""Parts that a script has registered, in other processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ...base import InputError
from ...base.installed import add_part_of_script, all_parts_of_script

#: Entry-point group, name and pickled class or function of a part; or why it cannot be pickled.
PickledPart = tuple[str, str, bytes | str]


def pickled_parts(by_value: bool = False) -> list[PickledPart]:
    """Return group, name and pickled class or function of each part that the script has registered.

    Parameters
    ----------
    by_value
        Whether what a script defines is pickled with its code, for processes that cannot import the script.
    """
    pickling = _by_value() if by_value else pickle
    parts: list[PickledPart] = []
    for group, name, factory in all_parts_of_script():
        try:
            parts.append((group, name, pickling.dumps(factory)))
        except Exception as error:  # noqa: BLE001 - pickle raises errors of many types
            parts.append((group, name, str(error)))
    return parts


def register_again(parts: Sequence[PickledPart]) -> None:
    """Register the parts of the script in this process. One that cannot be loaded says so where it is used."""
    for group, name, pickled in parts:
        try:
            factory = pickled if isinstance(pickled, str) else pickle.loads(pickled)
        except Exception as error:  # noqa: BLE001 - what a module raises where it is imported
            factory = str(error)
        add_part_of_script(group, name, _missing_part(name, factory) if isinstance(factory, str) else factory)


def _missing_part(name: str, reason: str) -> Callable[[], Any]:
    """Return a function in the place of a part that is not in this process. It raises the reason."""

    def missing() -> Any:
        value = f"{name!r} is registered by a script and not known in another process: {reason}"
        raise InputError(f"{value}; define it in a module, or use workers=1")

    return missing


def _by_value() -> Any:
    """Return the pickle of Dask, which sends classes and functions of a script with their code."""
    try:
        return import_module("cloudpickle")
    except ImportError:
        return pickle
