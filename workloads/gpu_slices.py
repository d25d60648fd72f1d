"""GPUs that are sliced into instances (MIG), each with a part of the processors and of the memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import shown
from ..base.printed import near_name

#: Resource of whole GPUs, and prefix of those of slices and of types.
_GPU = "gpu"
#: Slices of processors and of memory, of each profile and of the whole GPU.
_LARGE = {"1g": (1, 1), "1g+": (1, 2), "2g": (2, 2), "3g": (3, 4), "4g": (4, 4), "7g": (7, 8)}
_NAMES = {
    "a100-40gb": ("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"),
    "a100-80gb": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"),
    "h100-80gb": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"),
    "h200-141gb": ("1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"),
    "b200-180gb": ("1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"),
}
#: The profiles of each GPU: slices of processors and of memory.
PROFILES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    **{gpu: dict(zip(names, _LARGE.values(), strict=True)) for gpu, names in _NAMES.items()},
    "a30-24gb": {"1g.6gb": (1, 1), "2g.12gb": (2, 2), "4g.24gb": (4, 4)},
}
_TIMES = re.compile(r"(?:(\d{1,2})\s*[x*]\s*)?(\d+g\.\d+gb)", re.IGNORECASE)


def slices_of(where: str, gpu: str, given: Any) -> Counter[str]:
    """Return the number of slices of each profile on one GPU.

    Parameters
    ----------
    where
        For messages.
    gpu
        Its model, one of :data:`PROFILES`.
    given
        Its profiles: names such as ``"3g.20gb"``, texts such as ``"7x1g.5gb"``, a list of these, or numbers by name.

    Raises
    ------
    ValueError
        If the GPU has no such profile, or is too small for all of them.
    """
    if gpu not in PROFILES:
        near = near_name(str(gpu), list(PROFILES))
        raise ValueError(f"{where}: expected a GPU among {', '.join(PROFILES)}, got {shown(gpu)}{near}")
    profiles = PROFILES[gpu]
    slices: Counter[str] = Counter()
    if isinstance(given, Mapping):
        given = [f"{count}x{name}" for name, count in given.items()]
    for text in [given] if isinstance(given, str) else given if isinstance(given, Sequence) else [given]:
        for part in text.split(",") if isinstance(text, str) else [text]:
            match = _TIMES.fullmatch(part.strip()) if isinstance(part, str) else None
            name = match[2].lower() if match else ""
            if match is None or name not in profiles or match[1] == "0":
                raise ValueError(f"{where}: expected profiles of {gpu}: {', '.join(profiles)}, got {shown(part)}")
            slices[name] += int(match[1] or 1)
    most = [max(sizes) for sizes in zip(*profiles.values(), strict=True)]
    used = [sum(profiles[name][part] * count for name, count in slices.items()) for part in range(len(most))]
    for part, what in enumerate(("processors", "memory")):
        if used[part] > most[part]:
            told = ", ".join(f"{count}x{name}" for name, count in slices.items())
            raise ValueError(
                f"{where}: {told} need {used[part]} slices of {what}, and a {gpu} has {most[part]}; leave some out"
            )
    if not slices:
        raise ValueError(f"{where}: expected profiles such as 7x1g.5gb, got none; leave out a GPU that is whole")
    return slices


def slice_amounts(where: str, gpu: str, gpus: Any) -> tuple[int, Counter[str]]:
    """Return the number of sliced GPUs of a node, and the amounts of its slices by resource.

    `gpus` has one entry per sliced GPU, see :func:`slices_of`.

    Raises
    ------
    ValueError
        As :func:`slices_of`, or if there are no entries.
    """
    if isinstance(gpus, str | Mapping) or not isinstance(gpus, Sequence) or not gpus:
        raise ValueError(f'{where}: expected one entry per sliced GPU, such as ["7x1g.5gb"], got {shown(gpus)}')
    amounts: Counter[str] = Counter()
    for number, given in enumerate(gpus):
        for name, count in slices_of(f"{where}, GPU {number}", gpu, given).items():
            amounts[f"{_GPU}/{name}"] += count
    return len(gpus), amounts
