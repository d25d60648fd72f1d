"""What reading a trace costs: CPU time and peak memory of SWF and of the accounting of Slurm, PBS and Grid Engine.

Each has a process of its own.

``python -m hpcdispatch.bench.studies.benchmarks.reading`` prints a row per format. ``--jobs N`` sets the number of jobs
in the traces (a million). ``--small`` is a smoke test in seconds.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import click
import numpy as np

from ....workloads import read
from ...reports.tables import Table
from ..printed_tables import show
from .measurements import measured, peak_memory, run_module

SWF, SACCT, PBS, SGE = "trace.swf", "trace.sacct", "trace.pbs", "trace.sge"
#: Names of formats that a file does not show by its name.
_FORMATS = {PBS: "pbs", SGE: "sge"}
_HEADER = (
    "JobID|User|Group|Account|Partition|Submit|Eligible|Start|End|ElapsedRaw|Timelimit|NNodes|NCPUS|ReqMem|AllocTRES|"
    "ReqTRES|State|JobName|NodeList|SubmitLine"
)
_BEGIN = datetime(2025, 1, 1)


def write_traces(folder: Path, jobs: int) -> None:
    """Write the same jobs as SWF, as output of ``sacct``, and as logs of PBS and Grid Engine; 65 to 700 bytes each."""
    for name, lines in ((SWF, swf_lines(jobs)), (SACCT, _sacct(jobs)), (PBS, _pbs(jobs)), (SGE, _sge(jobs))):
        with (folder / name).open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def _rows(jobs: int) -> Iterator[tuple[int, ...]]:
    """Yield number, submission, wait, run time, cores and user of each job."""
    rng = np.random.default_rng(1)
    submit = np.cumsum(rng.integers(0, 60, jobs))
    columns = (submit, rng.integers(0, 5000, jobs), rng.integers(30, 20_000, jobs), 2 ** rng.integers(0, 5, jobs))
    users = rng.integers(0, 300, jobs)
    for number, row in enumerate(zip(*(column.tolist() for column in (*columns, users)), strict=True), 1):
        yield (number, *row)


def swf_lines(jobs: int) -> Iterator[str]:
    """Yield the lines of an SWF file, about 65 bytes each."""
    yield "; MaxProcs: 100000"
    for number, submit, wait, run, cores, user in _rows(jobs):
        yield f"{number} {submit} {wait} {run} {cores} {run}.5 -1 {cores} {run + 3600} -1 1 {user} 1 7 1 -1 -1 -1"


def _sacct(jobs: int) -> Iterator[str]:
    yield _HEADER
    for number, submit, wait, run, cores, user in _rows(jobs):
        arrival, start, end = (
            (_BEGIN + timedelta(seconds=at)).isoformat() for at in (submit, submit + wait, submit + wait + run)
        )
        tres = f"billing={cores},cpu={cores},mem=8G,node=1"
        yield (
            f"{number}|u{user}|g{user % 9}|a{user % 30}|cpu|{arrival}|{arrival}|{start}|{end}|{run}|"
            f"{run // 3600 + 1:02d}:00:00|1|{cores}|8G|{tres}|{tres}|COMPLETED|job{number % 5000}|n{number % 400}|"
            f"sbatch -n {cores} run{number % 5000}.sh"
        )


def _pbs(jobs: int) -> Iterator[str]:
    for number, submit, wait, run, cores, user in _rows(jobs):
        arrival = int(_BEGIN.timestamp()) + submit
        node, start = f"n{number % 400}", arrival + wait
        end = datetime.fromtimestamp(start + run).strftime("%m/%d/%Y %H:%M:%S")
        yield (
            f'{end};E;{number}.server;user=u{user} group=g{user % 9} account="a{user % 30}" '
            f"project=_pbs_project_default jobname=job{number % 5000} queue=q{user % 5} "
            f"ctime={arrival} qtime={arrival} "
            f"etime={arrival} start={start} exec_host={node}/0*{cores} "
            f"exec_vnode=({node}:ncpus={cores}:mem=8388608kb) "
            f"Resource_List.mem=8gb Resource_List.mpiprocs={cores} Resource_List.ncpus={cores} Resource_List.nodect=1 "
            f"Resource_List.place=scatter Resource_List.select=1:ncpus={cores}:mpiprocs={cores} "
            f"Resource_List.walltime={run // 3600 + 1:02d}:00:00 session=12345 end={start + run} Exit_status=0 "
            f"resources_used.cpupercent=99 resources_used.cput=00:10:00 resources_used.mem=12345kb "
            f"resources_used.ncpus={cores} resources_used.vmem=12345kb "
            f"resources_used.walltime={run // 3600:02d}:{run // 60 % 60:02d}:{run % 60:02d} run_count=1"
        )


def _sge(jobs: int) -> Iterator[str]:
    for number, submit, wait, run, cores, user in _rows(jobs):
        arrival = int(_BEGIN.timestamp()) + submit
        start = arrival + wait
        yield (
            f"all.q:n{number % 400}:g{user % 9}:u{user}:job{number % 5000}:{number}:sge:0:"
            f"{arrival}:{start}:{start + run}:0:0:{run}"
            f":1.0:2.0:0.0:0:0:0:0:1234:0:0:0:0:0:0:0:12:34:NONE:dep:mpi:{cores}:0:1234.5:12.3:0.1"
            f":-U x -l h_rt={3600 * (run // 3600 + 1)},h_vmem=4G -pe mpi {cores}:0.0:NONE:12345678.0:0:0"
        )


def read_once(answer: Path, trace: Path) -> None:
    """Read a trace, and write its cost as JSON."""
    workload, took = measured(lambda: read(trace, format=_FORMATS.get(trace.name)))
    answer.write_text(json.dumps({"jobs": len(workload), "cpu": took.cpu, "memory": peak_memory()}), encoding="utf-8")


@click.command()
@click.argument("answer", required=False, type=click.Path(path_type=Path))
@click.option("--trace", type=click.Path(path_type=Path), help="Read this trace once, for a file ANSWER.")
@click.option("--jobs", type=click.IntRange(100), default=1_000_000, show_default=True, help="Of each trace.")
@click.option("--small", is_flag=True, help="A few jobs.")
@click.option("--markdown", is_flag=True, help="Print a table for a page.")
def main(answer: Path | None, trace: Path | None, jobs: int, small: bool, markdown: bool) -> None:
    """Measure the reading of traces that are written for it."""
    if answer is not None and trace is not None:
        read_once(answer, trace)
        return
    jobs = 2_000 if small else jobs
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_traces(Path(folder), jobs)
        for name in (SWF, SACCT, PBS, SGE):
            path = Path(folder) / name
            cost = run_module("reading", "--trace", str(path))
            length = path.stat().st_size
            rows.append(
                (
                    name,
                    f"{cost['jobs']:,}",
                    f"{length / 1e6:,.1f}",
                    f"{cost['cpu']:.1f}",
                    f"{cost['memory']:,.0f}",
                    f"{cost['memory'] * 1e6 / length:.1f}",
                )
            )
    columns = ("trace", "jobs", "megabytes", "CPU, s", "peak memory, MB", "bytes of memory per byte of text")
    show([Table("Reading a trace", columns, rows)], markdown)


if __name__ == "__main__":
    main()
