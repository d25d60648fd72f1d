"""Old names of public classes. They work for one more minor version."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from .user_warnings import warn


def with_old_names(
    module: str, names: Mapping[str, str], look_up: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that also knows old names. Each use of one warns with the new name.

    Parameters
    ----------
    module
        The module's ``__name__``.
    names
        New names by old ones, both of this module.
    look_up
        The ``__getattr__`` that the module would have otherwise. ``None`` if it imports all of its names.
    """

    def get(name: str) -> Any:
        if name in names:
            warn(f"{module}.{name} is now {names[name]}; the old name goes in version 0.3", DeprecationWarning)
            return getattr(sys.modules[module], names[name])
        if look_up is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return look_up(name)

    return get
