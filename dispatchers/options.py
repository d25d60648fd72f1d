"""How a dispatcher is configured: by a frozen dataclass of options, of which a preset is one instance."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from inspect import Parameter
from typing import Any, ClassVar, Generic, TypeVar

from ..base import Option
from ..base.checks import check_choice
from ..models import PlacementRule

OptionsT = TypeVar("OptionsT")
BuiltT = TypeVar("BuiltT")


def declared(options: Any, fixed: frozenset[str] = frozenset()) -> list[Option]:
    """Return what can be set in a dataclass of options, or in an instance of it, which gives the defaults.

    Parameters
    ----------
    options
        The dataclass or an instance.
    fixed
        Names of fields that may not be set.
    """
    kind = options if isinstance(options, type) else type(options)
    hints = typing.get_type_hints(kind)
    found = []
    for field in fields(kind):
        default = field.default if isinstance(options, type) else getattr(options, field.name)
        if field.init and field.name not in fixed:
            found.append(Option(field.name, hints[field.name], Parameter.empty if default is MISSING else default))
    return found


def with_options(owner: str, options: OptionsT, given: dict[str, Any], fixed: frozenset[str] = frozenset()) -> OptionsT:
    """Return `options` with some of them set anew.

    Raises
    ------
    TypeError
        For a name that is no option; the message lists those that are.
    ValueError
        For a value that the options refuse.
    """
    known = [option.name for option in declared(options, fixed)]
    for name in given:
        if name not in known:
            raise TypeError(f"{owner}: unknown option {name!r}; known: {', '.join(known) or 'it has none'}")
    return replace(options, **given) if given else options  # type: ignore[type-var]


class Configured(Generic[OptionsT]):
    """What is built from a dataclass of options, from single options by name, or from both.

    A subclass names the dataclass, whose fields all have defaults, as ``Options``. Checks of the values stand in its
    ``__post_init__``.

    Attributes
    ----------
    options
        What it was built with.

    Raises
    ------
    TypeError
        For a name that is no option.
    ValueError
        For a value that the options refuse.
    """

    Options: ClassVar[type]
    options: OptionsT

    def __init__(self, options: OptionsT | None = None, /, **given: Any) -> None:
        self.options = with_options(type(self).__name__, self.Options() if options is None else options, given)

    @classmethod
    def declared_options(cls) -> list[Option]:
        """Return the options that can be set by name."""
        return declared(cls.Options)


@dataclass(frozen=True)
class Preset(Generic[BuiltT]):
    """A configured class with some of its options set; called like the class itself.

    Attributes
    ----------
    build
        The class.
    options
        Its options.
    summary
        One line on what it is.
    fixed
        Names of the options that make the preset, which may not be set again.
    """

    build: Callable[[Any], BuiltT]
    options: Any
    summary: str
    fixed: frozenset[str] = frozenset()

    def __call__(self, **given: Any) -> BuiltT:
        """Build it, with further options set by name; errors as those of the class."""
        owner = getattr(self.build, "__name__", "preset")
        return self.build(with_options(owner, self.options, given, self.fixed))

    def declared_options(self) -> list[Option]:
        """Return the options that can still be set by name."""
        return declared(self.options, self.fixed)


@dataclass(frozen=True)
class PlacementOption:
    """The choice of how nodes are picked.

    Attributes
    ----------
    placement
        ``"first-fit"`` fills the nodes in their order; ``"best-fit"`` the one with the least free share first.
    """

    placement: PlacementRule = "first-fit"

    def __post_init__(self) -> None:
        check_choice("placement", self.placement, PlacementRule)
