"""Generated workloads, by name."""

from __future__ import annotations

from typing import Any

from ...base import InputError, Registry, parse_spec
from ..workload import Workload

GENERATORS = Registry("workload", "hpcdispatch.workloads")


def generate(name: str, seed: int = 0, **options: Any) -> Workload:
    """Return the workload that the generator registered as `name` draws.

    Generators register under the entry-point group ``hpcdispatch.workloads``; each is a function that takes
    a `seed` and returns a workload, the same one for the same options and seed.

    Parameters
    ----------
    name
        A name, or ``NAME:key=value,key=value``; a seed given there goes before `seed`.
    seed
        Of the random numbers.
    **options
        What else the generator takes.

    Raises
    ------
    InputError
        For an unknown name or option, or a value the generator refuses.
    """
    spelled = parse_spec(name)[1]
    fixed = options if "seed" in spelled else {"seed": seed, **options}
    made = GENERATORS.create(name, **fixed)
    if not isinstance(made, Workload):
        raise InputError(f"workload {name}: expected its generator to return a Workload, got {type(made).__name__}")
    return made


def workload_names() -> list[str]:
    """Return the names :func:`generate` knows, sorted."""
    return GENERATORS.names()
