"""``same_instant="arrivals-first"`` against a simulator of its own, on workloads with many events in one second."""

from collections import defaultdict, deque
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from drawn import number_of_inputs

from hpcdispatch.predictors import LastTwo
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Outage, Workload

CORES = 16


def crowded(seed, jobs=120):
    """Return jobs whose submissions, run times and walltimes are few different numbers."""
    rng = np.random.default_rng(seed)
    made = []
    submit = 0
    for number in range(jobs):
        submit += int(rng.choice([0, 0, 0, 10, 20]))
        walltime = int(rng.choice([20, 40, 60, 120]))
        runtime = int(rng.choice([walltime, walltime // 2, 10, 20]))
        cores = int(rng.integers(1, 9))
        made.append(Job(str(number), submit, runtime, walltime, cores, {"core": 1}, user=f"u{rng.integers(0, 3)}"))
    return Workload(made, Machine.pool(CORES))


class Second:
    """EASY by the rules of pyss: corrections, then each arrival, then each end, with a dispatch after each."""

    def __init__(self, workload, predict, correct, shortest_first):
        self.predict, self.correct, self.shortest_first = predict, correct, shortest_first
        self.waiting, self.running, self.starts = [], [], {}
        self.last = defaultdict(lambda: deque(maxlen=2))
        jobs = deque(
            SimpleNamespace(
                id=job.id, submit=job.submit, real=job.runtime, request=job.walltime, cores=job.nodes, user=job.user
            )
            for job in workload.jobs
        )
        while jobs or self.running or self.waiting:
            self.now = min(
                [job.submit for job in list(jobs)[:1]] + [min(job.end, job.expected) for job in self.running]
            )
            self.second(jobs)

    def second(self, jobs):
        now = self.now
        for job in self.running:
            if job.expected == now < job.end:
                job.expected = job.start + self.correct(job)
                job.misses += 1
        arriving = []
        while jobs and jobs[0].submit == now:
            arriving.append(jobs.popleft())
        for job in arriving:
            job.predicted = max(1, self.predict(job, self.last[job.user]))
        for job in arriving:
            self.waiting.append(job)
            self.dispatch()
        ending = [job for job in self.running if job.end == now]
        for job in [job for job in ending if job.expected == now]:
            self.end(job)
        for job in ending:
            if job in self.running:
                self.end(job)
            self.dispatch()

    def end(self, job):
        self.running.remove(job)
        self.last[job.user].append(job.real)

    def free(self):
        return CORES - sum(job.cores for job in self.held())

    def held(self):
        # Jobs that end in this second as foreseen hold nothing from its first event on.
        return [job for job in self.running if job.expected > self.now]

    def dispatch(self):
        while self.waiting and self.waiting[0].cores <= self.free():
            self.start(self.waiting[0])
        if not self.waiting:
            return
        free, shadow, extra = self.free(), self.now, 0
        for job in sorted(self.held(), key=lambda job: job.expected):
            if free >= self.waiting[0].cores:
                break
            free, shadow = free + job.cores, job.expected
        free = self.free() + sum(job.cores for job in self.held() if job.expected <= shadow)
        extra = free - self.waiting[0].cores
        rest = self.waiting[1:]
        for job in sorted(rest, key=lambda job: job.predicted) if self.shortest_first else rest:
            if job.cores <= self.free() and (self.now + job.predicted <= shadow or job.cores <= extra):
                if self.now + job.predicted > shadow:
                    extra -= job.cores
                self.start(job)

    def start(self, job):
        self.waiting.remove(job)
        job.start, job.misses = self.now, 0
        job.end, job.expected = self.now + job.real, self.now + job.predicted
        self.running.append(job)
        self.starts[job.id] = self.now


def last_two(job, last):
    return min(sum(last) // 2, job.request) if len(last) == 2 else job.request


def later(job):
    minutes = [60 * m for m in (1, 4, 10, 15, 30, 60)]
    return min(job.expected - job.start + minutes[job.misses], job.request)


RULES = {
    "walltime": ("walltime", lambda job, last: job.request, None),
    "oracle": ("oracle", lambda job, last: job.real, None),
    "last two": (LastTwo(correction="sc15"), last_two, later),
    "twice the walltime": ("scaled:factor=2", lambda job, last: 2 * job.request, None),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dispatcher", ["easy", "easy-sjbf"])
def test_every_start_is_that_of_another_simulator(rule, dispatcher):
    predictor, predict, correct = RULES[rule]
    other_orders = 0
    for seed in range(number_of_inputs(12, 5)):
        workload = crowded(seed)
        expected = Second(workload, predict, correct, dispatcher == "easy-sjbf").starts
        result = simulate(workload, dispatcher, predictor, overrun="kill", same_instant="arrivals-first")
        check(workload, result)
        found = result.jobs.set_index("id")["start"].to_dict()
        assert found == expected, f"seed {seed}"
        for order in ("batch", "sequence"):
            other = simulate(workload, dispatcher, predictor, overrun="kill", same_instant=order).jobs
            other_orders += other.set_index("id")["start"].to_dict() != expected
    if dispatcher == "easy-sjbf":  # In the order of submission the others start the same jobs.
        assert other_orders > 0


def test_failures_and_held_jobs_take_part():
    machine = replace(Machine.homogeneous(2, core=1), outages=[Outage(50, 60, "0", announced=False, requeue=True)])
    jobs = [
        Job("1", 0, 50, 100, 1),
        Job("2", 0, 100, 100, 1),
        Job("3", 50, 10, 10, 1),
        Job("4", 50, 5, 5, 1, depends=(("1", "afterok"),)),
    ]
    workload = Workload(jobs, machine)
    result = simulate(workload, "fcfs", same_instant="arrivals-first")
    check(workload, result)
    found = result.jobs.set_index("id")
    # The failure of node 0 comes before the end of job 1 in the same second, so that job 1 runs once more.
    assert found["start"].to_dict() == {"1": 0, "2": 0, "3": 100, "4": 110}
    first = result.attempts[result.attempts["id"] == "1"]
    assert first[["start", "end", "outcome"]].to_numpy().tolist() == [[0, 50, "node-fail"], [60, 110, "completed"]]
    assert (found["status"] == "completed").all()
