"""Stretches of a trace as episodes, and their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..base import InputError, IntArray
from ..base.checks import MOST_JOBS, check_whole, is_number, shown
from ..base.contracts import PredictorContract
from ..dispatchers import Dispatcher
from ..models.events import open_events
from ..models.events.steps import ParallelSimulations, begin, events_of, side_by_side
from ..predictors import Oracle, Predictor, Walltime
from ..predictors import create as create_predictor
from ..simulation import Result, simulate
from ..simulation.eligibility import has_rules
from ..simulation.events.compiled_events import amounts_of, slots_of
from ..simulation.placements import on_node_zero
from ..simulation.recorder import COMPLETED, Recorder
from ..simulation.result import manifest
from ..workloads import Workload
from ..workloads.fitting_requests import nodes_in_use, on_nodes, room_for
from ..workloads.machine_state import EndedJob, MachineState, RunningSince
from ..workloads.sources import WorkloadLike, workload_of
from .columns import Selection


class EpisodeJobs(NamedTuple):
    """The jobs of an episode.

    Attributes
    ----------
    first
        First job that has not been submitted before the beginning, by its position in the trace.
    jobs
        All jobs by their positions in the trace. Those that run or wait at the beginning come first.
    early
        Number of jobs that were submitted before the beginning.
    running
        Positions among `jobs` of those that run at the beginning, in order of their starts.
    starts
        Their starts, seconds.
    """

    first: int
    jobs: IntArray
    early: int
    running: IntArray
    starts: IntArray

    @property
    def decided(self) -> int:
        """Number of jobs that start in the episode."""
        return len(self.jobs) - len(self.running)


class Episodes:
    """Stretches of a trace. Each has a number of consecutive jobs.

    Parameters
    ----------
    workload
        A :data:`~hpcdispatch.workloads.sources.WorkloadLike`. Jobs that do not fit the machine are left out.
    jobs
        Per stretch, at least 1.
    part
        From where to where stretches are drawn, as shares of the trace.
    predictor
        What is shown of run times, as for :func:`hpcdispatch.simulate`.
    warm_up
        Dispatcher of the jobs before a stretch, as for :func:`hpcdispatch.simulate`. Episodes begin with the jobs that
        run and wait under it. ``None``: they begin on an empty machine.

    Raises
    ------
    InputError
        If an option is out of its range, or the part has too few jobs. Also if the compiled event loop does not support
        the workload. That loop has no dependencies, shapes, priorities, machine rules, or slots of different demands.

    Examples
    --------
    >>> from hpcdispatch.learn import Episodes
    >>> episodes = Episodes("lublin:jobs=2000,processors=64", jobs=50, part=(0.0, 0.8), predictor="walltime")
    >>> len(episodes.workload)
    2000
    """

    def __init__(
        self,
        workload: WorkloadLike,
        jobs: int,
        part: tuple[float, float],
        predictor: str | Predictor,
        warm_up: str | Dispatcher | None = None,
    ) -> None:
        try:
            self.jobs = check_whole("jobs", jobs, 1, MOST_JOBS)
            self._predictor = create_predictor(predictor)
        except ValueError as error:
            raise InputError(f"environment: {error}") from None
        self.predictor = predictor if isinstance(predictor, str) else type(predictor).__name__
        whole = workload_of(workload)
        machine = whole.machine
        columns = whole.columns
        unknown = {
            "rules of the machine": bool(machine.rules),
            "dependencies or begin times": has_rules(columns, True),
            "shapes": any(map(len, columns.shapes.values)),
            "priorities": any(columns.priority.values),
            "soft walltimes": any(columns.soft_walltime.values),
            "exclusive jobs": any(columns.exclusive.values),
        }
        for what, there in unknown.items():
            if there:
                raise InputError(f"environment: workload: expected rigid jobs without {what}; leave them out")
        whole = on_nodes(whole, nodes_in_use(whole))
        machine = whole.machine
        pool = whole.machine.nodes == 1
        fits = columns.nodes <= columns.per_node.numbers(lambda amounts: room_for(machine, amounts))
        self.workload = whole if fits.all() else whole.with_jobs(columns.take(fits))
        columns = self.workload.columns
        slots = np.zeros(0, dtype=np.int64) if pool else slots_of(machine, columns)
        if slots is None:
            raise InputError("environment: workload: on nodes, expected slots that all ask for the same amounts")
        self.slots = slots
        self.whole = machine.capacity[0] if pool else np.array([slots.sum()])
        self.amount = amounts_of(machine, columns) if pool else columns.nodes[:, None]
        known = {Walltime: columns.walltime, Oracle: np.maximum(columns.runtime, 1)}
        #: Whether predictions do not depend on the schedule.
        self.constant = type(self._predictor) in known
        self.predicted: IntArray = known.get(type(self._predictor), columns.walltime)
        self.columns = np.stack((columns.submit, self.predicted, columns.walltime, columns.runtime))
        ends = tuple(part) if isinstance(part, tuple | list) and len(part) == 2 else (1, 0)
        if not (all(map(is_number, ends)) and 0 <= ends[0] < ends[1] <= 1):
            raise InputError(f"environment: part: expected two rising numbers from 0 to 1, got {shown(part)}")
        self.low, high = (round(end * len(columns)) for end in ends)
        self.high = high - self.jobs
        if self.high < self.low:
            raise InputError(f"environment: part: expected at least {self.jobs} jobs, got {high - self.low}")
        self.warm_up = warm_up if warm_up is None or isinstance(warm_up, str) else type(warm_up).__name__
        self.most = self.jobs
        if warm_up is not None:
            self._warm_up(warm_up)

    def _warm_up(self, dispatcher: str | Dispatcher) -> None:
        """Simulate the whole trace, to know what runs and waits at the beginning of each stretch."""
        try:
            done = simulate(self.workload, dispatcher, self.fresh_predictor()).jobs
        except InputError as error:
            raise InputError(f"environment: warm_up: {error}") from None
        ran = (done["status"] == "completed").to_numpy()
        # Jobs that never ran leave as they come.
        self._end: IntArray = np.where(ran, done["end"].to_numpy(), self.columns[0])
        self._start: IntArray = np.where(ran, self._end - self.columns[3], self.columns[0])
        self._predicted_once: IntArray = done["predicted"].to_numpy()
        # A job that ended before a submission was submitted before it.
        gone = np.searchsorted(np.sort(self._end), self.columns[0])
        self.most = self.jobs + int((np.arange(len(gone)) - gone).max())

    def fresh_predictor(self) -> Predictor:
        """Return a predictor that has learnt nothing."""
        made = deepcopy(self._predictor)
        reset = PredictorContract(made).reset
        if reset is not None:
            reset()
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Episodes:
        """Return itself: nothing of it changes."""
        return self

    def open(self, count: int, shown: int, columns: Selection) -> ParallelSimulations:
        """Return a number of simulations side by side, with room for any stretch.

        Parameters
        ----------
        count, shown
            Number of simulations, and of visible rows.
        columns
            Of the observations.
        """
        most = self.most
        rows = np.arange(most) % len(self.workload)
        submit, predicted, walltime, work = self.columns[:, rows]
        slots = self.slots if len(self.slots) else None
        events = open_events(submit, work, predicted, walltime, self.amount[rows], self.whole, slots=slots)
        placed = int(np.sort(self.amount[:, 0])[-most:].sum()) if len(self.slots) else 0
        room = np.zeros((6, most + 1), dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
        events = events._replace(running=room[0], chosen=room[1], placed=np.empty(placed, dtype=np.int32))
        self._traits = columns.of_jobs(self.workload.columns)
        machine = self.workload.machine
        pool = not len(self.slots)
        units = (machine.primary, 1) if pool else (0, int(self.units[0] // self.amount[0, 0]))
        return side_by_side(events, count, shown, len(columns.traits), units)

    @cached_property
    def units(self) -> IntArray:
        """Units of the primary resource of each job, shape (jobs,)."""
        machine = self.workload.machine
        units: IntArray = self.workload.columns.amounts(machine.resources[machine.primary])
        return units

    @cached_property
    def capacity(self) -> int:
        """Units of the primary resource of the machine."""
        machine = self.workload.machine
        return int(machine.capacity[:, machine.primary].sum())

    def draw(self, rng: np.random.Generator, options: Mapping[str, Any] | None) -> int:
        """Return the first job of a stretch: sampled, or the ``start`` of the options.

        Raises
        ------
        InputError
            For an unknown option, or a start from which there are too few jobs.
        """
        if not options:
            return int(rng.integers(self.low, self.high + 1))
        if not isinstance(options, Mapping) or set(options) != {"start"}:
            raise InputError(f"reset: options: expected 'start' alone, got {shown(options)}")
        try:
            return check_whole("start", options["start"], 0, len(self.workload) - self.jobs)
        except ValueError as error:
            raise InputError(f"reset: options: {error}") from None

    def stretch(self, first: int) -> EpisodeJobs:
        """Return the jobs of the episode from a job on."""
        later = np.arange(first, first + self.jobs)
        nothing = np.zeros(0, dtype=np.int64)
        if self.warm_up is None:
            return EpisodeJobs(first, later, 0, nothing, nothing)
        submit = self.columns[0]
        begin = int(submit[first])
        before = np.flatnonzero(self._end[:first] >= begin)
        early = int((submit[before] < begin).sum())
        running = np.flatnonzero(self._start[before[:early]] < begin)
        running = running[np.argsort(self._start[before[running]], kind="stable")]
        return EpisodeJobs(first, np.concatenate((before, later)), early, running, self._start[before[running]])

    def begin(self, steps: ParallelSimulations, place: int, stretch: EpisodeJobs) -> None:
        """Begin a simulation with a stretch."""
        jobs = stretch.jobs
        begin(
            steps,
            place,
            self.columns[:, jobs],
            self.amount[jobs],
            self.whole,
            self.slots,
            self._traits[:, jobs],
            jobs,
            (stretch.running, stretch.starts),
            stretch.early,
        )

    def part_of(self, stretch: EpisodeJobs) -> Workload:
        """Return the workload of a stretch."""
        if not stretch.early:
            return self.workload.slice(int(stretch.jobs[0]), int(stretch.jobs[-1]) + 1)
        return replace(self.workload, jobs=self.workload.columns.take(stretch.jobs), records=None)

    def state_of(
        self, stretch: EpisodeJobs, part: Workload, placements: list[Any] | None = None, learn: bool = False
    ) -> MachineState | None:
        """Return the state at the beginning of a stretch, ``None`` for an empty machine.

        Parameters
        ----------
        stretch, part
            The stretch, and its workload.
        placements
            Of the running jobs, by default unknown.
        learn
            Whether predictors learn from the jobs before.
        """
        if self.warm_up is None:
            return None
        at = int(self.columns[0, stretch.first])
        running = []
        for place, (row, start) in enumerate(zip(stretch.running.tolist(), stretch.starts.tolist(), strict=True)):
            placement = None if placements is None else tuple(placements[place].tolist())
            running.append(RunningSince(part.jobs[row].id, start, placement))
        ended, predicted = [], {}
        if learn:
            gone = np.flatnonzero(self._end < at)
            ended = [EndedJob(self.workload.jobs[row], int(self._start[row])) for row in gone.tolist()]
            early = stretch.jobs[: stretch.early].tolist()
            predicted = {self.workload.jobs[row].id: int(self._predicted_once[row]) for row in early}
        return MachineState(at, tuple(running), predicted, tuple(ended))

    def outcome(self, steps: ParallelSimulations, place: int, stretch: EpisodeJobs, name: str) -> Outcome:
        """Return what became of a stretch that has ended."""
        queue = steps.events.queue
        start = queue.start[place, : len(stretch.jobs)].copy()
        placed = None
        if len(self.slots):
            events = events_of(steps, place)
            placed = events.placed.copy(), events.rows.first_slot.copy()
        return Outcome(lambda: self._result(stretch, start, placed, name))

    def _result(self, stretch: EpisodeJobs, start: IntArray, placed: tuple[Any, IntArray] | None, name: str) -> Result:
        part = self.part_of(stretch)
        recorder, jobs = Recorder(part), part.columns
        order = np.argsort(start + jobs.runtime, kind="stable")
        run = jobs.runtime[order]
        same = np.ones(len(order), dtype=np.int64)
        stays = np.column_stack(
            (
                order,
                start[order],
                start[order] + run,
                COMPLETED * same,
                run,
                -same,
                jobs.amounts(recorder.primary)[order],
                jobs.walltime[order],
                jobs.walltime[order],
            )
        )
        recorder.stays.frombytes(stays.tobytes())
        np.frombuffer(recorder.predicted, dtype=np.int64)[:] = self.predicted[stretch.jobs]

        def placement(job: int) -> Any:
            nodes = int(jobs.nodes[job])
            at = 0 if placed is None else int(placed[1][job])
            return on_node_zero(nodes) if placed is None else placed[0][at : at + nodes]

        recorder.placements.extend(map(placement, order.tolist()))
        options: dict[str, Any] = {"start": stretch.first}
        state = self.state_of(stretch, part, list(map(placement, stretch.running.tolist())))
        if state is not None:
            options["state"] = {"at": state.at, "running": len(state.running)}
        made = manifest(part, {"dispatcher": name, "predictor": self.predictor}, options)
        return Result.from_recorder(part, recorder, made, 0.0, (), state)


class Outcome(Mapping[str, float]):
    """The metrics of an episode as of :meth:`.Result.summary`, computed at the first access.

    Attributes
    ----------
    result
        The records.

    Examples
    --------
    >>> import gymnasium
    >>> import hpcdispatch.learn
    >>> env = gymnasium.make("hpcdispatch/PickJob-v0", workload="lublin:jobs=2000,processors=64", jobs=20, visible=16)
    >>> observation, info = env.reset(seed=1)
    >>> terminated = False
    >>> while not terminated:
    ...     observation, reward, terminated, truncated, info = env.step(0)
    >>> info["summary"]["jobs"]
    20
    """

    def __init__(self, make: Callable[[], Result]) -> None:
        self._make = make

    @cached_property
    def result(self) -> Result:
        """The records of the episode."""
        return self._make()

    def __getitem__(self, name: str) -> float:
        return self.result.summary()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.result.summary())

    def __len__(self) -> int:
        return len(self.result.summary())

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a dictionary for another process, such as that of an environment in an ``AsyncVectorEnv``."""
        return dict, (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Outcome:
        """Return itself: nothing of it changes."""
        return self
