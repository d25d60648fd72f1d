"""The suites: jobs by hash, the part that each window is for, and the rules under which all entries run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Literal

from ...base import InputError, shown
from ...base.printed import near_name
from ...simulation import SameInstant
from ...workloads import Workload, generate, read
from ...workloads.sources import source_of
from ..campaigns.samples import Generated

#: What jobs are for: to learn from, to choose by, and to be judged on.
Part = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")
#: Metrics, all less the better. The first decides the rank.
METRICS = ("wait_mean", "bounded_slowdown_mean", "wait_max")
#: The entry that every score is a ratio to.
BASELINE = ("easy", "walltime")
#: Predictors of the tracks. Any other predictor is in the track ``own``, one that reads run times in ``oracle``.
TRACKS = {"walltime": "walltimes", "last2": "last2"}
OWN, ORACLE = "own", "oracle"
#: What a job does at its walltime, and the order of events within one second.
OVERRUN = "kill"
SAME_INSTANT: SameInstant = "batch"


@dataclass(frozen=True, slots=True)
class Task:
    """The jobs of one task.

    Attributes
    ----------
    name
        Its name.
    source
        A generator with its options, or the name of a trace.
    digests
        Begin of the hash of the jobs of each part, see :func:`digest_of`.
    seeds
        Of a generator: first and last seed of each part. Empty for a trace.
    ends
        Of a trace: where the windows for training and validation end, as shares of the jobs. The test window is the
        rest.
    warm_up, cool_down
        Jobs at both ends of each sample that are simulated and not measured.
    """

    name: str
    source: str
    digests: tuple[str, str, str]
    seeds: tuple[tuple[int, int], ...] = ()
    ends: tuple[float, float] = (0.0, 0.0)
    warm_up: str = "10%"
    cool_down: str = "5%"

    def samples(self, part: Part) -> range:
        """Return the seeds of a part; one for a trace."""
        if not self.seeds:
            return range(1)
        first, last = self.seeds[PARTS.index(part)]
        return range(first, last + 1)

    def workload(self, part: Part, seed: int = 0) -> Workload:
        """Return the jobs of a sample."""
        if self.seeds:
            return generate(self.source, seed=seed)
        return _window(self.source, self.ends, part)

    def sampler(self) -> Workload | Generated:
        """Return the test jobs, as :func:`~hpcdispatch.bench.campaigns.comparison.compare` takes them."""
        return Generated(self.source) if self.seeds else self.workload("test")


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks that are run together.

    Attributes
    ----------
    name, version
        Results of different versions are not compared.
    about
        What it needs.
    tasks
        Its tasks.
    """

    name: str
    version: int
    about: str
    tasks: tuple[Task, ...]

    @property
    def digest(self) -> str:
        """Begin of the SHA-256 of all that decides a score."""
        rules = [self.name, self.version, OVERRUN, SAME_INSTANT, METRICS, BASELINE, TRACKS]
        text = json.dumps([rules, [asdict(task) for task in self.tasks]], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def task(self, name: str) -> Task:
        """Return a task by name."""
        return next(task for task in self.tasks if task.name == name)


def digest_of(task: Task, part: Part) -> str:
    """Return the begin of the SHA-256 of the jobs and machines of all samples of a part."""
    sha = hashlib.sha256()
    for seed in task.samples(part):
        sha.update(task.workload(part, seed).digest().encode())
    return sha.hexdigest()[:16]


def check_jobs(suite: Suite, part: Part = "test") -> None:
    """Refuse a suite whose jobs are not those that were frozen.

    Raises
    ------
    InputError
        If a trace has another content, or a generator makes other jobs.
    OSError
        If a trace cannot be fetched.
    """
    for task in suite.tasks:
        expected, received = task.digests[PARTS.index(part)], digest_of(task, part)
        if expected != received:
            raise InputError(
                f"suite {suite.name} {suite.version}, task {task.name}: expected {part} jobs of hash {expected}, got "
                f"{received}; {task.source} is not what the suite was made with"
            )


def suite_of(name: str) -> Suite:
    """Return a suite by name; :class:`InputError` if there is none."""
    if not isinstance(name, str) or name not in SUITES:
        near = near_name(name, SUITES) if isinstance(name, str) else ""
        raise InputError(f"suite: expected one of {', '.join(SUITES)}, got {shown(name)}{near}")
    return SUITES[name]


def learning_jobs(suite: str, task: str, part: Part) -> Iterator[Workload]:
    """Yield the jobs for training or validation of a task, one workload for each sample.

    Parameters
    ----------
    suite, task
        Their names.
    part
        ``"train"``, ``"validation"`` or ``"test"``.

    Raises
    ------
    InputError
        For an unknown name.
    """
    frozen_suite = suite_of(suite)
    if task not in (known := [each.name for each in frozen_suite.tasks]):
        raise InputError(f"task: expected one of {', '.join(known)}, got {shown(task)}")
    if part not in PARTS:
        raise InputError(f"part: expected one of {', '.join(PARTS)}, got {shown(part)}")
    own = frozen_suite.task(task)
    return (own.workload(part, seed) for seed in own.samples(part))


@cache
def _trace(name: str) -> Workload:
    return read(source_of(name).file(), default_walltime="drop")


def _window(name: str, ends: tuple[float, float], part: Part) -> Workload:
    """Return the jobs of a window of a trace."""
    workload = _trace(name)
    first, second = (int(share * len(workload)) for share in ends)
    begin, end = {"train": (0, first), "validation": (first, second), "test": (second, len(workload))}[part]
    return workload.slice(begin, end)


def _generated(name: str, source: str, *digests: str, samples: int) -> Task:
    """Return a task of a generator: seeds from 0 on for training, from 1,000 for validation, from 2,000 for tests."""
    seeds = ((0, 19), (1000, 999 + samples), (2000, 1999 + samples))
    return Task(name, source, digests, seeds)  # type: ignore[arg-type]


def _windows(name: str, source: str, *digests: str, warm_up: str) -> Task:
    """Return a task of a trace: 40% for training, 20% for validation, 40% for tests."""
    return Task(name, source, digests, ends=(0.4, 0.6), warm_up=warm_up)  # type: ignore[arg-type]


SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "quick",
            1,
            "generated jobs and the sample trace, which every installation has",
            (
                _generated(
                    "full",
                    "lublin:jobs=300,processors=128,load=0.9",
                    "19ff560fe52214dc",
                    "7dc98613fe6af1ff",
                    "973751a57b13fbf9",
                    samples=10,
                ),
                _generated(
                    "wide",
                    "lublin:jobs=300,processors=512,load=0.75",
                    "e4c1a0e7eb5d43d9",
                    "9d2a57a09a25a3c8",
                    "77e3805022a3946a",
                    samples=10,
                ),
                _windows("sample", "example", "6385d362f985369a", "71f69572f7231db4", "566aa938fe0fa43a", warm_up="5%"),
            ),
        ),
        Suite(
            "standard",
            1,
            "four traces of the Parallel Workloads Archive, which are fetched, and generated jobs",
            (
                _windows("kth", "kth-sp2", "0382cdcd978d852b", "938d4aa304285fb7", "8a6c8a50e252734c", warm_up="14 d"),
                _windows("ctc", "ctc-sp2", "610e8e2aa83c381b", "0d3c584791f75ee9", "240f8e7514471154", warm_up="14 d"),
                _windows(
                    "sdsc", "sdsc-sp2", "331fcb84077d1da1", "3f3ddd80af2d752b", "cfa3cc0a42f2c852", warm_up="14 d"
                ),
                _windows("hpc2n", "hpc2n", "9f736b59b5b423ad", "e6103d51ae21a8b5", "64f14e9645c773ca", warm_up="14 d"),
                _generated(
                    "generated",
                    "lublin:jobs=3000,processors=256,load=0.85",
                    "c7e220c15e49dea6",
                    "e3208e68eccfa62f",
                    "f7d6e0f25df7782f",
                    samples=8,
                ),
            ),
        ),
    )
}
