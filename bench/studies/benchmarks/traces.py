"""The workloads of the engine's benchmark, and the two files that both simulators read."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from oracles.stock_accasim import on_one_core_nodes

from ....workloads import Job, Machine, Provenance, Workload, generate, read
from ....workloads.fetching import at_hand
from ....workloads.job import ResourceMap
from ....workloads.sources import resolve

KTH = "KTH-SP2-1996-2.swf.gz"
CTC = "CTC-SP2-1996-3.1-cln.swf.gz"
HPC2N = "HPC2N-2002-2.2-cln.swf.gz"
RICC = "RICC-2010-2.swf.gz"
THETA = "theta-2022.swf.gz"
#: Cores of machines if the header does not say and recorded starts give a wrong number.
MACHINES = {RICC: 8192}


def named_trace(name: str) -> Workload:
    """Return a trace by its file, also in HPCDISPATCH_DATA, or by its name. ``:START:STOP`` gives only these jobs."""
    file, *bounds = name.rsplit(":", 2)
    if len(bounds) != 2 or not all(bound.isdecimal() for bound in bounds):
        file, bounds = name, []
    path = at_hand(file) or resolve(file).file()
    cores = MACHINES.get(path.name)
    workload = read(path, None if cores is None else Machine.pool(cores))
    return workload.slice(*map(int, bounds)) if bounds else workload


def trace_or_generated(trace: Path | None, jobs: int | None) -> Workload:
    """Return the first `jobs` jobs of a trace, or of a generated workload of 100 processors, on one-core nodes."""
    if trace is None:
        workload = generate("lublin", jobs=jobs or 20_000, processors=100, load=0.7, seed=1)
    else:
        workload = read(trace)
        workload = workload if jobs is None else workload.head(jobs)
    return on_one_core_nodes(workload)


def theta_like(jobs: int = 5000, load: float = 0.9, seed: int = 0) -> Workload:
    """Sample whole-node jobs for a Theta-like machine: 4,392 nodes of 64 cores, jobs of 128 to 1,024 nodes.

    Sizes are multiples of 64, small ones the most frequent. Run times are log-normal around 70 minutes, between 2
    minutes and 24 hours. Users request 1.1 to 4 times that, rounded up to half hours. Arrivals are Poisson.

    Parameters
    ----------
    jobs
        How many.
    load
        Offered load, node-seconds over capacity.
    seed
        Of the random numbers.
    """
    rng = np.random.default_rng(seed)
    machine = Machine.homogeneous(4392, core=64, name="Theta-like")
    nodes = 64 * np.round(np.exp(rng.uniform(np.log(2), np.log(16), jobs))).astype(np.int64)
    runtime = np.clip(np.exp(rng.normal(np.log(4200), 1.0, jobs)), 120, 86_400).astype(np.int64)
    walltime = 1800 * np.ceil(runtime * rng.uniform(1.1, 4.0, jobs) / 1800).astype(np.int64)
    walltime = np.maximum(np.minimum(walltime, 86_400), runtime)
    span = float((nodes * runtime).sum()) / (load * machine.nodes)
    submit = np.sort(rng.uniform(0, span, jobs)).astype(np.int64)
    whole = ResourceMap(core=64)
    columns = (column.tolist() for column in (submit, runtime, walltime, nodes))
    return Workload(
        tuple(
            Job(str(number), arrival, run, asked, size, whole)
            for number, (arrival, run, asked, size) in enumerate(zip(*columns, strict=True), 1)
        ),
        machine,
        Provenance(f"theta_like(jobs={jobs}, load={load}, seed={seed})"),
    )


def lay_end_to_end(trace: Path, records: int, target: Path) -> None:
    """Repeat an SWF trace until there are `records`, with an hour between its last and its first.

    The records are numbered anew. All else is unchanged, also the header.
    """
    stored = trace.read_bytes()
    lines = (gzip.decompress(stored) if trace.suffix == ".gz" else stored).decode("utf-8").splitlines()
    fields = [line.split() for line in lines if line.strip() and not line.startswith(";")]
    span = int(fields[-1][1]) + 3600
    with target.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines if line.startswith(";"))
        for number in range(records):
            times, row = divmod(number, len(fields))
            _, submit, *others = fields[row]
            file.write(" ".join([str(number + 1), str(int(submit) + times * span), *others]) + "\n")
