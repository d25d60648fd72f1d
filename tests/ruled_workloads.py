"""Random workloads under random rules, and the EASY dispatcher of the docs."""

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from hpcdispatch.workloads import Checkpoint, Job, Limit, Machine, Outage, Power, Reservation, Shape, Workload

ROOT = Path(__file__).parents[1]


def written_dispatcher():
    """Return the EASY dispatcher of the docs."""
    text = (ROOT / "docs/reference/plugins.md").read_text(encoding="utf-8")
    lines = re.search(r">>> class Backfilling:\n((?:\.\.\. .*\n)+)", text).group(1).splitlines()
    assert len(lines) < 25
    space = {}
    exec("class Backfilling:\n" + "\n".join(line[4:] for line in lines), space)
    return space["Backfilling"]


def ruled(seed):
    """Return a random workload under a random set of rules, an hourly cap among them."""
    g = random.Random(seed)
    kind = g.choice(["pool", "nodes", "mixed"])
    machine = {
        "pool": Machine.pool(16),
        "nodes": Machine.homogeneous(6, core=2),
        "mixed": Machine(("core", "gpu"), np.array([[4, 0], [4, 2], [2, 0], [2, 1]])),
    }[kind]
    length = g.randint(10, 40)
    reserved = [Reservation(g.randint(50, 200), 400, every=None)] if g.random() < 0.2 else []
    if g.random() < 0.6:
        begin = g.randint(20, 200)
        nodes = "all" if kind == "pool" or g.random() < 0.5 else [0, 1]
        amounts = {"core": 1 if kind != "pool" else 5} if g.random() < 0.4 else None
        name = g.choice(["", "r"])
        reserved = [Reservation(begin, begin + length, nodes, name, amounts, every=g.choice([None, length + 150]))]
    machine = replace(
        machine,
        reservations=reserved,
        outages=[Outage(300, 330, [0], announced=g.random() < 0.5, requeue=True)] if g.random() < 0.3 else [],
        licences={"x": 3} if g.random() < 0.5 else {},
        limits=[Limit(g.randint(1, 4), by="user")] if g.random() < 0.5 else [],
        power=Power({"core": 10}, idle=5, cap=((0, 200), (100, 90)), every=200) if g.random() < 0.5 else None,
    )
    jobs, submit = [], 0
    for number in range(g.randint(10, 40)):
        submit += g.choice([0, 0, 1, 5, 20, 60])
        walltime = g.randint(1, 90)
        job = Job(
            str(number),
            submit,
            g.choice([walltime, g.randint(0, walltime)]),
            walltime,
            g.randint(1, 4),
            {"core": g.randint(1, 2)} | ({"gpu": 1} if kind == "mixed" and g.random() < 0.3 else {}),
            g.choice(["u1", "u2"]),
            licences={"x": g.randint(1, 2)} if machine.licences and g.random() < 0.4 else {},
            reservation="r" if reserved and reserved[0].name and g.random() < 0.2 else "",
        )
        jobs.append(job)
    return Workload(tuple(jobs), machine)


def molded(seed):
    """Return a random workload under rules whose jobs have further shapes."""
    workload, g = ruled(seed), random.Random(seed)
    jobs = []
    for job in workload.jobs:
        shapes = [
            Shape(nodes, max(1, job.runtime * job.nodes // nodes), max(1, job.walltime * job.nodes // nodes))
            for nodes in range(1, 5)
            if nodes != job.nodes and g.random() < 0.6
        ]
        jobs.append(replace(job, shapes=tuple(shapes)))
    return Workload(tuple(jobs), workload.machine)


def urgent(seed):
    """Return a random workload under rules with some on-demand jobs, and batch jobs that write checkpoints."""
    workload, g = ruled(seed), random.Random(seed)
    jobs = []
    for job in workload.jobs:
        if g.random() < 0.25 and not job.reservation:
            jobs.append(replace(job, kind="on-demand", deadline=g.choice([0, 5, 20])))
        elif g.random() < 0.5:
            jobs.append(replace(job, checkpoint=Checkpoint(1.0, 1.0, interval=10)))
        else:
            jobs.append(job)
    return Workload(tuple(jobs), workload.machine)
