"""Stretches of a trace as episodes, and their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..base import InputError, IntArray
from ..base.checks import MOST_JOBS, check_whole, is_number, shown
from ..models.events import FIRST_SLOT, open_events
from ..models.events.steps import Steps, begin, side_by_side
from ..simulation import Result
from ..simulation.eligibility import has_rules
from ..simulation.events.compiled_events import amounts_of, slots_of
from ..simulation.placements import on_node_zero
from ..simulation.recorder import COMPLETED, Recorder
from ..simulation.result import manifest
from ..workloads.fitting_requests import nodes_in_use, on_nodes, room_for
from ..workloads.sources import WorkloadLike, workload_of


class Episodes:
    """Stretches of a trace. Each has a number of consecutive jobs, on an empty machine.

    Parameters
    ----------
    workload
        A :data:`~hpcdispatch.workloads.sources.WorkloadLike`. Jobs that do not fit the machine are left out.
    jobs
        Per stretch, at least 1.
    part
        From where to where stretches are drawn, as shares of the trace.
    predictor
        ``"walltime"`` or ``"oracle"``: what is shown of run times.

    Raises
    ------
    InputError
        If an option is out of its range, or the part has too few jobs. Also if the compiled event loop does not support
        the workload. That loop has no dependencies, shapes, priorities, machine rules, or slots of different demands.
    """

    def __init__(self, workload: WorkloadLike, jobs: int, part: tuple[float, float], predictor: str) -> None:
        try:
            self.jobs = check_whole("jobs", jobs, 1, MOST_JOBS)
        except ValueError as error:
            raise InputError(f"environment: {error}") from None
        if predictor not in ("walltime", "oracle"):
            raise InputError(f"environment: predictor: expected walltime or oracle, got {shown(predictor)}")
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
        self.predicted = columns.walltime if predictor == "walltime" else np.maximum(columns.runtime, 1)
        self.columns = np.stack((columns.submit, self.predicted, columns.walltime, columns.runtime))
        self.predictor = predictor
        ends = tuple(part) if isinstance(part, tuple | list) and len(part) == 2 else (1, 0)
        if not (all(map(is_number, ends)) and 0 <= ends[0] < ends[1] <= 1):
            raise InputError(f"environment: part: expected two rising numbers from 0 to 1, got {shown(part)}")
        self.low, high = (round(end * len(columns)) for end in ends)
        self.high = high - self.jobs
        if self.high < self.low:
            raise InputError(f"environment: part: expected at least {self.jobs} jobs, got {high - self.low}")

    def __deepcopy__(self, memo: dict[int, Any]) -> Episodes:
        """Return itself: nothing of it changes."""
        return self

    def open(self, count: int, shown: int) -> Steps:
        """Return a number of simulations side by side, with room for any stretch."""
        first, jobs = slice(0, self.jobs), self.jobs
        submit, predicted, walltime, work = self.columns[:, first]
        slots = self.slots if len(self.slots) else None
        events = open_events(submit, work, predicted, walltime, self.amount[first], self.whole, slots=slots)
        most = int(np.sort(self.amount[:, 0])[-jobs:].sum()) if len(self.slots) else 0
        room = np.zeros((6, jobs + 1), dtype=np.int64), np.zeros(jobs + 1, dtype=np.int64)
        events = events._replace(running=room[0], chosen=room[1], placed=np.empty(most, dtype=np.int32))
        return side_by_side(events, count, shown)

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

    def begin(self, steps: Steps, place: int, first: int) -> None:
        """Begin a simulation with the stretch from a job on."""
        part = slice(first, first + self.jobs)
        begin(steps, place, self.columns[:, part], self.amount[part], self.whole, self.slots)

    def outcome(self, steps: Steps, place: int, first: int, name: str) -> Outcome:
        """Return what became of a stretch that has ended."""
        queue = steps.events.queue
        start = queue.start[place].copy()
        placed = None
        if len(self.slots):
            placed = steps.events.placed[place].copy(), queue.columns[place, FIRST_SLOT].copy()
        return Outcome(lambda: self._result(first, start, placed, name))

    def _result(self, first: int, start: IntArray, placed: tuple[Any, IntArray] | None, name: str) -> Result:
        part = self.workload.slice(first, first + self.jobs)
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
        np.frombuffer(recorder.predicted, dtype=np.int64)[:] = self.predicted[first : first + self.jobs]
        for job in order.tolist():
            nodes = int(jobs.nodes[job])
            at = 0 if placed is None else int(placed[1][job])
            recorder.placements.append(on_node_zero(nodes) if placed is None else placed[0][at : at + nodes])
        made = manifest(part, {"dispatcher": name, "predictor": self.predictor}, {"start": first})
        return Result.from_recorder(part, recorder, made, 0.0)


class Outcome(Mapping[str, float]):
    """The metrics of an episode as of :meth:`.Result.summary`, computed at the first access.

    Attributes
    ----------
    result
        The records.
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
