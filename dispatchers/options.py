"""Configuration of dispatchers by frozen dataclasses of options. A preset is an instance of one."""

import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import lru_cache
from inspect import Parameter
from typing import Any, ClassVar, Generic, Literal, ParamSpec, TypeVar

import numpy as np

from ..base import Option, shown, unknown_option
from ..base.checks import Checked
from ..models import PlacementRule
from ..workloads import Machine
from .registered import create_inner, reset_part

#: Run times for reservations and guaranteed starts.
ReserveBy = Literal["predictions", "walltimes"]
#: Number of classes with cached annotations.
_KEPT = 512
OptionsT = TypeVar("OptionsT")
BuiltT = TypeVar("BuiltT")
#: Parameters of a class, of which a preset takes those by name.
OptionNames = ParamSpec("OptionNames")


def internal(default: Any) -> Any:
    """Return a dataclass field that only code sets, for presets, studies and ablations."""
    return field(default=default, metadata={"internal": True})


def declared(options: Any, fixed: frozenset[str] = frozenset()) -> list[Option]:
    """Return the settable options of a dataclass, or of an instance, which gives the defaults.

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
    """Raise ``TypeError`` for a name in `given` that is not an option of `owner`. It lists the `known` ones."""
    names = [option.name for option in known]
    for name in given:
        if name not in names:
            raise TypeError(f"{owner}: {unknown_option(known, name)}")


def with_options(owner: str, options: OptionsT, given: dict[str, Any], fixed: frozenset[str] = frozenset()) -> OptionsT:
    """Return `options` with some of them changed.

    Raises
    ------
    TypeError
        For an unknown name. The message lists the known ones.
    ValueError
        For a value that the options reject.
    """
    check_known(owner, declared(options, fixed), given)
    return replace(options, **given) if given else options  # type: ignore[type-var]


class Configured(Generic[OptionsT]):
    """A dispatcher with memory, built from a dataclass of options, from options by name, or both.

    A subclass names its dataclass ``Options``. All fields need defaults. The dataclass checks values in its
    ``__post_init__``. :meth:`forget` initialises the memory.

    Attributes
    ----------
    options
        The options.
    uses
        Packages whose version may change a schedule.

    Raises
    ------
    TypeError
        For an unknown name, or an object that is not an instance of ``Options``.
    ValueError
        For a value that the options reject.
    """

    Options: ClassVar[type]
    uses: ClassVar[tuple[str, ...]] = ("numba",)
    options: OptionsT

    def __init__(self, options: OptionsT | None = None, /, **given: Any) -> None:
        owner = type(self).__name__
        if options is not None and not isinstance(options, self.Options):
            raise TypeError(f"{owner}: expected {self.Options.__name__} or options by name, got {options!r}")
        self.options = with_options(owner, self.Options() if options is None else options, given)
        self.forget()

    def forget(self) -> None:
        """Reset the memory to its initial state. Does nothing here."""

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Drop the data of the last simulation."""
        self.forget()

    @classmethod
    def declared_options(cls) -> list[Option]:
        """Return the options that can be set by name."""
        return declared(cls.Options)


class Layer(Configured[OptionsT]):
    """A dispatcher over another one, which it creates from its option `over`."""

    def __init__(self, options: OptionsT | None = None, /, **given: Any) -> None:
        super().__init__(options, **given)
        chosen: Any = self.options
        self.over = create_inner(chosen.over)

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Drop the data of the last simulation, and reset the inner dispatcher."""
        super().reset(machine, rng)
        reset_part(self.over, machine, rng)


@dataclass(frozen=True)
class Preset(Generic[OptionNames, BuiltT]):
    """A configured class with some options set. Called like the class.

    Attributes
    ----------
    build
        The class.
    options
        Its options.
    summary
        One line of description.
    fixed
        Options that define the preset and may not change.
    """

    build: Callable[OptionNames, BuiltT]
    options: Any
    summary: str
    fixed: frozenset[str] = frozenset()

    def __call__(self, *unnamed: OptionNames.args, **given: OptionNames.kwargs) -> BuiltT:
        """Create an instance, with further options by name. Errors are those of the class."""
        build: Callable[..., BuiltT] = self.build
        owner = getattr(build, "__name__", "preset")
        if unnamed:
            raise TypeError(f"{owner}: expected options by name, got {shown(unnamed[0])}")
        made = with_options(owner, self.options, given, self.fixed)
        # If the options are the dispatcher itself, each call needs a copy.
        return replace(made) if made is not None and type(made) is build else build(made)

    def declared_options(self) -> list[Option]:
        """Return the options that can still be set by name."""
        return declared(self.options, self.fixed)


@dataclass(frozen=True)
class PlacementOption(Checked):
    """Option of the choice of nodes.

    Attributes
    ----------
    placement
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
        ``"compact"`` uses few groups of the machine's levels.
    """

    placement: PlacementRule = "first-fit"
