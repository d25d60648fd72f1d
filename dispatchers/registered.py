"""The dispatchers that can be had by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from ..base import InputError, Registry
from ..base.checks import shown
from ..workloads import Machine
from .protocol import Dispatcher

registry = Registry("dispatcher", "hpcdispatch.dispatchers")

#: How many dispatchers may stand on one another: each is asked through all that stand over it.
MOST_LAYERS = 8
_LAYER = re.compile(r"\b(?:over|first)\s*=")


def create_dispatcher(spec: str | Dispatcher, internal: bool = False) -> Dispatcher:
    """Build a registered dispatcher from ``NAME:key=value,...``; an object that dispatches passes as it is.

    With `internal`, options for code alone may be given, as presets and studies do.

    Raises
    ------
    InputError
        For an unknown name or option, or an object without a ``dispatch`` method.
    """
    if isinstance(spec, str):
        return cast(Dispatcher, registry.create(spec, internal))
    if not callable(getattr(spec, "dispatch", None)) or isinstance(spec, type):
        call = ", which is a class: call it" if isinstance(spec, type) else ""
        raise InputError(f"dispatcher: expected a name or an object with dispatch(state), got {shown(spec)}{call}")
    return spec


def create_inner(spec: str | Dispatcher) -> Dispatcher:
    """Build the dispatcher under another one, as :func:`create_dispatcher` does, with ``/`` in place of the comma.

    ``over=hcp3:m=50/k=1`` is one option of the other one.

    Raises
    ------
    InputError
        As there, or if more than :data:`MOST_LAYERS` stand on one another.
    """
    if isinstance(spec, str) and len(_LAYER.findall(spec)) >= MOST_LAYERS:
        raise InputError(f"over: expected at most {MOST_LAYERS} dispatchers on one another, got {shown(spec)}")
    return create_dispatcher(spec_of_inner(spec) if isinstance(spec, str) else spec)


def layers(dispatcher: Dispatcher) -> Iterator[Dispatcher]:
    """Yield a dispatcher, the one it stands on, and so on."""
    part: Dispatcher | None = dispatcher
    while part is not None:
        yield part
        part = getattr(part, "over", None)


def knows_site(dispatcher: Dispatcher) -> bool:
    """Return whether a dispatcher, or one it stands on, has the rules of a site itself.

    Those are limits of arrays, reservations, and which nodes belong to what, by number.
    """
    return any(getattr(part, "knows_site", False) for part in layers(dispatcher))


def reset_part(part: Dispatcher, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
    """Let a dispatcher forget the last simulation, if it is one that remembers."""
    reset = getattr(part, "reset", None)
    if reset is not None:
        reset(machine, rng)


def tell_end(dispatcher: Dispatcher, id_: str, ran: int, now: int) -> None:
    """Let a dispatcher and those it stands on learn of a job that has ended, as far as they want to."""
    for part in layers(dispatcher):
        if hasattr(part, "job_ended"):
            part.job_ended(id_, ran, now)


def reported(part: Dispatcher) -> Mapping[str, Any]:
    """Return what a dispatcher has to say of its last decision, nothing if it never does."""
    report = getattr(part, "report", None)
    return {} if report is None else report() or {}


def spec_of_inner(text: str) -> str:
    """Return the spec of a part that is an option of another one; ``//`` stands for the ``/`` of a part in it."""
    return "/".join(part.replace("/", ",") for part in text.split("//"))
