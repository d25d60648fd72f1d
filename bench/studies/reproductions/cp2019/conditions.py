"""Preconditions that let the simulations test the claims of the CP 2019 paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .....analysis.statistics import real_and_predicted, real_over_predicted
from ..claims import LEAST, Floats
from ..outcome import Precondition
from .months import SimulatedPart

#: The heuristic's error as a share of the walltimes' error, at most. Percent of walltimes near the run time, at most.
ERROR, NEAR = 0.3, 10.0
#: From this many waiting jobs, their choice for the model matters. This is the paper's m.
CROWD = 100


def accuracy(real: Floats, predicted: Floats) -> dict[str, float]:
    """Return how well run times were predicted."""
    ratio = real_over_predicted(real, predicted)
    return {
        "mean absolute error, min": float(np.abs(real - predicted).mean() / 60),
        "underestimated, %": float(100 * (ratio > 1).mean()),
        "overestimated, %": float(100 * (ratio < 1).mean()),
        "within 0.75-1.25, %": float(100 * ((ratio >= 0.75) & (ratio <= 1.25)).mean()),
    }


@dataclass(frozen=True)
class Conditions:
    """The preconditions, and which claims need them.

    Attributes
    ----------
    nodes
        More than one node: of every claim.
    queues
        At least two queues in every sample. Versions 0 to 2 weigh jobs by their queue.
    names
        The jobs have names, which the heuristic needs. Claims about -D need this.
    heuristic
        The heuristic errs much less than the walltimes. Claims about -D and about the system need this.
    requests
        Few walltimes are near the run time. Claims about -W as a prediction need this.
    crowd
        More jobs wait than get a start time. Claims about version 0 need this.
    """

    nodes: Precondition
    queues: Precondition
    names: Precondition
    heuristic: Precondition
    requests: Precondition
    crowd: Precondition

    @property
    def all(self) -> tuple[Precondition, ...]:
        """All of them."""
        return self.nodes, self.queues, self.names, self.heuristic, self.requests, self.crowd

    def of(self, *labels: str) -> tuple[Precondition, ...]:
        """Return those of a claim about dispatchers with these labels."""
        versions = {label[3:4] for label in labels if label[1:3] == "CP"}
        letters = {label.partition("-")[2] for label in labels}
        needed = [self.nodes]
        needed += [self.queues] * bool(versions - {"3"})
        needed += [self.names, self.heuristic] * ("D" in letters)
        needed += [self.requests] * ("W" in letters and any(label.endswith("3-W") for label in labels))
        needed += [self.crowd] * bool({"HCP", "PCP"} & {label.partition(",")[0] for label in labels})
        return tuple(needed)


def conditions_of(
    guessed: Sequence[SimulatedPart], requested: Sequence[SimulatedPart], nodes: int, named: bool = True
) -> Conditions:
    """Return the preconditions and whether each is met.

    Parameters
    ----------
    guessed, requested
        Parts that were simulated with the heuristic, and with the walltimes.
    nodes, named
        Of the machine; whether its jobs have names.
    """
    guess, request = (_together(parts) for parts in (guessed, requested))
    share = guess["mean absolute error, min"] / request["mean absolute error, min"]
    close = request["within 0.75-1.25, %"]
    few = len(guessed) < LEAST  # so few parts decide nothing
    queues = [part.jobs["queue"].nunique() for part in requested]
    waiting = float(np.mean([part.decisions["queued"].mean() for part in requested]))
    return Conditions(
        Precondition("more than one node", nodes > 1, f"{nodes} nodes"),
        Precondition("at least two queues in every sample", min(queues) > 1, f"{min(queues)} to {max(queues)}"),
        Precondition("the jobs have names, by which the heuristic goes", named, "yes" if named else "none"),
        Precondition(
            f"the heuristic errs at most {ERROR:g} times as much as the requests",
            share <= ERROR or few,
            f"{share:.2f} times",
            of_system=True,
        ),
        Precondition(
            f"fewer than {NEAR:g}% of the requests are within 0.75-1.25 of the run time", close < NEAR, f"{close:.1f}%"
        ),
        Precondition(f"more than {CROWD} jobs wait at a call", waiting > CROWD, f"{waiting:.0f}, mean"),
    )


def _together(parts: Sequence[SimulatedPart]) -> dict[str, float]:
    """Return how accurate the predicted run times of all parts are together."""
    return accuracy(*map(np.concatenate, zip(*(real_and_predicted(part.jobs) for part in parts), strict=True)))
