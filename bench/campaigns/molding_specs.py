"""Parse ``--mold``: the speedup of the jobs of a workload. :func:`hpcdispatch.workloads.mold` does the rest."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...base import InputError, parse_spec
from ...base.registry import convert_options, options_of
from ...models.moldable import DowneyLaw, amdahl, gunther
from ...workloads import Speedup, SpeedupLaw, Workload, mold

CHOICES = 5


def _downey(least: float = 2, most: float = 200, smooth: float = 0, rough: float = 2) -> DowneyLaw:
    return DowneyLaw((least, most), (smooth, rough))


def _amdahl(serial: float) -> Speedup:
    amdahl(1, serial)
    return partial(amdahl, serial=serial)


def _gunther(contention: float, coherency: float) -> Speedup:
    gunther(1, contention, coherency)
    return partial(gunther, contention=contention, coherency=coherency)


#: Functions for the options of each speedup.
SPEEDUPS: dict[str, Callable[..., Speedup | SpeedupLaw]] = {"downey": _downey, "amdahl": _amdahl, "gunther": _gunther}
#: The forms of a text.
FORMS = "downey[:least=A,most=A,smooth=S,rough=S], amdahl:serial=F or gunther:contention=C,coherency=K"


def molded(workload: Workload, spec: str | None, seed: int = 0) -> Workload:
    """Return a workload with moldable jobs.

    Parameters
    ----------
    workload
        The workload to mold.
    spec
        ``downey:least=2,most=200,smooth=0,rough=2`` has the least and the largest A and sigma of random speedups.
        Others are ``amdahl:serial=0.1`` and ``gunther:contention=0.1,coherency=0.001``. All have ``choices``, the
        number of sizes, and ``seed``. ``None`` does not change the workload.
    seed
        Of the random numbers, if the text has none.

    Raises
    ------
    InputError
        For an unknown name or option, or a number out of range.
    """
    if spec is None:
        return workload
    speedup, choices, own = _parsed(spec)
    return mold(workload, speedup, choices, seed if own is None else own)


def check_molding(spec: str) -> None:
    """Raise :class:`InputError` for a text without a speedup."""
    _parsed(spec)


def _parsed(spec: str) -> tuple[Speedup | SpeedupLaw, int, int | None]:
    name, given = parse_spec(spec)
    if name not in SPEEDUPS:
        raise InputError(f"mold: expected {FORMS}, got {spec!r}")
    known = [*options_of(SPEEDUPS[name]), *options_of(_draws)]
    options: dict[str, Any] = convert_options(f"mold {name}", known, given)
    choices = options.pop("choices", CHOICES)
    seed = options.pop("seed", None)
    for key, value, least in (("choices", choices, 2), ("seed", seed or 0, 0)):
        if value < least:
            raise InputError(f"mold {name}: option {key!r}: expected a whole number >= {least}, got {value}")
    try:
        return SPEEDUPS[name](**options), choices, seed
    except ValueError as error:
        raise InputError(f"mold {name}: {error}") from None


def _draws(choices: int = CHOICES, seed: int | None = None) -> None:
    """Declare the options of :func:`mold` itself."""
