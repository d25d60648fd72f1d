"""Malformed output of Slurm sites, workloads in JSON lines, and requests."""

import json

from hpcdispatch.analysis.cluster_state import cluster_state
from hpcdispatch.analysis.partition_sizes import read_own_runs, read_requests
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.workloads import read_cluster
from hpcdispatch.workloads.slurm_conf import read_slurm_conf

from .inputs import DURATIONS, NUMBERS, TEXTS, changed, outcome

#: Between the two outputs in one input.
BETWEEN = b"\n====\n"
NAMES = (
    "n[1-4]",
    "n1",
    "n[01-03],m7",
    "n[4-1]",
    "n[1-99999999]",
    "n[1-" + "9" * 5000 + "]",
    "n[" + "0" * 4000 + "1-9]",
    "n[1-4",
    "n]",
    "",
    "ALL",
    "DEFAULT",
    "n[1-3]x[1-2]",
    ",",
    "n[1,,2]",
    "(null)",
    "n[-1]",
    "n" * 3000,
    "n[1-1000000]",
)
NODE = ("CPUs", "Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory", "Gres", "State")
PARTITION = ("Nodes", "MaxTime", "PriorityTier", "PriorityJobFactor", "Default")
SETTINGS = (
    "SchedulerParameters",
    "PriorityWeightAge",
    "PriorityMaxAge",
    "PriorityDecayHalfLife",
    "KillWait",
    "SelectType",
    "SelectTypeParameters",
    "PriorityCalcPeriod",
    "SchedulerType",
    "PriorityFavorSmall",
    "PriorityType",
)
LAWS = ("uniform", "truncnorm", "rv_histogram", "poisson", "levy_stable", "norm", "x")
GRES = ("gpu:2", "gpu:a100:4", "gpu:" + "9" * 400, "gpu:-1", "gpu", "gpu:a:b:c:1(S:0)", "mps:1,gpu:tesla:1")


def conf(rng):
    """Return a configuration, or what scontrol prints of one."""
    odd = (
        *NUMBERS,
        *DURATIONS,
        *GRES,
        *TEXTS,
        "bf_interval=" + rng.choice(NUMBERS),
        "bf_window=" + rng.choice(NUMBERS),
    )
    lines = ["NodeName=n[1-4] CPUs=16 RealMemory=64000 Gres=gpu:2", "PartitionName=a Nodes=n[1-3] MaxTime=1-0"]
    lines += [rng.choice(("NodeName=m7 Sockets=2 CoresPerSocket=4", "PartitionName=b Nodes=ALL Default=YES"))]
    lines += [f"{rng.choice(SETTINGS)} = {rng.choice(odd)}" for _ in range(rng.randrange(3))]
    for _ in range(rng.randrange(3)):
        kind, keys = rng.choice((("NodeName", NODE), ("PartitionName", PARTITION)))
        fields = [f"{rng.choice(keys)}={rng.choice((*odd, *NAMES))}" for _ in range(rng.randrange(3))]
        lines.append(" ".join([f"{kind}={rng.choice(NAMES)}", *fields]))
    if rng.random() < 0.02:
        lines.append(rng.choice("a\\=[") * 60_000)
    rng.shuffle(lines)
    return "\n".join([*lines, ""]).encode()


def read_conf(path):
    """Read a site, its machine, and the scheduler that it configures."""
    return read_slurm_conf(path).machine(), create_dispatcher(f"slurm:config={path}")


def cluster(rng):
    """Return the outputs of squeue and sinfo, of which values are others."""
    unset = {"set": False, "infinite": False, "number": 0}
    running = {
        "job_id": 7,
        "user_name": "ann",
        "account": "phys",
        "partition": "a",
        "submit_time": 1000,
        "start_time": 1500,
        "time_limit": {"set": True, "infinite": False, "number": 60},
        "nodes": "n[1-2]",
        "cpus": {"set": True, "number": 8},
        "job_state": ["RUNNING"],
        "array_job_id": 0,
        "array_task_id": unset,
        "array_task_string": "",
    }
    waiting = {
        **running,
        "job_id": 8,
        "job_state": "PENDING",
        "nodes": "",
        "array_task_string": rng.choice(("", "1-9%2")),
    }
    for job in (running, waiting):
        if rng.random() < 0.2:
            job["nodes"] = rng.choice(NAMES)
        if rng.random() < 0.2:
            job["array_task_string"] = rng.choice((*NAMES, *NUMBERS, "1-999999999%1", "1-" + "9" * 5000))
    version = {"major": "23", "minor": "02", "micro": "1"}
    meta = {"slurm": {"version": version}}
    squeue = {"meta": meta, "jobs": [running, waiting]}
    sinfo = {"meta": meta, "nodes": [{"name": f"n{n}", "cpus": 4, "state": ["IDLE"]} for n in (1, 2, 3)]}
    parts = [json.dumps(part).encode() if rng.random() < 0.4 else changed(rng, part) for part in (squeue, sinfo)]
    return BETWEEN.join(parts)


def read_states(path):
    """Read the running jobs. Make states from them, by nodes and by cores."""
    squeue, _, sinfo = path.read_bytes().partition(BETWEEN)
    files = path.with_name("squeue.json"), path.with_name("sinfo.json")
    for file, data in zip(files, (squeue, sinfo), strict=True):
        file.write_bytes(data)
    found = read_cluster(*files, 2000)
    return [outcome(lambda _, unit=unit: cluster_state(found, unit), path) for unit in ("node", "core")]


def jsonl(rng):
    """Return a workload in JSON lines, of which values are others."""
    header = {
        "format": "hpcdispatch-workload",
        "version": 1,
        "machine": {"resources": ["core", "gpu"], "capacity": [[16, 2], [8, 0]], "name": "m", "equivalence": {}},
        "provenance": {"source": "x", "options": {}, "header": [], "notes": [], "counts": {}},
        "records": {"queue": "int64"},
    }
    job = {
        "id": "1",
        "submit": 0,
        "runtime": 50,
        "walltime": 100,
        "nodes": 2,
        "per_node": {"core": 2},
        "user": "ann",
        "checkpoint": {"system_size": 4.0, "application_size": 4.0, "interval": 10},
        "record": [3],
        "kind": "on-demand",
        "law": {"name": rng.choice(LAWS), "args": [1, 2], "kwds": {}},
        "shapes": [{"nodes": 1, "runtime": 90, "walltime": 160, "per_node": None}],
        "deadline": 9,
    }
    lines = [json.dumps(header).encode() if rng.random() < 0.7 else changed(rng, header)]
    for number in range(rng.randint(1, 5)):
        here = {**job, "id": str(number), "submit": number}
        lines.append(json.dumps(here).encode() if rng.random() < 0.6 else changed(rng, here))
    return b"\n".join([*lines, b""])


def requests(rng):
    """Return requests of some sizes, or own runs, as CSV."""
    rows = [[rng.choice(NUMBERS) if rng.random() < 0.1 else str(2**n * 10) for _ in range(2)] for n in range(5)]
    header = rng.choice(("processors,walltime", "processors,time", "processors", "x,y"))
    return "\n".join([header, *map(",".join, rows), ""]).encode()


def read_sizes(path):
    """Read requests, and own runs."""
    return outcome(read_requests, path), outcome(read_own_runs, path)


#: What is drawn, the suffix of its file, and what reads it.
SITES = {
    "conf": (conf, ".conf", read_conf),
    "cluster": (cluster, ".json", read_states),
    "requests": (requests, ".csv", read_sizes),
}
