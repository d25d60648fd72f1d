"""Number of proved decisions of a dispatcher on workloads of several seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from .....dispatchers import Action, Start, State, create_dispatcher
from .....dispatchers.registered import reset_part
from .....simulation import simulate
from .....workloads import Machine
from ....reports.tables import Table
from .on_nodes import eurora_like
from .on_traces import WITHOUT_SOLVER

#: Candidates of a decision, with the least and the most share of that number.
SIZES, BAND = (25, 50, 100, 200), (0.8, 1.2)
#: Jobs that arrive at once per wanted candidate. Decisions of a workload, and how many lie between them.
ARRIVING = 2.5
EACH = 3
BETWEEN = 3
#: What must be proved, by candidates.
REQUIRED = {50: 0.9, 100: 0.7}
#: The dispatcher that decides, and the ones asked for a proof.
PROVED = {
    "pcp3": ("pcp-fast:solver=none", "pcp-fast", "pcp3"),
    "hcp3": ("hcp3:solver=none", "hcp3"),
}


@dataclass(frozen=True, slots=True)
class Proof:
    """What one dispatcher makes of a decision that another takes.

    Attributes
    ----------
    dispatcher
        The one asked for a proof.
    candidates
        Of the decision.
    proved
        As it reports.
    same
        Whether it starts the same jobs as the one that decides.
    ms
        CPU time, milliseconds.
    """

    dispatcher: str
    candidates: int
    proved: bool
    same: bool
    ms: float


class SampledDispatcher:
    """A dispatcher that passes some of its decisions to others too. It continues as EASY when it has enough of them.

    Parameters
    ----------
    names
        The dispatcher that decides, and the ones asked for a proof.
    size
        Candidates that a decision must have to be taken, about.
    """

    def __init__(self, names: Sequence[str], size: int) -> None:
        self.name = names[0]
        self._names = names
        self._made = {name: create_dispatcher(f"{name}{',' if ':' in name else ':'}m={size}") for name in names}
        self._least, self._most = (share * size for share in BAND)
        self._rest = create_dispatcher("easy")
        self.found: list[Proof] = []
        self._wait = 0

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Forget what was found."""
        self.found, self._wait = [], 0
        for dispatcher in (self._rest, *self._made.values()):
            reset_part(dispatcher, machine, np.random.default_rng(0))

    def dispatch(self, state: State) -> Sequence[Action]:
        """Decide as the first of them."""
        if len(self.found) >= EACH * (len(self._names) - 1):
            return self._rest.dispatch(state)
        actions = self._made[self._names[0]].dispatch(state)
        report = self._report(self._names[0])
        self._wait -= 1
        within = self._least <= report["candidates"] <= self._most
        if within and report["status"] not in WITHOUT_SOLVER and self._wait < 0:
            self._wait = BETWEEN
            self.found += [self._asked(name, state, _started(actions)) for name in self._names[1:]]
        return actions

    def _asked(self, name: str, state: State, started: set[int]) -> Proof:
        begin = process_time()
        actions = self._made[name].dispatch(state)
        ms = 1e3 * (process_time() - begin)
        report = self._report(name)
        return Proof(name, report["candidates"], report["proved"], _started(actions) == started, ms)

    def _report(self, name: str) -> Mapping[str, Any]:
        report: Mapping[str, Any] = self._made[name].report()  # type: ignore[attr-defined]
        return report


def _started(actions: Sequence[Action]) -> set[int]:
    return {action.job.order for action in actions if isinstance(action, Start)}


def proofs(dispatchers: Sequence[str], sizes: Sequence[int], seeds: int, say: Callable[[str], None]) -> Table:
    """Return the number of proved decisions of some dispatchers, and their provers."""
    rows = []
    for dispatcher in dispatchers:
        for size in sizes:
            samples: list[Proof] = []
            for seed in range(seeds):
                say(f"proofs, {dispatcher}, {size} candidates, seed {seed}")
                sampled = SampledDispatcher(PROVED[dispatcher], size)
                simulate(eurora_like(round(ARRIVING * size), seed), sampled, seed=seed)
                samples += sampled.found
            for name in PROVED[dispatcher][1:]:
                rows.append(_row(size, [proof for proof in samples if proof.dispatcher == name]))
    columns = (
        "dispatcher",
        "candidates",
        "decisions",
        "their candidates",
        "proved, %",
        "required, %",
        "as local search, %",
        "mean, ms",
        "max, ms",
    )
    note = (
        f"Decisions taken on the way by lists and local search alone, {EACH} of a workload, {BETWEEN} others between "
        "them; then every dispatcher is asked for the same ones. Proved: no set of jobs that starts now costs less, "
        "each in its own model. As local search: the same jobs start now as under lists and local search alone. CPU "
        "time."
    )
    title = f"Decisions proved on 64 nodes with GPUs or MICs, {seeds} workloads a row"
    return Table(title, columns, rows, 2, note=note)


def _row(size: int, samples: Sequence[Proof]) -> list[str]:
    if not samples:
        return ["-", str(size), "0", *["-"] * 6]
    ms = [proof.ms for proof in samples]
    required = f"{100 * REQUIRED[size]:.0f}" if size in REQUIRED else ""
    candidates, proved, same = np.mean([(proof.candidates, proof.proved, proof.same) for proof in samples], axis=0)
    return [
        samples[0].dispatcher,
        str(size),
        str(len(samples)),
        f"{candidates:.1f}",
        f"{100 * proved:.0f}",
        required,
        f"{100 * same:.0f}",
        f"{np.mean(ms):.0f}",
        f"{max(ms):.0f}",
    ]
