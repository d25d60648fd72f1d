"""Malformed inputs, drawn from a seed, and their readers."""

import gzip
import itertools
import json
import random
import re
import warnings
from collections import Counter

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import create as create_predictor
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.simulation import Overrun, PredictionWarning, UnheededWarning
from hpcdispatch.workloads import GENERATORS, Machine, TraceWarning, read
from hpcdispatch.workloads.formats import RunColumns, read_runs
from hpcdispatch.workloads.formats.trace_files import decode

#: The records of traces so far, of which none is lost.
COUNTED: Counter[str] = Counter()
#: Counts in a provenance that are not of records left out.
KEPT = (
    "walltime filled in",
    "rounded to seconds",
    "shapes larger than the machine",
    "records sorted",
    "jobs renumbered",
    "fields beyond 18",
    "with a preceding job",
    "preceding jobs not found",
    "counted by allocation",
    "started before submission",
    "counted from eligibility",
    "jobs without a limit",
    "jobs with the limit of their partition",
    "clocks put back",
)
NUMBERS = (
    "0",
    "-1",
    "1",
    "-0",
    "+5",
    "007",
    "1.5",
    "1e3",
    "1e9",
    "1e19",
    "1e300",
    "1e400",
    "-1e300",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "99999999999999999999P",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "NA",
    "None",
    "null",
    "",
    " ",
    "0x10",
    "1_000",
    "1,000",
    "1.2.3",
    "9" * 400,
    "9" * 5000,
    "\u0663",
    "½",
    "true",
    "1e-300",
    "4294967296",
    "2147483648",
    ".5",
    "5.",
    "--1",
    "1e",
    "e5",
)
TEXTS = (
    "",
    "a",
    "=cmd|' /C calc'!A0",
    "<b>x</b>",
    "a\u2028b",
    "\x0b",
    "\x1c",
    "\x85",
    "\ufeff",
    "🂡",
    "a|b",
    "a,b",
    'a"b',
    "a;b",
    "\t",
    "\r",
    "x" * 3000,
    "ß" * 40,
    "..",
    "/",
    "%s",
    "{}",
    "\\",
    "'",
    "Unknown",
    "None",
)
TIMES = (
    "Unknown",
    "None",
    "0001-01-01T00:00:00",
    "9999-12-31T23:59:59",
    "1969-12-31T23:59:59",
    "2024-02-30T00:00:00",
    "2024-01-01T25:00:00",
    "2024-01-01",
    "2262-04-12T00:00:00",
    "1704067200",
    "1e12",
    "-1",
    "2024-01-01T00:00:00Z",
    "",
)
DURATIONS = (
    "UNLIMITED",
    "Partition_Limit",
    "INVALID",
    "01:00:00",
    "1-00:00:00",
    "99999999999999999-00:00:00",
    "1-2",
    "00:00",
    "00:00:00.5",
    "-1:00",
    "99:99:99",
    "",
    "1:2:3:4",
    "9" * 400 + ":00",
)
AMOUNTS = ("4G", "4Gc", "4000Mn", "0", "0n", "1.2.3G", "9" * 20 + "P", ".", "4X", "", "?", "1e5G", "4 G", "16?", "-4G")
TRES = (
    "cpu=4",
    "cpu=4,gres/gpu=1",
    "gres/gpu=" + "9" * 400,
    "gres/gpu:a=2",
    "gres/gpu=-1",
    "gres/gpu=",
    "",
    "billing=1",
)
SACCT = {
    "JobID": ("1", "2", "3_1", "6_[9-4]", "6_[7]", "4.batch", "5+0", "", "9" * 400),
    "Submit": TIMES,
    "Start": TIMES,
    "End": TIMES,
    "ElapsedRaw": NUMBERS,
    "Elapsed": DURATIONS,
    "TimelimitRaw": NUMBERS,
    "Timelimit": DURATIONS,
    "NCPUS": NUMBERS,
    "ReqCPUS": NUMBERS,
    "NNodes": NUMBERS,
    "ReqMem": AMOUNTS,
    "AllocTRES": TRES,
    "ReqTRES": TRES,
    "User": TEXTS,
    "JobName": TEXTS,
    "Partition": TEXTS,
    "State": ("COMPLETED", "CANCELLED by 5", "FAILED", "", "RUNNING", "x"),
}
USUAL = {
    "Submit": "2024-01-01T00:00:00",
    "Start": "2024-01-01T00:00:10",
    "End": "2024-01-01T01:00:10",
    "ElapsedRaw": "3600",
    "Elapsed": "01:00:00",
    "TimelimitRaw": "120",
    "Timelimit": "02:00:00",
    "NCPUS": "4",
    "ReqCPUS": "4",
    "NNodes": "1",
    "ReqMem": "4G",
    "AllocTRES": "cpu=4",
    "ReqTRES": "cpu=4",
    "User": "ann",
    "JobName": "sim",
    "Partition": "batch",
    "State": "COMPLETED",
}


def mangled(rng: random.Random, data: bytes) -> bytes:
    """Return bytes of which some are flipped, left out or doubled."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not found:
            break
        at = rng.randrange(len(found))
        how = rng.randrange(4)
        if how == 0:
            found[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del found[at : at + rng.randint(1, 20)]
        elif how == 2:
            found[at:at] = found[at : at + rng.randint(1, 50)]
        else:
            found[at:at] = bytes([rng.choice(b"\0\r\n;|\"'[{=,#\xff\xef")])
    return bytes(found)


def swf(rng):
    header = [f"; {key}: {rng.choice(NUMBERS)}" for key in ("MaxProcs", "MaxNodes", "Computer") if rng.random() < 0.4]
    rows = []
    for number in range(1, rng.randint(1, 6) + 1):
        fields = [number, number * 10, 0, 60, 4, -1, -1, 4, 120, -1, 1, 1, 1, 1, 1, 1, -1, -1]
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            fields[rng.randrange(18)] = rng.choice(NUMBERS)
        if rng.random() < 0.05:
            fields = fields[: rng.randrange(18)] if rng.random() < 0.5 else [*fields, rng.choice(NUMBERS)]
        rows.append(" ".join(map(str, fields)))
    return "\n".join([*header, *rows, ""]).encode()


def sacct(rng):
    names = [name for name in SACCT if rng.random() < 0.9]
    rng.shuffle(names)
    lines = ["|".join(names)]
    for number in range(1, rng.randint(1, 6) + 1):
        usual = {"JobID": str(number), **USUAL}
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            name = rng.choice(list(SACCT))
            usual[name] = rng.choice(SACCT[name])
        lines.append("|".join(usual[name] for name in names))
    return "\n".join([*lines, ""]).encode()


def value(rng, depth=0):
    kind = rng.randrange(9)
    if kind == 0 and depth < 3:
        return [value(rng, depth + 1) for _ in range(rng.randrange(3))]
    if kind == 1 and depth < 3:
        return {rng.choice(("nodes", "core", "id", "x", "")): value(rng, depth + 1) for _ in range(rng.randrange(3))}
    numbers = (
        0,
        1,
        -1,
        1.5,
        2**53,
        2**62,
        2**63,
        10**30,
        1e300,
        -1e300,
        True,
        None,
        1e-300,
        float("nan"),
        float("inf"),
        7,
    )
    return rng.choice(numbers) if kind < 7 else rng.choice(TEXTS)


def changed(rng, base):
    """Return JSON in which some values are others."""
    found = json.loads(json.dumps(base))
    for _ in range(rng.randint(1, 3)):
        part = found
        while isinstance(part, dict | list) and part:
            key = rng.choice(list(part)) if isinstance(part, dict) else rng.randrange(len(part))
            if not isinstance(part[key], dict | list) or not part[key] or rng.random() < 0.3:
                if rng.random() < 0.1:
                    del part[key]
                else:
                    part[key] = value(rng)
                break
            part = part[key]
    text = json.dumps(found)
    return ("[" * 2000 + text if rng.random() < 0.01 else text).encode()


def machine(rng):
    groups = {"a": {"core": 16, "mem": 64}, "b": {"core": 8, "gpu": 2}}
    return changed(rng, {"groups": groups, "resources": {"a": 3, "b": 2}, "equivalence": {"processor": {"core": 1}}})


def scenario(rng):
    jobs = [
        {
            "id": "a",
            "nodes": 3,
            "elapsed": 100,
            "interval": 50,
            "system_size": 3.0,
            "write": 5,
            "ends": 60,
            "unsure": 0.2,
        },
        {"id": "b", "nodes": 2, "loss": 1.5, "system_checkpoint": 30},
    ]
    storage = {"aggregate": 250.0, "node": 0.7}
    return changed(rng, {"machine": {"nodes": 9, "name": "m"}, "storage": storage, "jobs": jobs})


def campaign(rng):
    number = rng.choice(NUMBERS)
    text = json.dumps(rng.choice(TEXTS))
    lines = [
        'dispatchers = ["fcfs", "easy"]',
        "seeds = 2",
        "jitter = 30",
        'overrun = "kill"',
        'warm_up = "5%"',
        f"seeds = {number}",
        f"jitter = [{number}]",
        f"dispatchers = {text}",
        f"warm_up = {text}",
        f"x = {number}",
        f"cell_budget = {{ seconds = {number} }}",
        f"cell_budget = {{ decisions = {number} }}",
        f'dispatchers = ["{option(rng)}"]',
        "x = " + "[" * 500 + "]" * 500,
        "seeds = 2024-13-45",
        "a.b.c = 1",
    ]
    top = rng.sample(lines[:5], 4) + rng.sample(lines[5:], rng.choice((0, 1, 1)))
    own = [
        f"head = {number}",
        f"slice = [0, {number}]",
        f"name = {text}",
        f"default_walltime = {number}",
        "lenient = true",
    ]
    table = ["[[workload]]", 'source = "lublin:jobs=10"', *rng.sample(own, rng.choice((0, 1)))]
    return "\n".join([*top, *table, ""]).encode()


def runs(rng):
    rows = [rng.choice((*NUMBERS, *DURATIONS, "60", "90", "1:30:00")) if rng.random() < 0.2 else "60" for _ in range(8)]
    header = rng.choice(("", "runtime\n", "a,runtime\n", "\ufeffruntime\n"))
    return (header + "\n".join(("x," if "," in header else "") + row for row in rows)).encode()


def table(rng):
    rows = [[rng.choice(NUMBERS) if rng.random() < 0.1 else str(n * 10 + 1) for _ in range(2)] for n in range(6)]
    return "\n".join(["size,time", *map(",".join, rows), ""]).encode()


def option(rng):
    registry = rng.choice((dispatchers, predictors, GENERATORS))
    name = rng.choice(registry.names())
    known = [known.name for known in registry.options(name)] or ["x"]
    some = [
        f"{rng.choice(known)}={rng.choice((*NUMBERS, 'easy', 'fcfs', 'none', 'a/b', 'core:1', 'over=easy'))}"
        for _ in range(rng.randint(0, 3))
    ]
    if rng.random() < 0.03:
        return "toptimal:over=" * rng.randint(1, 300) + "evict"
    return name + ":" * bool(some) + ",".join(some)


def read_option(path):
    spec = path.read_bytes().decode("utf-8", "replace")
    name = spec.partition(":")[0]
    if name in dispatchers.names():
        create_dispatcher(spec)
    elif name in predictors.names():
        create_predictor(spec)
    else:
        Overrun.parse(spec.replace(name, "resubmit", 1))


def read_trace(path, **options):
    """Read strictly, and leniently if that fails or by chance; see that no record is lost."""
    data = path.read_bytes()
    workload = strict = outcome(lambda where: read(where, **options), path)
    if strict is None or len(data) % 8 == 0:
        workload = outcome(lambda where: read(where, lenient=True, **options), path)
    if workload is None:
        assert strict is None, "lenient reading refuses what strict reading reads"
        return None
    counts = workload.provenance.counts
    left_out = sum(count for reason, count in counts.items() if reason not in KEPT)
    count = records(data, path)
    assert len(workload) + left_out == count, "records are lost"
    COUNTED["records"] += count
    return workload


def records(data, path):
    """Count the records of a trace, independently of what reads it."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if path.suffix in (".json", ".philly", ".batsim"):
        found = json.loads(decode(data))
        return len(found if isinstance(found, list) else found["jobs"])
    if path.suffix == ".records":
        text = decode(data).removeprefix("\ufeff")
        if text.lstrip().startswith("["):
            return len(json.loads(text))
        return sum(bool(line.strip()) for line in text.split("\n"))
    if path.suffix == ".items":
        found = json.loads(decode(data))
        return len(found["items"]) if isinstance(found.get("items"), list) else 1
    if path.suffix in (".qacct", ".ads"):  # blank lines are between ads, and in what qacct prints
        between = re.compile(r"={10,}\s*" if path.suffix == ".qacct" else r"\s*|\*\*\*.*|\.\.\.\s*")
        lines = [line.rstrip("\r") for line in decode(data).split("\n") if line.strip() or path.suffix == ".ads"]
        ends = [True, *(between.fullmatch(line) is not None for line in lines)]
        return sum(before and not end for before, end in itertools.pairwise(ends))
    if path.suffix == ".sge":
        return sum(bool(line.strip()) and not line.startswith("#") for line in decode(data).split("\n"))
    if path.suffix in (".pbs", ".lsf"):
        return sum(bool(line.strip()) for line in data.decode("utf-8", "replace").split("\n"))
    if path.suffix == ".csv":
        lines = re.split(r"\r\n|[\r\n]", data.decode("utf-8-sig", "replace"))
        return sum(bool(line.replace('""', "").strip(", \t")) for line in lines) - 1
    if ".jsonl" in path.name:
        return sum(bool(line.strip()) for line in data.decode("utf-8", "replace").split("\n")) - 1
    if ".swf" in path.name:
        return sum(bool(line.partition(b";")[0].split()) for line in data.removeprefix(b"\xef\xbb\xbf").splitlines())
    return sum(bool(line.strip()) for line in data.decode("utf-8", "replace").split("\n")[1:])


def outcome(function, path):
    """Return the result of a reader for a file, ``None`` for an error of one short line. Other errors are findings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", TraceWarning)
        warnings.filterwarnings("ignore", ".* did not bound all waits")
        warnings.filterwarnings("ignore", ".* was never fitted", PredictionWarning)
        warnings.filterwarnings("ignore", ".* the machine has no levels", UnheededWarning)
        try:
            return function(path)
        except InputError as error:
            text = str(error)
            assert text, "an error without words"
            assert "\n" not in text, "an error of several lines"
            assert text.isprintable(), "an error that is not printable"
            assert len(text) <= 1000, f"an error of {len(text):,} letters"
            return None


def read_machine(path):
    return Machine.from_file(path)


def read_table(path):
    return read_runs(path, RunColumns("size", "time"))
