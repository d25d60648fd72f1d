"""Results in the formats of other tools. The tools read them, or their documentation is followed."""

import gzip
import itertools
import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from patience import PATIENCE

from hpcdispatch.base import InputError
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload, generate, read

#: Reads jobs with evalys. Prints the processors of each, and the summary of all.
EVALYS = """
import json, sys, warnings
warnings.simplefilter("ignore")
from evalys.jobset import JobSet
jobs = JobSet.from_csv(sys.argv[1])
held = {row.jobID: [list(part) for part in map(sorted, [row.allocated_resources])][0] for row in jobs.df.itertuples()}
print(json.dumps({"held": held, "busiest": int(jobs.utilisation.load.max()), "queued": int(jobs.queue.load.max())}))
"""


def job(number, submit, runtime, cores, slots=1, **fields):
    return Job(str(number), submit, runtime, 2 * runtime, nodes=slots, per_node={"core": cores}, **fields)


@pytest.fixture(scope="module")
def pool():
    workload = generate("lublin", jobs=200, processors=32, users=7, load=0.9, seed=4)
    jobs = [replace(job, walltime=max(1, job.runtime // 2)) if int(job.id) % 9 == 0 else job for job in workload.jobs]
    return simulate(replace(workload, jobs=jobs), "easy", overrun="resubmit")


@pytest.fixture(scope="module")
def nodes():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, 80), rng.choice([1, 2, 4], 80), rng.integers(50, 4000, 80)
    jobs = [
        job(n, 150 * n + 7, int(run), int(cores), int(slots))
        for n, (slots, cores, run) in enumerate(zip(*sizes, strict=True))
    ]
    return simulate(Workload(jobs, Machine.homogeneous(5, core=4)), "easy")


EDGES = {"none": [], "rejected": [job(0, 5, 9, 99)], "one of two": [job(0, 5, 9, 1, user="a b"), job(1, 6, 9, 99)]}


@pytest.fixture(params=EDGES)
def edge(request):
    return simulate(Workload(EDGES[request.param], Machine.pool(4)), "fcfs")


@pytest.mark.parametrize("name", ["out.swf", "out.swf.gz"])
def test_swf_is_read_back(tmp_path, pool, name):
    pool.to_swf(tmp_path / name)
    found = read(tmp_path / name)
    jobs = pool.jobs[pool.jobs["run"] > 0]
    assert found.machine.capacity.tolist() == [[32]]
    frame = found.frame()
    for column in ("id", "submit", "walltime"):
        assert frame[column].tolist() == jobs[column].tolist()
    assert frame["runtime"].tolist() == jobs["run"].tolist()
    assert found.columns.amounts("core").tolist() == jobs["units"].tolist()
    assert found.records["wait"].tolist() == jobs["wait"].tolist()
    assert set(found.records["status"]) == {1}
    assert found.columns.user.categories().astype(str).tolist() == jobs["user"].astype(str).tolist()


def test_swf_has_every_job(tmp_path, edge):
    edge.to_swf(tmp_path / "out.swf")
    lines = (tmp_path / "out.swf").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith(";")]
    assert [row[0] for row in rows] == edge.jobs["id"].tolist()
    for row, status in zip(rows, edge.jobs["status"], strict=True):
        assert row[10] == {"completed": "1", "rejected": "5"}[status]
        assert (row[2] == row[4] == "-1") == (status == "rejected")
    assert not any("a b" in row for row in rows)


def test_swf_needs_its_suffix(tmp_path, pool):
    with pytest.raises(InputError, match=r"to_swf: expected a name ending in .swf or .swf.gz, got '.*out.csv'"):
        pool.to_swf(tmp_path / "out.csv")


@pytest.fixture(scope="module")
def evalys(tmp_path_factory):
    """Install evalys by itself, as it brings a package called tests. Return the environment with it."""
    folder = tmp_path_factory.mktemp("evalys")
    packages = ["evalys", "procset", "seaborn"]
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["pool", "nodes"])
def test_evalys_reads_the_jobs(tmp_path, kind, request, evalys):
    result = request.getfixturevalue(kind)
    result.to_evalys(tmp_path / "jobs.csv")
    command = [sys.executable, "-c", EVALYS, tmp_path / "jobs.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=evalys)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    stays = result.attempts
    assert len(found["held"]) == len(stays)
    assert any("#1" in name for name in found["held"]) == (kind == "pool")
    firsts = stays.drop_duplicates("id").set_index("id")
    assert {name: len(held) for name, held in found["held"].items() if "#" not in name} == firsts["units"].to_dict()
    assert found["busiest"] <= {"pool": 32, "nodes": 20}[kind]
    if kind == "nodes":
        for name, held in found["held"].items():
            assert {unit // 4 for unit in held} == set(firsts["placement"][name])


@pytest.mark.parametrize("kind", ["pool", "nodes"])
def test_no_two_jobs_hold_the_same_unit(tmp_path, kind, request):
    request.getfixturevalue(kind).to_evalys(tmp_path / "jobs.csv.gz")
    table = pd.read_csv(tmp_path / "jobs.csv.gz")
    held = defaultdict(list)
    for row in table.itertuples():
        parts = [part.partition("-") for part in str(row.allocated_resources).split()]
        units = [unit for low, _, high in parts for unit in range(int(low), int(high or low) + 1)]
        assert len(units) == row.requested_number_of_resources
        for unit in units:
            held[unit].append((row.starting_time, row.finish_time))
    for stays in held.values():
        stays.sort()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(stays))
    assert (table["finish_time"] - table["starting_time"] == table["execution_time"]).all()
    assert (table["turnaround_time"] == table["waiting_time"] + table["execution_time"]).all()


def test_evalys_has_the_jobs_that_ran(tmp_path, edge):
    edge.to_evalys(tmp_path / "jobs.csv")
    table = pd.read_csv(tmp_path / "jobs.csv")
    assert table["job_id"].astype(str).tolist() == edge.jobs.loc[edge.jobs["start"] >= 0, "id"].tolist()


@pytest.mark.parametrize("kind", ["pool", "nodes"])
def test_perfetto_has_a_slice_for_each_node_of_a_job(tmp_path, kind, request):
    result = request.getfixturevalue(kind)
    result.to_perfetto(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    slices = [event for event in events if event["ph"] == "X"]
    expected = sum(len(set(nodes)) for nodes in result.attempts["placement"])
    assert len(slices) == expected
    by_track = defaultdict(list)
    for event in slices:
        assert {"name", "cat", "pid", "tid", "ts", "dur", "args"} <= set(event)
        assert event["dur"] > 0
        by_track[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert set(by_track) == set(tracks)
    for spans in by_track.values():
        spans.sort()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans)), "slices must not overlap"
    assert len({name.partition(" (")[0] for name in tracks.values()}) == {"pool": 1, "nodes": 5}[kind]
    first = result.jobs["submit"].min()
    starts = {(event["name"], event["ts"]) for event in slices if "#" not in event["name"]}
    stays = result.attempts.drop_duplicates("id")
    assert starts == {
        (f"job {id_}", (start - first) * 10**6) for id_, start in zip(stays["id"], stays["start"], strict=True)
    }


def test_perfetto_counts_jobs(tmp_path, nodes):
    nodes.to_perfetto(tmp_path / "trace.json.gz")
    events = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["traceEvents"]
    for name in ("waiting jobs", "running jobs"):
        counts = [(event["ts"] // 10**6, event["args"]["jobs"]) for event in events if event["name"] == name]
        assert counts[-1][1] == 0
        assert min(count for _, count in counts) == 0
        area = sum(count * (later - time) for (time, count), (later, _) in itertools.pairwise(counts))
        jobs = nodes.jobs
        assert area == (jobs["wait"] if name == "waiting jobs" else jobs["end"] - jobs["start"]).sum()


def test_perfetto_takes_any_result(tmp_path, edge):
    edge.to_perfetto(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == len(edge.attempts)
