"""Jobs of a GPU cluster in virtual clusters, shaped as Philly's, under FIFO and SJF and in a simulator of its own."""

import heapq
import json
from datetime import datetime, timedelta

import numpy as np
import pytest

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Machine, read

#: GPUs of each node, and the nodes of each virtual cluster.
GPUS = [8] * 9 + [2] * 6
CLUSTERS = {"vision": range(4), "speech": range(4, 9), "students": range(9, 15)}


class Reference:
    """Starts of jobs in order, each as soon as it fits in its virtual cluster, after all that are before it."""

    def __init__(self, jobs, key):
        self.jobs = jobs
        self.key = key
        self.free = list(GPUS)
        self.starts = {}
        self.places = {}

    def nodes_for(self, job):
        """Return a node for each slot: the largest first, each on the first node with room."""
        free = {node: self.free[node] for node in CLUSTERS[job["vc"]]}
        found = {}
        for slot in sorted(range(len(job["slots"])), key=lambda slot: -job["slots"][slot]):
            fits = [node for node, left in free.items() if left >= job["slots"][slot]]
            if not fits:
                return None
            found[slot] = fits[0]
            free[fits[0]] -= job["slots"][slot]
        return [found[slot] for slot in range(len(job["slots"]))]

    def change(self, job, sign):
        for node, gpus in zip(self.places[job["id"]], job["slots"], strict=True):
            self.free[node] += sign * gpus
            assert 0 <= self.free[node] <= GPUS[node]

    def run(self):
        ends = []
        queue = []
        coming = sorted(self.jobs, key=lambda job: job["at"])
        while coming or queue:
            now = min([coming[0]["at"]] if coming else [], default=ends[0][0] if ends else 0)
            now = min(now, ends[0][0]) if ends else now
            while ends and ends[0][0] <= now:
                self.change(heapq.heappop(ends)[2], 1)
            while coming and coming[0]["at"] <= now:
                queue.append(coming.pop(0))
            queue.sort(key=self.key)
            while queue and (nodes := self.nodes_for(queue[0])) is not None:
                job = queue.pop(0)
                self.starts[job["id"]], self.places[job["id"]] = now, nodes
                self.change(job, -1)
                heapq.heappush(ends, (now + job["ran"], job["id"], job))
        return self.starts


def drawn(count, seed):
    """Return jobs whose sizes, run times and virtual clusters are spread as in a GPU cluster."""
    rng = np.random.default_rng(seed)
    at = 0
    jobs = []
    for number in range(count):
        at += int(rng.exponential(280))
        vc = str(rng.choice(list(CLUSTERS), p=[0.45, 0.4, 0.15]))
        most = GPUS[CLUSTERS[vc][0]]
        # Most jobs have one slot. Others are spread over what hosts had free, in unequal parts.
        slots = [int(rng.choice([1, 2, 4, most]))] if rng.random() < 0.6 else None
        slots = slots or [int(rng.choice([1, 2, 4, 8])) for _ in range(int(rng.integers(2, 5)))]
        slots = [min(slot, most) for slot in slots]
        ran = int(np.clip(rng.lognormal(7, 1.5), 5, 30_000))
        jobs.append({"id": f"application_{number:04}", "vc": vc, "at": at, "ran": ran, "slots": slots})
    jobs[0]["at"] = 0
    return jobs


def log_of(jobs, folder):
    """Write jobs as Philly's log has them."""

    def text(seconds):
        return str(datetime(2017, 10, 3) + timedelta(seconds=seconds))

    def entry(job):
        hosts = [{"ip": f"m{n}", "gpus": [f"gpu{g}" for g in range(slot)]} for n, slot in enumerate(job["slots"])]
        times = {"start_time": text(job["at"]), "end_time": text(job["at"] + job["ran"])}
        named = {"jobid": job["id"], "vc": job["vc"], "user": "u", "status": "Pass"}
        return named | {"submitted_time": text(job["at"]), "attempts": [times | {"detail": hosts}]}

    (folder / "cluster_job_log.json").write_text(json.dumps([entry(job) for job in jobs]))
    return folder / "cluster_job_log.json"


def machine():
    return Machine(("gpu",), [[gpus] for gpus in GPUS], equivalence={"gpu": 1}).partitioned(CLUSTERS)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("fcfs", lambda job: (job["at"], job["id"])),
        ("sjf", lambda job: (job["ran"], job["at"], job["id"])),
    ],
)
def test_starts_are_those_of_another_simulator(name, key, tmp_path):
    jobs = drawn(400, seed=5)
    workload = read(log_of(jobs, tmp_path), machine=machine(), default_walltime="runtime", timezone="UTC")
    unequal = [job for job in workload.jobs if job.slots]
    assert len(unequal) > 80
    result = simulate(workload, name)
    check(workload, result)
    expected = Reference(jobs, key).run()
    starts = dict(zip(result.jobs["id"].tolist(), result.jobs["start"].tolist(), strict=True))
    assert starts == expected
    assert sum(start > job["at"] for job, start in zip(jobs, expected.values(), strict=False)) > 100
    for id_, nodes in zip(result.jobs["id"], result.jobs["placement"], strict=True):
        vc = next(job["vc"] for job in jobs if job["id"] == id_)
        assert set(nodes.tolist()) <= set(CLUSTERS[vc])


def test_slots_without_their_sizes_start_at_other_times(tmp_path):
    jobs = drawn(400, seed=5)
    even = [job | {"slots": [1] * sum(job["slots"])} for job in jobs]
    starts = [Reference(each, lambda job: (job["at"], job["id"])).run() for each in (jobs, even)]
    assert starts[0] != starts[1]
