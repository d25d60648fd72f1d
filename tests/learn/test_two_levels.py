"""The environment of two levels against an own simulator, and the published methods that are settings of it."""

import heapq

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.workloads import Job, Machine, Workload

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
import hpcdispatch.learn  # noqa: E402
from hpcdispatch.learn import PolicyDispatcher  # noqa: E402

COUNTS = [20, pytest.param(200, marks=pytest.mark.nightly)]
ORDERS = {
    "fcfs": lambda job, now: 0,
    "sjf": lambda job, now: job.walltime,
    "lxf": lambda job, now: (job.submit - now) / job.walltime,
    "f3": lambda job, now: job.walltime * job.nodes + 6.86e6 * np.log10(max(job.submit, 1)),
}


def trace(rng, jobs=40):
    """Return a small trace on a pool of 16 cores with a long queue and many equal times."""
    submit = np.cumsum(rng.integers(0, 4, jobs)) * 20
    made = []
    for number, at in enumerate(submit.tolist()):
        run = int(rng.integers(1, 8)) * 20
        made.append(Job(str(number), at, run, run + int(rng.integers(0, 3)) * 20, int(rng.integers(1, 13))))
    return Workload(made, Machine.pool(16))


class OwnSimulator:
    """Plain lists and loops: which jobs start when, if a policy picks the head and what is backfilled behind it."""

    def __init__(self, workload, policy, head, fill, skip, commit, visible, delay, most):
        self.jobs = list(workload.jobs)
        self.policy, self.head, self.fill, self.skip, self.commit = policy, head, fill, skip, commit
        self.visible, self.delay, self.most = visible, delay, most
        self.starts = {}
        self.decisions = []

    def run(self):
        coming = list(range(len(self.jobs)))
        self.waiting, self.running, self.free = [], [], 16
        self.held, self.skips, self.delays, self.wake = None, 0, {}, None
        while coming or self.waiting:
            times = [self.jobs[job].submit for job in coming[:1]] + [end for end, _ in self.running[:1]]
            if self.wake is not None and (times or self.waiting):
                times.append(self.wake)
            self.now = min(times)
            if self.wake is not None and self.wake <= self.now:
                self.wake = None
            while self.running and self.running[0][0] <= self.now:
                self.free += self.jobs[heapq.heappop(self.running)[1]].nodes
            while coming and self.jobs[coming[0]].submit <= self.now:
                self.waiting.append(coming.pop(0))
            self.instant()
        return [self.starts[job] for job in range(len(self.jobs))]

    def instant(self):
        while self.waiting:
            if self.held is None:
                if not self.choose_head():
                    return
                if self.held is None:
                    continue
            if self.jobs[self.held].nodes <= self.free:
                self.start(self.held)
                self.held = None
                continue
            self.backfill()
            if not self.commit:
                self.held = None
            return

    def choose_head(self):
        """Choose the head, or start it. Return whether this instant goes on."""
        if self.head == "policy":
            if not self.commit and not any(self.jobs[job].nodes <= self.free for job in self.waiting):
                return False
            shown = self.waiting[: self.visible]
            allowed = [*range(len(shown)), *([self.visible] if self.skip and self.skips < self.most else [])]
            action = self.ask("head", shown, allowed)
            if action == self.visible:
                self.skips += 1
                return self.wait()
            self.held = shown[action]
            return True
        key = ORDERS[self.head]
        best = min(self.waiting, key=lambda job: (key(self.jobs[job], self.now), job))
        fits = self.jobs[best].nodes <= self.free
        if fits and self.skip and self.delays.get(best, 0) < self.most:
            others = [job for job in self.waiting if job != best]
            if self.ask("one", [best, *others][: self.visible], [0, self.visible]) == self.visible:
                self.delays[best] = self.delays.get(best, 0) + 1
                return self.wait()
        self.held = best
        return True

    def wait(self):
        if self.wake is None:
            self.wake = self.now + self.delay
        return False

    def backfill(self):
        """Start jobs that do not delay the held one."""
        head = self.jobs[self.held]
        free, shadow = self.free, self.now
        for end, job in sorted((max(self.starts[j] + self.jobs[j].walltime, self.now + 1), j) for _, j in self.running):
            if free >= head.nodes and end > shadow:
                break
            free, shadow = free + self.jobs[job].nodes, end
        extra = free - head.nodes

        def possible():
            found = []
            for job in self.waiting:
                each = self.jobs[job]
                early = self.now + each.walltime <= shadow
                if job != self.held and each.nodes <= self.free and (early or each.nodes <= extra):
                    found.append(job)
            return found

        while self.fill != "none" and (jobs := possible()):
            if self.fill == "policy":
                shown = [self.held, *jobs][: self.visible]
                if len(shown) < 2:
                    return
                action = self.ask("behind", shown, list(range(len(shown))))
                if action == 0:
                    return
                job = shown[action]
            else:
                job = jobs[0] if self.fill == "easy" else min(jobs, key=lambda each: (self.jobs[each].walltime, each))
            if self.now + self.jobs[job].walltime > shadow:
                extra -= self.jobs[job].nodes
            self.start(job)

    def start(self, job):
        self.starts[job], self.skips = self.now, 0
        self.waiting.remove(job)
        self.free -= self.jobs[job].nodes
        heapq.heappush(self.running, (self.now + self.jobs[job].runtime, job))

    def ask(self, level, shown, allowed):
        self.decisions.append((level, self.now, shown, allowed))
        return self.policy(allowed)


def random_policy(seed):
    rng = np.random.default_rng(seed)
    return lambda allowed: allowed[int(rng.integers(len(allowed)))]


def options_of(rng):
    return {
        "head": ["policy", "policy", "fcfs", "sjf", "lxf", "f3"][rng.integers(6)],
        "fill": ["policy", "policy", "none", "easy", "sjbf"][rng.integers(5)],
        "skip": bool(rng.integers(2)),
        "commit": bool(rng.integers(2)),
        "visible": int(rng.choice([1, 2, 5, 40])),
        "delay": 35,
        "most": int(rng.integers(1, 4)),
    }


@pytest.mark.parametrize("count", COUNTS)
def test_schedules_are_those_of_an_own_simulator(count):
    kinds = set()
    for seed in range(count):
        rng = np.random.default_rng(seed)
        workload, options = trace(rng), options_of(rng)
        own = OwnSimulator(workload, random_policy(seed), **options)
        expected = own.run()
        env = gymnasium.make("hpcdispatch/TwoLevel-v0", workload=workload, jobs=len(workload), **options)
        policy = random_policy(seed)
        _, info = env.reset(options={"start": 0})
        over, seen = False, []
        while not over:
            allowed = np.flatnonzero(info["action_mask"]).tolist()
            jobs = [job for job in info["jobs"].tolist() if job >= 0]
            if allowed:
                seen.append((info["now"], jobs, allowed))
            *_, over, _, info = env.step(policy(allowed) if allowed else 0)
        assert seen == [each[1:] for each in own.decisions]
        assert info["summary"].result.jobs["start"].tolist() == expected
        kinds |= {each[0] for each in own.decisions}
        # The same decisions in the simulator, which shows them one instant after the other.
        asked = random_policy(seed)
        dispatcher = PolicyDispatcher(lambda _, mask, asked=asked: asked(np.flatnonzero(mask).tolist()), env)
        result = hd.simulate(workload, dispatcher)
        assert result.jobs["start"].tolist() == expected
    assert kinds == {"head", "one", "behind"}


#: A published method as a setting, and the environment that is the same.
SETTINGS = [
    ({"head": "fcfs"}, "Backfill-v0", {}),
    ({"head": "sjf", "fill": "none", "skip": True}, "Inspect-v0", {"backfill": "none"}),
    ({"fill": "easy"}, "PickJob-v0", {}),
    ({"fill": "none", "commit": True}, "PickJob-v0", {"backfill": "none", "commit": True}),
]


@pytest.mark.parametrize(("setting", "name", "options"), SETTINGS)
def test_published_methods_are_settings(setting, name, options):
    """RLBackfilling, SchedInspector and RLScheduler decide as in their own environments."""
    for seed in range(4):
        workload = trace(np.random.default_rng(seed), 60)
        starts = []
        for kind, chosen in (("TwoLevel-v0", setting), (name, options)):
            env = gymnasium.make(f"hpcdispatch/{kind}", workload=workload, jobs=60, visible=60, **chosen)
            policy = random_policy(seed)
            _, info = env.reset(options={"start": 0})
            over = False
            while not over:
                allowed = np.flatnonzero(info["action_mask"]).tolist()
                *_, over, _, info = env.step(policy(allowed) if allowed else 0)
            starts.append(info["summary"].result.jobs["start"].tolist())
        assert starts[0] == starts[1]


def test_what_is_shown_of_a_reserved_job():
    jobs = [Job("0", 0, 100, 100, 8), Job("1", 1, 10, 10, 12), Job("2", 2, 10, 10, 4)]
    env = gymnasium.make("hpcdispatch/TwoLevel-v0", workload=Workload(jobs, Machine.pool(16)), jobs=3, visible=4)
    env.reset(options={"start": 0})
    env.step(0)
    observation, _, _, _, info = env.step(0)
    assert info["now"] == 2
    assert info["jobs"].tolist() == [1, 2, -1, -1]
    assert observation[:, 0].tolist() == [0, 1, 0, 0]
    assert observation[:, 8].tolist() == [1, 0, 0, 0]
    assert info["action_mask"].tolist() == [1, 1, 0, 0]
