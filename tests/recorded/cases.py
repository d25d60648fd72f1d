"""Schedules that must not change: workloads, cases, and digests of records."""

import hashlib
import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from conftest import quick
from cross.cases import drawn_workload

from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.models.moldable import DowneyLaw
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Limit, Machine, Outage, Power, Reservation, Workload, generate, mold, read

#: The recorded digests, by case.
DIGESTS = Path(__file__).with_name("digests.json")
OVERRUNS = ("run", "kill", "resubmit")
#: Decision columns that the engine itself writes. The reports of a dispatcher have their own digest.
DECISIONS = ("time", "queued", "running", "started", "stopped", "rejected")
#: Dispatchers that need seconds per decision on long queues of unequal jobs.
SLOW_ON_LONG_QUEUES = {"cp", "hcp", "pcp", "pcp-fast", "pcp1", "pcp2", "pcp3", "portfolio", "sa"}
#: Dispatchers that are recorded with other options than their own.
SPECS = {"portfolio": "portfolio:of=fcfs+sjf,reference=fcfs,every=12h,window=1d,budget=1000"}
#: What `pcp` refuses, or simulates in minutes: an interval per job and node.
LEFT_OUT = {("pcp", "equal"), ("pcp", "on-demand")}
#: What other libraries or stored weights decide, which change with their versions.
LEARNED = ("policy", "sklearn")
#: Options under which a dispatcher takes another way through the code.
VARIANTS = (
    "easy:placement=best-fit",
    "easy:reserve_by=walltimes",
    "easy-sjbf:placement=best-fit",
    "fcfs:blocked=wait",
    "conservative:compress=never",
    "conservative:compress=once",
    "lookahead:blocked=0",
    "lookahead:patience=inf",
    "lookahead:patience=1.5",
    "rounds:move=never",
    "rounds:batch=20",
    "guarded:over=lxf",
    "cp:solver=none",
    "sa:over=easy",
    "portfolio:every=1d,window=3d,budget=3000",
)


class Case(NamedTuple):
    """One simulation: dispatcher (name or variant), workload name, overrun policy and predictor."""

    dispatcher: str
    workload: str
    overrun: str
    predictor: str


def burst(nodes: int, cores: int, count: int, seed: int) -> Workload:
    """Draw `count` jobs that arrive within half an hour, on `nodes` equal nodes. One in five overruns its walltime."""
    rng = np.random.default_rng(seed)
    machine = Machine(("core",), np.full((nodes, 1), cores))
    submits = np.sort(rng.integers(0, 1800, count))
    jobs = []
    for number, submit in enumerate(submits.tolist(), 1):
        walltime = int(rng.choice([600, 1800, 3600, 7200]))
        runtime = int(walltime * (rng.uniform(1, 1.6) if rng.random() < 0.2 else rng.uniform(0, 1) ** 2))
        size = int(min(2 ** rng.integers(0, 6), nodes if nodes > 1 else cores))
        slots, per_slot = (size, cores) if nodes > 1 else (1, size)
        job = Job(str(number), submit, runtime, walltime, slots, {"core": per_slot})
        jobs.append(replace(job, user=f"user{rng.integers(6)}", name=f"app{number % 5}"))
    return Workload(tuple(jobs), machine)


def ruled(workload: Workload) -> Workload:
    """Return a workload on its machine with rules. These are maintenance, an outage, user limits and a power cap."""
    machine, day = workload.machine, 86_400
    half = machine.resources[machine.primary], int(machine.capacity[:, machine.primary].sum()) // 2
    rules = replace(
        machine,
        reservations=(Reservation(2 * day, 2 * day + 7200, every=3 * day),),
        outages=(Outage(day, day + 3600, [0], announced=False, requeue=True),),
        limits=(Limit(half[1], of=half[0], by="user"), Limit(40, by="all")),
        power=Power({half[0]: 10.0}, idle=0.0, cap=18.0 * half[1]),
    )
    return Workload(workload.jobs, rules)


def part(workload: Workload, first: int, count: int) -> Workload:
    """Return `count` jobs of a workload, from its `first` one on."""
    return Workload(tuple(workload.jobs[first : first + count]), workload.machine)


WORKLOADS = {
    "pool": lambda: drawn_workload(11, "pool"),
    "pool-load": lambda: generate("lublin", jobs=300, processors=64, load=1.1, seed=5),
    "pool-burst": lambda: burst(1, 100, 700, 7),
    "equal": lambda: generate("accre", jobs=120, wide=12, nodes=16, interarrival=900.0, seed=3),
    "equal-burst": lambda: burst(48, 4, 500, 9),
    "mixed": lambda: drawn_workload(12, "nodes"),
    "mixed-shared": lambda: read(DIGESTS.with_name("mixed_shared.jsonl")),
    "moldable": lambda: mold(generate("lublin", jobs=60, processors=64, load=0.9, seed=6), DowneyLaw()),
    "stochastic": lambda: generate("stochastic", large=40, small_share=0.5, seed=2),
    "on-demand": lambda: part(generate("theta", days=4, seed=2), 0, 150),
}
#: Orders of the queue and of backfilling, and numbers of reservations.
ORDERED = (
    "easy:order=lxf,depth=3",
    "easy:depth=all,backfill=shortest",
    "easy:order=fairshare,backfill=f1",
    "easy:order=priority,strict=yes",
)
#: Predictors that would change those of all other cases. They have tests of their own.
UNRECORDED = ("scaled",)
#: Dispatchers after the variants. The predictors of the others then do not change.
NEWER = ("pcp-fast",)
#: A decision of it takes seconds.
SLOW = ("pcp21",)
#: Workloads that are long enough for the compiled event loop, with its dispatchers.
LONG = {
    "pool-long": (
        lambda: generate("lublin", jobs=10500, processors=128, load=0.9, seed=8),
        ("fcfs", "easy", "easy-sjbf", "sjf", "ljf", "lxf", "conservative", "rounds", "lookahead"),
    ),
    "equal-long": (
        lambda: generate("accre", jobs=10000, wide=500, nodes=40, interarrival=650.0, seed=8),
        ("fcfs", "easy", "easy-sjbf", "sjf", "ljf", "lxf"),
    ),
    "pool-weeks": (
        lambda: generate("lublin", jobs=2500, processors=64, load=0.9, seed=9),
        ("lookahead", "lookahead:patience=1.5", "guarded", "rounds", VARIANTS[-1]),
    ),
    "pool-ruled": (
        lambda: ruled(generate("lublin", jobs=300, processors=64, load=1.1, users=8, seed=12)),
        (*ORDERED, "fcfs", "easy", "lxf", "conservative", "lookahead", "hcp3", "rbs", "hybrid", "evict"),
    ),
    "equal-ruled": (
        lambda: ruled(burst(48, 4, 200, 9)),
        ("fcfs", "easy", "conservative", "lookahead", "hcp3", "pcp-fast"),
    ),
    "pool-ordered": (lambda: generate("lublin", jobs=600, processors=64, load=1.0, users=6, seed=13), ORDERED),
}


@cache
def workload(name: str) -> Workload:
    """Return a workload by its name."""
    return WORKLOADS[name]() if name in WORKLOADS else LONG[name][0]()


def cases() -> list[Case]:
    """Return all cases: `walltime` and one other predictor for each dispatcher, workload and overrun policy."""
    others = [name for name in predictors.names() if name not in ("walltime", *LEARNED, *UNRECORDED)]
    named = [name for name in dispatchers.names() if name not in (*NEWER, *SLOW, *LEARNED)]
    found = []
    for (row, spec), (column, name), (turn, overrun) in product(
        enumerate([*named, *VARIANTS, *NEWER]), enumerate(WORKLOADS), enumerate(OVERRUNS)
    ):
        if (name.endswith("burst") and spec.split(":")[0] in SLOW_ON_LONG_QUEUES) or (spec, name) in LEFT_OUT:
            continue
        other = others[(row + column + turn) % len(others)]
        found += [Case(spec, name, overrun, predictor) for predictor in ("walltime", other)]
    for name, (_, specs) in LONG.items():
        found += [
            Case(spec, name, overrun, predictor)
            for spec in specs
            for overrun, predictor in (("run", "walltime"), ("kill", "oracle"))
        ]
    return found


def digests(case: Case) -> list[str]:
    """Simulate a case. Return digests of jobs, attempts, decisions, and the dispatcher's own reports."""
    spec = case.dispatcher if ":" in case.dispatcher else SPECS.get(case.dispatcher, quick(case.dispatcher))
    dispatcher = create_dispatcher(spec, internal=True)
    result = simulate(workload(case.workload), dispatcher, case.predictor, overrun=case.overrun, seed=3)
    own = [column for column in result.decisions if column not in DECISIONS]
    jobs = result.jobs.drop(columns="eligible") if (result.jobs.eligible == result.jobs.submit).all() else result.jobs
    tables = (jobs, result.attempts, result.decisions[list(DECISIONS)], result.decisions[own])
    return [_digest(table) for table in tables]


def timed(case):
    """Return a case, its digests or its exception, and the seconds."""
    began = perf_counter()
    try:
        found = digests(case)
    except Exception as error:  # noqa: BLE001 - a case that raises is recorded by what it raises
        found = [f"{type(error).__name__}: {error}"[:200]]
    return case, found, perf_counter() - began


def _digest(table) -> str:
    """Return the digest of a table's values. The names of its columns do not count."""
    sha = hashlib.sha256()
    for position in range(table.shape[1]):
        for value in table.iloc[:, position].tolist():
            sha.update(_text(value).encode())
        sha.update(b"\n")
    return sha.hexdigest()[:12]


def _text(value) -> str:
    if isinstance(value, float):
        return f"{value:.9g},"
    return f"{value.tolist()}," if isinstance(value, np.ndarray) else f"{value},"


def recorded() -> dict[str, list[str]]:
    """Return the recorded digests, by case."""
    return json.loads(DIGESTS.read_text(encoding="utf-8")) if DIGESTS.is_file() else {}


def key(case: Case) -> str:
    """Return the name under which a case is recorded."""
    return " ".join(case)
