"""What the first answer of a site costs: from an export folder with many accounting records to ``what-if``.

``python -m hpcdispatch.bench.studies.benchmarks.export_folder`` writes an export as ``hpcdispatch slurm export`` does,
and calls ``hpcdispatch what-if --site`` on it in a process of its own. ``--records N`` sets the number of records.
``--keep DIR`` keeps the folder. The waits of its jobs come from EASY on the same machine. ``--small`` is a smoke test.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from ....base import InputError
from ....simulation import simulate
from ....workloads import Machine, Workload, generate
from ....workloads.job import ResourceMap
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show

#: Nodes of the site, and the cores of each.
NODES, CORES = 128, 32
#: Records of 30 days.
A_MONTH, DAYS = 100_000, 30
#: Begin of the records, seconds since 1970.
_BEGIN = 1_790_000_000
_HEADER = (
    "JobID|User|Account|Partition|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|ReqNodes|NNodes|NCPUS|ReqTRES|"
    "AllocTRES|State|NodeList|Reservation|QOS|Constraints|SubmitLine"
)
_CONFIG = f"""ClusterName=many
SchedulerType=sched/backfill
SchedulerParameters=bf_continue,bf_interval=60
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/multifactor
PriorityWeightFairshare=10000
PriorityWeightAge=1000
PriorityWeightQOS=2000
AccountingStorageEnforce=associations,limits,qos
NodeName=n[1-{NODES}] CPUs={CORES} RealMemory=64000
PartitionName=batch Nodes=ALL MaxTime=5-0 Default=YES
PartitionName=short Nodes=ALL MaxTime=1:00:00 PriorityTier=2
"""
_QUALITIES = "Name|Priority|MaxTRESPU\nnormal|0|\nhigh|10|cpu=2048\n"
#: Accounts, and users of each.
_ACCOUNTS, _USERS = 8, 12


def write_export(folder: Path, records: int, seed: int = 1) -> None:
    """Write an export folder with so many records, their waits from EASY."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "jobs.sacct").open("w", encoding="utf-8") as file:
        file.write(f"{_HEADER}\n")
        file.writelines(f"{line}\n" for line in _records(records, seed))
    tree = ["Cluster|Account|User|ParentName|Share", "many|root|||1"]
    tree += [f"many|a{account}||root|{1 + account}" for account in range(_ACCOUNTS)]
    tree += [f"many|a{user % _ACCOUNTS}|u{user}||1" for user in range(_ACCOUNTS * _USERS)]
    texts = {"site.txt": _CONFIG, "qos.txt": _QUALITIES, "assoc.txt": "\n".join([*tree, ""])}
    texts |= {
        "reservations.txt": "No reservations in the system\n",
        "now": f"{_BEGIN + DAYS * 86400 * records // A_MONTH}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _records(records: int, seed: int) -> Iterator[str]:
    """Yield the line of each job."""
    workload = _on_nodes(
        generate("lublin", jobs=records, processors=NODES * CORES, load=0.8, users=_ACCOUNTS * _USERS, seed=seed)
    )
    result = simulate(workload, "easy", overrun="kill")
    places = result.attempts.set_index("id")["placement"]
    table = result.jobs
    times = [(table[name].to_numpy(np.int64) + _BEGIN).tolist() for name in ("start", "end")]
    printed = _BEGIN + workload.jobs[-1].submit  # Then some jobs run, and others wait.
    for number, (job, start, end) in enumerate(zip(workload.jobs, *times, strict=True), 1):
        cores = job.nodes * job.per_node["core"]
        had = np.unique(places[job.id])
        nodes, listed = len(had), "n[" + ",".join(str(place + 1) for place in had) + "]"
        user = int(job.user) % (_ACCOUNTS * _USERS)
        submit = _BEGIN + job.submit
        minutes = -(-job.walltime // 60)
        partition = "short" if minutes <= 60 and number % 3 == 0 else "batch"
        quality = "high" if number % 11 == 0 else "normal"
        tres = f"billing={cores},cpu={cores},node={nodes}"
        asked = f"-N {nodes} --ntasks-per-node={CORES}" if job.per_node["core"] == CORES else f"-n {cores}"
        state, begun, ended, ran = "COMPLETED", str(start), str(end), end - start
        if start >= printed:
            state, begun, ended, ran, listed = "PENDING", "Unknown", "Unknown", 0, "None assigned"
        elif end > printed:
            state, ended, ran = "RUNNING", "Unknown", printed - start
        yield (
            f"{number}|u{user}|a{user % _ACCOUNTS}|{partition}|{submit}|{submit}|{begun}|{ended}|{ran}|{minutes}|"
            f"{nodes if '-N' in asked else 1}|{nodes}|{cores}|{tres}|{tres}|{state}|{listed}||{quality}||"
            f"sbatch -p {partition} -q {quality} -t {minutes} {asked} run{number % 500}.sh"
        )


def _on_nodes(workload: Workload) -> Workload:
    """Return the jobs on the nodes of the site, with all times shorter.

    :data:`A_MONTH` of them arrive in :data:`DAYS` days. Jobs of some nodes take whole ones.
    """
    span = workload.columns.submit.max() - workload.columns.submit.min()
    factor = DAYS * 86400 * len(workload) / A_MONTH / span
    primary = workload.machine.resources[workload.machine.primary]
    jobs = []
    for job in workload.jobs:
        walltime = 60 * max(1, round(job.walltime * factor / 60))
        runtime = min(walltime, max(1, round(job.runtime * factor)))
        cores = job.nodes * job.per_node[primary]
        nodes, each = (cores // CORES, CORES) if cores >= CORES else (cores, 1)
        jobs.append(
            replace(
                job,
                submit=int(job.submit * factor),
                walltime=walltime,
                runtime=runtime,
                nodes=nodes,
                per_node=ResourceMap({"core": each}),
            )
        )
    machine = Machine(("core",), np.full((NODES, 1), CORES))
    return replace(workload, jobs=tuple(jobs), machine=machine, records=None)


def first_answer(folder: Path, *more: str) -> tuple[float, float, str]:
    """Return the elapsed and the CPU seconds of ``what-if`` on a folder, and its answer."""
    program = "import sys; from hpcdispatch.cli import main; main()"
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    arguments = [sys.executable, "-c", program, "what-if", "--site", str(folder), *more]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=dict(os.environ))
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise InputError(f"what-if: ended with code {done.returncode} and said: {done.stderr.strip()[-300:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, cpu, done.stdout.strip().splitlines()[-1]


@click.command(help=__doc__)
@click.option("--records", type=click.IntRange(100), default=100_000, show_default=True, help="Of the export.")
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False), help="Keep the export in this folder.")
@click.option("--small", is_flag=True, help="A few records.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line(InputError)
def main(records: int, keep: Path | None, small: bool, as_markdown: bool) -> None:
    """Print the table."""
    records = 300 if small else records
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        if not (folder / "jobs.sacct").exists():
            write_export(folder, records)
        more = ("--dispatchers", "slurm", "--repeats", "0") if small else ()
        took, cpu, told = first_answer(folder, *more)
    row = (f"{records:,}", f"{took:.1f}", f"{cpu:.1f}", "20", told)
    heads = ("records", "elapsed, s", "CPU, s", "wanted, CPU s", "its answer")
    show([Table("From an export folder to the first answer", heads, [row])], as_markdown)


if __name__ == "__main__":
    main()
