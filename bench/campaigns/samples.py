"""The jobs of each seed: samples of a generator, resamples of a trace, or copies with shifted submissions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, TypeVar

import numpy as np

from ...analysis.conclusions import Basis
from ...base import distinct_labels
from ...dispatchers import Dispatcher
from ...predictors import Predictor
from ...simulation import SameInstant
from ...simulation.trimming import NOTHING, Cut, steady_state
from ...workloads import OperatingConditions, Workload, closed_loop, generate, resample
from ...workloads import jitter as shift
from ...workloads.operating_conditions import NO_CONDITIONS
from .cells import Cell
from .molding_specs import molded
from .versions import canonical_dispatcher, canonical_predictor

#: Function from a seed to its jobs.
Sampler = Callable[[int], Workload]
#: Digest of a workload to the function that returns it.
Loaders = dict[str, Callable[[], Workload]]
JobsT = TypeVar("JobsT", bound=Workload | Sampler)
#: Whether jobs are submitted at their recorded times, or follow the ends of other jobs of their users.
Users = Literal["replay", "react"]
#: A range of seeds.
_RANGE = re.compile(r"([0-9]{1,15})-([0-9]{1,15})")


def seed_range(text: str) -> range | None:
    """Return the seeds of a range such as ``20-29``, none if it goes down. ``None`` if the text is no range."""
    match = _RANGE.fullmatch(text)
    return None if match is None else range(int(match[1]), int(match[2]) + 1)


@dataclass(frozen=True, slots=True)
class Generated:
    """The samples of a generator: one per seed.

    Attributes
    ----------
    spec
        ``NAME`` or ``NAME:key=value,...`` of a registered generator.
    head
        Keep only this many jobs of each sample; ``None`` keeps all.
    mold
        The speedup of the jobs, see :func:`~hpcdispatch.bench.campaigns.molding_specs.molded`, or ``None``.
    """

    spec: str
    head: int | None = None
    mold: str | None = None

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        drawn = generate(self.spec, seed=seed)
        return molded(drawn if self.head is None else drawn.head(self.head), self.mold, seed)


@dataclass(frozen=True, slots=True)
class Jittered:
    """The samples of a trace: seed k shifts each submission by whole seconds, uniform in [0, `seconds`].

    Attributes
    ----------
    workload
        The trace.
    seconds
        The largest shift; ``None`` leaves the trace unchanged for every seed.
    """

    workload: Workload
    seconds: int | None = None

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        if self.seconds is None:
            return self.workload
        return shift(self.workload, self.seconds, np.random.default_rng(seed))


@dataclass(frozen=True, slots=True)
class Resampled:
    """The samples of a trace: seed k is another sample of its users, see :func:`~hpcdispatch.workloads.resample`.

    Attributes
    ----------
    workload
        The trace.
    load
        Offered load of each sample; ``None`` keeps that of the trace.
    """

    workload: Workload
    load: float | None = None

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        return resample(self.workload, seed, self.load)


@dataclass(frozen=True, slots=True)
class Samples(Generic[JobsT]):
    """The jobs of several seeds, and the rules of their simulation.

    Attributes
    ----------
    workload
        Jobs that are the same for every seed, or a function from a seed to its jobs.
    seeds
        How many, from `first` on; or the seeds themselves.
    jitter, overrun, same_instant, check, warm_up, cool_down
        As in :class:`~hpcdispatch.bench.campaigns.cells.Cell`.
    label
        What the jobs are called; what they say of themselves, if left out.
    first
        The first seed.
    users
        ``"react"``: the users of each sample react, see :func:`~hpcdispatch.workloads.closed_loop`.
    conditions
        Failures, cap and signal of each sample. Failures are drawn by its seed.
    """

    workload: JobsT
    seeds: int | Sequence[int] = 1
    jitter: int | None = None
    overrun: str = "run"
    same_instant: SameInstant = "batch"
    check: bool = False
    label: str = ""
    first: int = 0
    warm_up: Cut = NOTHING
    cool_down: Cut = NOTHING
    users: Users = "replay"
    conditions: OperatingConditions = NO_CONDITIONS

    @property
    def numbers(self) -> Sequence[int]:
        """The seeds."""
        return range(self.first, self.first + self.seeds) if isinstance(self.seeds, int) else self.seeds

    @property
    def basis(self) -> Basis:
        """The kind of the samples."""
        if isinstance(self.workload, Workload):
            return "trace" if self.jitter is None else "shifts"
        return "resamples" if isinstance(self.workload, Resampled) else "independent"

    def cells(
        self, pairs: Sequence[tuple[str | Dispatcher, str | Predictor]], loaders: Loaders
    ) -> list[tuple[Cell, ...]]:
        """Return the cells of each pair of dispatcher and predictor, one for each seed.

        Parameters
        ----------
        pairs
            Names with options, or objects. Objects are identified by their name, their class, and their options.
        loaders
            Gets the loaders of the jobs.

        Raises
        ------
        InputError
            For an unknown name or option.
        """
        names, objects = [], []
        policies = _named([policy for policy, _ in pairs])
        beliefs = _named([belief for _, belief in pairs])
        for policy, belief in pairs:
            policy_name = canonical_dispatcher(policy) if isinstance(policy, str) else policies[id(policy)]
            belief_name = canonical_predictor(belief) if isinstance(belief, str) else beliefs[id(belief)]
            names.append((policy_name, belief_name))
            objects.append((None if isinstance(policy, str) else policy, None if isinstance(belief, str) else belief))
        rows = []
        for seed in self.numbers:
            draw = self.workload
            load = (lambda draw=draw: draw) if isinstance(draw, Workload) else partial(draw, seed)
            if self.users == "react":
                load = partial(_reacting, load)
            if self.conditions:
                load = partial(_under, load, self.conditions, seed)
            workload = load()
            loaders.setdefault(workload.digest(), load)
            steady_state(workload.columns.submit, self.warm_up, self.cool_down)
            label = self.label or workload.provenance.source
            sample = label, len(workload), workload.digest(), self.jitter, seed
            rows.append(
                [
                    Cell(
                        *sample,
                        *named,
                        self.overrun,
                        self.same_instant,
                        self.warm_up,
                        self.cool_down,
                        self.basis,
                        self.check,
                        given,
                        signal=self.conditions.grid,
                    )
                    for named, given in zip(names, objects, strict=True)
                ]
            )
        return list(zip(*rows, strict=True))


def _reacting(load: Callable[[], Workload]) -> Workload:
    return closed_loop(load())


def _under(load: Callable[[], Workload], conditions: OperatingConditions, seed: int) -> Workload:
    return conditions.on(load(), seed)


def _named(parts: Sequence[object]) -> dict[int, str]:
    """Return the names of different parts, by the identity of each."""
    different = {id(part): part for part in parts}
    return dict(zip(different, distinct_labels(list(different.values())), strict=True))
