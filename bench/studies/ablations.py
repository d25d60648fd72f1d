"""Dispatchers with options that only code sets, for ablations."""

from typing import Any

from ...base import InputError
from ...dispatchers import Dispatcher, create_dispatcher


def dispatcher_of(spec: str) -> str | Dispatcher:
    """Return a spec that any user may write unchanged. Otherwise return the dispatcher, named by its spec.

    Raises
    ------
    InputError
        If the dispatcher has no such option at all.
    """
    try:
        create_dispatcher(spec)
    except InputError:
        made: Any = create_dispatcher(spec, internal=True)
        made.name = spec
        return made  # type: ignore[no-any-return]
    return spec
