"""Convert the fields of Slurm's accounting records to numbers."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import FloatArray
from ...base.checks import MOST_PROCESSORS
from .date_texts import iso_date

TextArray = NDArray[np.object_]

#: An amount with its unit, and what may stand after it.
_AMOUNT = r"(?:(?P<{}>\d+(?:\.\d+)?) ?(?i:{})(?:,? (?:and )?)?)?"
#: Forms of durations: those of Slurm, ``1 day, 2:03:04`` of Python and pandas, ``1:02:03:04`` of Torque with days,
#: ``2h30m``, ``2 hours 30 minutes``, and ``PT2H30M`` of ISO 8601.
_DURATIONS = tuple(
    map(
        re.compile,
        (
            r"^(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+))?$",
            r"^(?:(?:(?P<d>\d+)-)?(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+(?:\.\d+)?)$",
            r"^(?P<d>\d+) days?(?:,? \+?(?:(?P<h>\d+):(?P<m>\d+):(?P<s>\d+(?:\.\d+)?))?)?$",
            r"^(?P<d>\d+)[:.](?P<h>\d+):(?P<m>\d\d?):(?P<s>\d\d?(?:\.\d+)?)$",
            "^"
            + _AMOUNT.format("w", "w|weeks?")
            + _AMOUNT.format("d", "d|days?")
            + _AMOUNT.format("h", "h|hrs?|hours?")
            + _AMOUNT.format("m", "m|mins?|minutes?")
            + _AMOUNT.format("s", "s|secs?|seconds?")
            + "$",
            r"^P(?:(?P<w>\d+)W)?(?:(?P<d>\d+(?:\.\d+)?)D)?"
            r"(?:T(?:(?P<h>\d+(?:\.\d+)?)H)?(?:(?P<m>\d+(?:\.\d+)?)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?$",
        ),
    )
)
#: Seconds of the units in these forms.
_LENGTHS = (("w", 7 * 86400), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_MEMORY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([KMGTP]?)([cn]?)")
_KILO = {"": 1024, "K": 1, "M": 1024, "G": 1024**2, "T": 1024**3, "P": 1024**4}
_THOUSANDFOLD = re.compile(r"(\d{1,18}(?:\.\d+)?)([KMGTP]?)")
_THOUSANDS = re.compile(r"\d+(\.\d+)?K")
_GPU = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=(\d+)")
_TRES_MEMORY = re.compile(r"(?:^|,)mem=([^,]*)")
_ASKED = re.compile(r"\s(?:-N\s*|--nodes[ =])(\d+)")
_ARRAY = re.compile(r"\s(?:-a\s*|--array[ =])[\d,:-]+%(\d{1,9})(?!\S)")
_CORES = re.compile(r"\s(?:-c\s*|--cpus-per-task[ =])(\d{1,9})(?!\S)")
_MEMORY_BY = re.compile(r"\s--mem(-per-cpu)?[ =]\S")
_SLASHES = r"^(\d{4})/(\d{1,2})/(\d{1,2})"
#: Dates of which the year stands last. With dots, the day is first.
_YEAR_LAST = r"^(\d{1,2})/(\d{1,2})/(\d{4})"
#: Such dates, also with hyphens or a year of two digits, of which the day may be first or second.
YEAR_LAST = r"^(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d\d)(?!\d)"
_DOTS = r"^(\d{1,2})\.(\d{1,2})\.(\d{4})"
_DATE_END = r"^(\d{4}-\d{1,2}-\d{1,2})[-_ ](?=\d)"
_OFFSET = r"T.*(?:[Zz]|[+-]\d\d:?(?:\d\d)?)$"
#: A local time without seconds.
_MINUTES_ONLY = r"[T -]\d\d:\d\d$"
#: A type of GPUs, or a profile of slices such as ``1g.5gb``.
_KIND = r"(?:[^\s:,=\d]|\d+g\.)[^\s:,=]*"
_GPUS_A_NODE = re.compile(
    r"\s(?:--gpus-per-node[ =]|--gres[ =]gpu(?:[:=]|(?=[\s,]|$)))"
    rf"(?:{_KIND}(?:[:=]|(?=[\s,]|$)))?(\d{{1,6}})?(?![^\s,])"
)
_GPUS = re.compile(rf"\s(?:-G\s*|--gpus[ =])(?:{_KIND}:)?(\d{{1,6}})(?!\S)")
#: Texts of command lines, by their names here.
_TEXTS = {
    "told_limit": _ARRAY,
    "told_reservation": re.compile(r"\s--reservation[ =]([^\s,]+)"),
    "told_qos": re.compile(r"\s(?:-q\s*|--qos[ =])([^\s,]+)"),
    "told_constraint": re.compile(r"\s(?:-C\s*|--constraint[ =])\"?([^\s\"]+)"),
    "told_licences": re.compile(r"\s(?:-L\s*|--licenses[ =])([^\s]+)"),
    "told_switches": re.compile(r"\s--switches[ =](\d{1,6}(?:@[\d:-]{1,20})?)(?!\S)"),
}
#: Typed GPUs, whole-node options, and the parts of total requests.
_GPU_TYPES = re.compile(
    r"gpu[:/]((?:[A-Za-z_]|\d+g\.)[^\s:,=]*)(?:[:=](\d{1,6}))?"
    r"|(?:-G\s*|--gpus\S*[ =])((?:[A-Za-z_]|\d+g\.)[^\s:,=]*):(\d{1,6})"
)
_EXCLUSIVE = re.compile(r"\s--exclusive(?:=(\w+))?(?=\s|$)")
_TASKS = re.compile(r"\s(?:-n\s*|--ntasks[ =])(\d{1,9})(?!\S)")
_TASKS_A_NODE = re.compile(r"\s(?:--ntasks-per-node|--tasks-per-node)[ =](\d{1,9})(?!\S)")
#: Slurm's value of ``--nice`` alone is 100.
_NICE = re.compile(r"\s--nice(?:[ =](-?\d{1,10}))?(?!\S)")
_NICE_ALONE = 100
#: Options that change a start and are not read.
_OTHERS = re.compile(
    r"\s(--(?:nodelist|exclude|contiguous|switches|spread-job|overcommit|oversubscribe|core-spec|thread-spec|hint|tmp|"
    r"threads-per-core|mincpus|ntasks-per-(?:socket|core|gpu)|sockets-per-node|cores-per-socket|extra-node-info|"
    r"gpus-per-socket|gpus-per-task|mem-per-gpu|cpus-per-gpu|priority|deadline|time-min|prefer|bb|bbf|use-min-nodes|"
    r"segment|oom-kill-step|cluster-constraint|exclusive=(?:user|mcs|topo))|-[wxsOSB])(?![\w-])"
)
_RANGE_OF_NODES = re.compile(r"\s(?:-N\s*|--nodes[ =])\d+-(\d{1,9})")
#: Numbers with the digits of a date and a time.
_COMPACT = (19700101000000, 21000101000000)
_TRES_CPUS = re.compile(r"(?:^|,)cpu=(\d+)")
_TRES_LICENCE = re.compile(r"(?:^|,)license/([^=,]+)=(\d+)")


def numbers(texts: TextArray) -> FloatArray:
    """Return texts as numbers (``4K`` is 4,000, as Slurm writes counts), nan if invalid."""
    codes, different = pd.factorize(texts)
    values = np.array(pd.to_numeric(pd.Series(different, dtype="object"), errors="coerce"), dtype=np.float64)
    for row in np.flatnonzero(np.isnan(values)).tolist():
        if _THOUSANDS.fullmatch(different[row]):
            values[row] = round(float(different[row][:-1]) * 1000.0, 6)
    return np.where(np.isfinite(values), values, np.nan)[codes]


def times(texts: TextArray, zone: str | None = None, *, second: bool = False, day_first: bool = False) -> FloatArray:
    """Return times as seconds since 1970, nan if invalid.

    They are seconds, or dates in Slurm's formats. A T, a blank or a hyphen stands before the hours. Dates may have
    slashes in place of hyphens. They may lack seconds, or have an offset such as ``+0100``. ``05/01/2024`` is in May,
    or in January with `day_first`. Others are as :func:`~.date_texts.iso_date` reads them.

    Local times are those of a zone, or unchanged without one. When clocks are put back, one hour comes twice. Its times
    are in the first one, or in the `second`. Times in a skipped hour are its end.
    """
    series = pd.Series(texts, dtype="object")
    parsed = pd.to_datetime(series, format="%Y-%m-%dT%H:%M:%S", errors="coerce")
    values = np.full(len(texts), np.nan)
    zones = np.zeros(len(texts), dtype=np.bool_)
    left = parsed.isna().to_numpy(copy=True)
    if left.any():
        values[left] = numbers(texts[left])  # SLURM_TIME_FORMAT=%s gives them
        compact = (values >= _COMPACT[0]) & (values < _COMPACT[1])
        if compact.any():  # 20240131120000
            compact &= of_each(texts, lambda text: bool(iso_date(text)), np.bool_)
            values[compact] = np.nan
        left &= np.isnan(values)
    if left.any():
        plain = series[left].str.replace(_SLASHES, r"\1-\2-\3", regex=True)
        plain = plain.str.replace(_YEAR_LAST, r"\3-\2-\1" if day_first else r"\3-\1-\2", regex=True)
        plain = plain.str.replace(_DOTS, r"\3-\2-\1", regex=True).str.replace(_DATE_END, r"\1T", regex=True)
        unread = pd.to_datetime(plain, format="ISO8601", errors="coerce", utc=True).isna().to_numpy()
        if unread.any():
            rewritten = of_each(texts[left][unread], partial(iso_date, day_first=day_first), object)
            plain[unread] = np.where(rewritten == "", plain[unread], rewritten)
        zones[left] = plain.str.contains(_OFFSET, regex=True).to_numpy()
        whole = pd.to_datetime(plain, format="ISO8601", errors="coerce", utc=True).dt.tz_localize(None)
        parsed = parsed.astype("datetime64[s]")
        parsed[left] = whole.astype("datetime64[s]")
    if zone is not None and not zones.all():
        local = parsed[~zones].dt.tz_localize(
            zone, ambiguous=np.full(int((~zones).sum()), not second), nonexistent="shift_forward"
        )
        parsed[~zones] = local.dt.tz_convert("UTC").dt.tz_localize(None)
    since = parsed.to_numpy().astype("datetime64[s]")
    return np.where(np.isnat(since), values, since.astype(np.int64).astype(np.float64))


def durations(texts: TextArray) -> FloatArray:
    """Return durations as seconds, nan if invalid.

    They are ``[DD-[HH:]]MM:SS``, ``DD-HH[:MM]``, ``DD:HH:MM:SS``, ``1 day, 2:03:04``, ``2h30m``, ``2 hours 30
    minutes`` or ``PT2H30M``.
    """
    seconds: FloatArray = of_each(np.asarray(texts, dtype=object), _seconds)
    return seconds


def _seconds(text: str) -> float:
    """Return a duration as :func:`durations` does."""
    for pattern in _DURATIONS:
        found = pattern.search(str(text))
        if found and any(found.groups()):
            parts = found.groupdict()
            return sum(float(parts.get(unit) or 0) * length for unit, length in _LENGTHS)
    return math.nan


def gpu_types(text: str) -> str:
    """Return the typed GPUs of a TRES text or of a command line, as in ``a100=2,v100=1``.

    They are in all or per node.
    """
    matches = _GPU_TYPES.findall(text.replace("gres:", "gres/"))
    named = ((kind or whole, count or every or "1") for kind, count, whole, every in matches)
    return ",".join(f"{kind.lower()}={count}" for kind, count in named)


def licences(text: str) -> str:
    """Return the licences of a TRES text, as in ``matlab=2``."""
    return ",".join(f"{name}={count}" for name, count in _TRES_LICENCE.findall(text))


def of_each(texts: TextArray, function: Callable[[str], Any], kind: Any = np.float64) -> Any:
    """Return a function of texts as an array of a kind. It is called once for each distinct text."""
    codes, different = pd.factorize(texts)
    return np.array([function(text) for text in different.tolist()], dtype=kind)[codes]


def kilobytes_of(text: str) -> float:
    """Return an amount of memory such as ``4G``, ``4Gc`` and ``4000Mn`` in kilobytes, nan if invalid.

    Without a unit it is in megabytes.
    """
    match = _MEMORY.fullmatch(text)
    return float(match[1]) * (_KILO[match[2]] if match[2] else 1024) if match else np.nan


def _thousands(text: str) -> float:
    """Return a number with a letter for its thousands, as ``1.2M``, nan if invalid."""
    match = _THOUSANDFOLD.fullmatch(text)
    return float(match[1]) * 1000.0 ** "_KMGTP".index(match[2] or "_") if match else np.nan


def _memory_of(text: str) -> float:
    """Return the memory in a TRES text in kilobytes, 0 if it has none."""
    match = _TRES_MEMORY.search(text)
    return kilobytes_of(match[1]) if match else 0.0


def gpus_of_tres(text: str) -> int:
    """Return the GPUs in a TRES text."""
    return int(_count_gpus(text))


def cpus_of_tres(text: str) -> int:
    """Return the CPUs in a TRES text, 0 for none."""
    match = _TRES_CPUS.search(text)
    return int(match[1]) if match else 0


def _count_gpus(text: str) -> float:
    """Return the GPUs in a TRES text. A count without a type covers those with a type."""
    matches = _GPU.findall(text)
    plain = [float(count) for kind, count in matches if not kind]
    return plain[0] if plain else sum(float(count) for _, count in matches)


_OF_TEXT: dict[str, Callable[[str], float]] = {
    "memory": kilobytes_of,
    "thousands": _thousands,
    "tres_gpus": _count_gpus,
    "tres_memory": _memory_of,
    "tres_cpus": lambda text: cpus_of_tres(text) if _TRES_CPUS.search(text) else np.nan,
}
#: Kilobytes, or plain numbers, per unit of a quantity of Kubernetes.
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([numkKMGTP]?i?)")
_BINARY = {"": 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_DECIMAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def _quantity(text: str) -> float:
    """Return the sum of quantities such as ``500m`` or ``4Gi``, with commas between; nan if invalid."""
    total = 0.0
    for part in text.split(","):
        match = _QUANTITY.fullmatch(part.strip())
        factor = (_BINARY | _DECIMAL).get(match[2]) if match else None
        if match is None or factor is None:
            return np.nan
        total += float(match[1]) * factor
    return round(total, 9)


def _items(text: str) -> float:
    """Return how many parts a list has, with commas between."""
    return float(text.count(",") + 1) if text else np.nan


_OF_TEXT |= {"quantity": _quantity, "items": _items}
#: Functions that read the numbers of a column, by their names in column maps.
PARSERS: dict[str, Callable[[TextArray], FloatArray]] = {
    "number": numbers,
    **{name: partial(of_each, function=function) for name, function in _OF_TEXT.items()},
}


def submit_lines(texts: TextArray, nodes: FloatArray) -> tuple[dict[str, FloatArray], dict[str, TextArray]]:
    """Return the requests in command lines, as numbers and as texts.

    The numbers are:

    ``told_nodes``
        From ``-N``, or from ``-n`` and ``--ntasks-per-node``; 0: tasks go anywhere, nan: no line.
    ``task_cores``
        From ``-c``, else 1.
    ``told_gpus``
        On `nodes` nodes.
    ``told_cores``
        From ``-N``, ``-n``, ``-c`` and ``--ntasks-per-node``.
    ``told_nice``
        From ``--nice``, else 0.
    ``told_most``
        The larger number of ``-N 2-4``, else 0.
    ``told_tasks``
        From ``-n``, else 0. Also 0 if tasks are counted per node.
    ``told_by_tasks``
        1 if the nodes follow from ``--ntasks-per-node`` without ``-N``.

    The texts are:

    ``memory_by``
        ``core`` or ``node``.
    ``told_limit``
        Limit on running tasks of an array.
    ``told_types``
        Of GPUs, as :func:`gpu_types`.
    ``exclusive``
        ``yes``, or the value of ``--exclusive=``.
    ``other_options``
        Options that are not read.

    Further texts are those of ``--reservation``, ``--qos``, ``--constraint``, ``--licenses`` and ``--switches``.
    """
    codes, lines = pd.factorize(texts)
    rows = [_submit_line(line) for line in lines.tolist()]
    names = (
        "told_nodes",
        "task_cores",
        "all_gpus",
        "node_gpus",
        "told_cores",
        "told_nice",
        "told_most",
        "told_tasks",
        "told_by_tasks",
    )
    values = {name: np.array([row[0][at] for row in rows], dtype=np.float64)[codes] for at, name in enumerate(names)}
    words = {
        name: np.array([row[1][name] for row in rows], dtype=object)[codes]
        for name in (*_TEXTS, "memory_by", "exclusive", "told_types", "other_options")
    }
    every = values.pop("all_gpus")
    each = values.pop("node_gpus")
    values["told_gpus"] = np.where(np.isnan(every), each * np.maximum(nodes, 1), every)
    return values, words


def _submit_line(line: str) -> tuple[tuple[float, ...], dict[str, str]]:
    asked, cores, every, each = (pattern.search(line) for pattern in (_ASKED, _CORES, _GPUS, _GPUS_A_NODE))
    by, alone, tasks, each_node = (pattern.search(line) for pattern in (_MEMORY_BY, _EXCLUSIVE, _TASKS, _TASKS_A_NODE))
    nice, ranged = _NICE.search(line), _RANGE_OF_NODES.search(line)
    nodes = min(int(asked[1]), MOST_PROCESSORS) if asked else 0
    of_task = max(int(cores[1]), 1) if cores else 1
    count = int(tasks[1]) if tasks else max(nodes, 1) * (int(each_node[1]) if each_node else 1)
    by_tasks = False
    if tasks and each_node and not nodes and int(each_node[1]) and not int(tasks[1]) % int(each_node[1]):
        nodes, by_tasks = min(int(tasks[1]) // int(each_node[1]), MOST_PROCESSORS), True
    numbers_ = (
        nodes if line else np.nan,
        of_task,
        int(every[1]) if every else np.nan,
        int(each[1] or 1) if each else 0,
        min(count * of_task, MOST_PROCESSORS) if line else np.nan,
        int(nice[1] or _NICE_ALONE) if nice else 0,
        max(int(ranged[1]), nodes) if ranged else 0,
        int(tasks[1]) if tasks and not each_node else 0,
        by_tasks,
    )
    texts = {name: match[1] if (match := pattern.search(line)) else "" for name, pattern in _TEXTS.items()}
    texts["memory_by"] = ("core" if by[1] else "node") if by else ""
    texts["exclusive"] = (alone[1] or "yes") if alone else ""
    others = _OTHERS.findall(line.partition(" --wrap")[0])
    return numbers_, texts | {"told_types": gpu_types(line), "other_options": " ".join(dict.fromkeys(others))}
