"""Registered dispatchers, by name."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from ..base import InputError, Registry, shown
from ..base.argument_types import names_wrong_types
from ..workloads import Machine
from .protocol import Dispatcher, DispatcherContract

registry = Registry("dispatcher", "hpcdispatch.dispatchers")

#: Largest number of nested dispatchers. Each call passes through all outer ones.
MOST_LAYERS = 8
_LAYER = re.compile(r"\b(?:over|first)\s*=")


@names_wrong_types
def create_dispatcher(spec: str | Dispatcher, internal: bool = False) -> Dispatcher:
    """Create a registered dispatcher from ``NAME:key=value,...``. A dispatcher object is returned as is.

    `internal` allows options that only code may set, as presets and studies do.

    Raises
    ------
    InputError
        For an unknown name or option, or an object without a ``dispatch`` method.

    Examples
    --------
    >>> from hpcdispatch.dispatchers import create_dispatcher
    >>> create_dispatcher("easy:depth=2,backfill=sjf").depth
    2
    """
    if isinstance(spec, str):
        return cast(Dispatcher, registry.create(spec, internal))
    if not callable(getattr(spec, "dispatch", None)) or isinstance(spec, type):
        call = ", which is a class: call it" if isinstance(spec, type) else ""
        raise InputError(f"dispatcher: expected a name or an object with dispatch(state), got {shown(spec)}{call}")
    return spec


def create_inner(spec: str | Dispatcher) -> Dispatcher:
    """Create the inner dispatcher of another one, as :func:`create_dispatcher` does, with ``/`` for the comma.

    ``over=hcp3:m=50/k=1`` is one option of the outer one.

    Raises
    ------
    InputError
        As there, or if more than :data:`MOST_LAYERS` are nested.
    """
    if isinstance(spec, str) and len(_LAYER.findall(spec)) >= MOST_LAYERS:
        raise InputError(f"over: expected at most {MOST_LAYERS} dispatchers on one another, got {shown(spec)}")
    return create_dispatcher(spec_of_inner(spec) if isinstance(spec, str) else spec)


def layers(dispatcher: Dispatcher) -> Iterator[Dispatcher]:
    """Yield a dispatcher, its inner one, and so on."""
    part: Dispatcher | None = dispatcher
    while part is not None:
        yield part
        part = DispatcherContract(part).over


def knows_site(dispatcher: Dispatcher) -> bool:
    """Return whether a dispatcher, or an inner one, implements site rules itself.

    Those are limits of arrays, reservations, and node numbers of partitions.
    """
    return any(DispatcherContract(part).knows_site for part in layers(dispatcher))


def option_of(part: Dispatcher, name: str) -> Any:
    """Return an option of a dispatcher by its name, ``None`` if it has no such option."""
    return getattr(getattr(part, "options", None), name, None)


def places_compactly(dispatcher: Dispatcher) -> bool:
    """Return whether a dispatcher, or an inner one, places jobs in few groups of the machine's levels."""
    return any(
        "compact" in (DispatcherContract(part).placement, option_of(part, "placement")) for part in layers(dispatcher)
    )


def reset_part(part: Dispatcher, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
    """Reset a dispatcher, if it has memory."""
    reset = DispatcherContract(part).reset
    if reset is not None:
        reset(machine, rng)


def tell_end(dispatcher: Dispatcher, id_: str, ran: int, now: int) -> None:
    """Report an ended job to a dispatcher and its inner ones, if they support it."""
    for part in layers(dispatcher):
        job_ended = DispatcherContract(part).job_ended
        if job_ended is not None:
            job_ended(id_, ran, now)


def reported(part: Dispatcher) -> Mapping[str, Any]:
    """Return a dispatcher's report of its last decision. Empty if it has none."""
    report = DispatcherContract(part).report
    return {} if report is None else report() or {}


def spec_of_inner(text: str) -> str:
    """Return the spec of a part that is an option of another one. ``//`` stands for the ``/`` of a part in it."""
    return "/".join(part.replace("/", ",") for part in text.split("//"))
