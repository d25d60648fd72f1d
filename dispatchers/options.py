"""How a dispatcher is configured: by a frozen dataclass of options, of which a preset is one instance."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import lru_cache
from inspect import Parameter
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from ..base import Option, unknown_option
from ..base.checks import check_choice
from ..models import PlacementRule
from ..workloads import Machine

#: Which run times reservations and guaranteed starts are computed with.
ReserveBy = Literal["predictions", "walltimes"]
#: Classes whose annotations are kept.
_KEPT = 512
OptionsT = TypeVar("OptionsT")
BuiltT = TypeVar("BuiltT")


def internal(default: Any) -> Any:
    """Return a field of a dataclass of options that only code sets: for presets, studies and ablations."""
    return field(default=default, metadata={"internal": True})


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
    hints = _hints(kind)
    settable = [each for each in fields(kind) if each.init and each.name not in fixed]
    defaults = [each.default if isinstance(options, type) else getattr(options, each.name) for each in settable]
    return [
        Option(
            each.name,
            hints[each.name],
            Parameter.empty if default is MISSING else default,
            each.metadata.get("was", ""),
            each.metadata.get("internal", False),
        )
        for each, default in zip(settable, defaults, strict=True)
    ]


@lru_cache(_KEPT)
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def check_known(owner: str, known: Sequence[Option], given: Iterable[str]) -> None:
    """Raise ``TypeError``, which lists the `known` options of `owner`, for a name in `given` that is none of them."""
    names = [option.name for option in known]
    for name in given:
        if name not in names:
            raise TypeError(f"{owner}: {unknown_option(known, name)}")


def with_options(owner: str, options: OptionsT, given: dict[str, Any], fixed: frozenset[str] = frozenset()) -> OptionsT:
    """Return `options` with some of them set anew.

    Raises
    ------
    TypeError
        For a name that is no option; the message lists those that are.
    ValueError
        For a value that the options refuse.
    """
    check_known(owner, declared(options, fixed), given)
    return replace(options, **given) if given else options  # type: ignore[type-var]


class Configured(Generic[OptionsT]):
    """A dispatcher with a memory, built from a dataclass of options, from single options by name, or from both.

    A subclass names the dataclass, whose fields all have defaults, as ``Options``. Checks of the values stand in its
    ``__post_init__``. What a dispatcher remembers is set in :meth:`forget`.

    Attributes
    ----------
    options
        What it was built with.

    Raises
    ------
    TypeError
        For a name that is no option, or what is no instance of ``Options``.
    ValueError
        For a value that the options refuse.
    """

    Options: ClassVar[type]
    options: OptionsT

    def __init__(self, options: OptionsT | None = None, /, **given: Any) -> None:
        owner = type(self).__name__
        if options is not None and not isinstance(options, self.Options):
            raise TypeError(f"{owner}: expected {self.Options.__name__} or options by name, got {options!r}")
        self.options = with_options(owner, self.Options() if options is None else options, given)
        self.forget()

    def forget(self) -> None:
        """Set what is remembered from one decision to the next as it is before the first; nothing here."""

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget what the last simulation left."""
        self.forget()

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
        made = with_options(owner, self.options, given, self.fixed)
        # Where the options are the dispatcher itself, each has one of its own.
        return replace(made) if made is not None and type(made) is self.build else self.build(made)

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
