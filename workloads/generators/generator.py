"""Register generators of workloads by name, and share their error handling."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import cleandoc
from typing import Any, ParamSpec

from ...base import InputError, Registry, parse_spec
from ...base.argument_types import names_wrong_types
from ..workload import Provenance, Workload

GENERATORS = Registry("workload", "hpcdispatch.workloads")
_Options = ParamSpec("_Options")
_EXAMPLES = "\n\nExamples\n--------\n"
_RAISES = "\n\nRaises\n------\nInputError\n    If an option is out of its range."


def generator(name: str) -> Callable[[Callable[_Options, Workload]], Callable[_Options, Workload]]:
    """Return a decorator for a function that draws a workload. A ``ValueError`` becomes an ``InputError``.

    The error gets the name of the generator. The docstring gets a section on this error.
    """

    def decorate(draw: Callable[_Options, Workload]) -> Callable[_Options, Workload]:
        @wraps(draw)
        def named(*args: _Options.args, **options: _Options.kwargs) -> Workload:
            try:
                return draw(*args, **options)
            except ValueError as error:
                raise InputError(f"workload {name}: {error}") from error

        said, examples, shown = cleandoc(draw.__doc__ or "").partition(_EXAMPLES)
        named.__doc__ = f"{said}{_RAISES}{examples}{shown}\n"
        return named

    return decorate


def provenance_of(name: str, options: Mapping[str, Any], **values: Any) -> Provenance:
    """Return the provenance of a generated workload, with its options and further values."""
    return Provenance(f"{name}:" + ",".join(f"{key}={value}" for key, value in options.items()), {**options, **values})


@names_wrong_types
def generate(name: str, seed: int = 0, **options: Any) -> Workload:
    """Return a workload of the generator registered as `name`.

    Generators register under the entry-point group ``hpcdispatch.workloads``. Each is a function that takes a `seed`
    and returns a workload. The same options and seed give the same workload.

    Parameters
    ----------
    name
        A name, or ``NAME:key=value,key=value``. A seed in this text has priority over `seed`.
    seed
        Of the random numbers.
    **options
        Further options of the generator.

    Raises
    ------
    InputError
        For an unknown name or option, or a value that the generator refuses.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> workload = hd.generate("lublin", jobs=500, processors=128, load=0.8, seed=1)
    >>> len(workload.jobs), int(workload.machine.capacity.sum())
    (500, 128)
    >>> hd.generate("lublin:jobs=500,processors=128,load=0.8,seed=1").digest() == workload.digest()
    True
    """
    spelled = parse_spec(name)[1]
    fixed = options if "seed" in spelled else {"seed": seed, **options}
    made = GENERATORS.create(name, **fixed)
    if not isinstance(made, Workload):
        raise InputError(f"workload {name}: expected its generator to return a Workload, got {type(made).__name__}")
    return made
