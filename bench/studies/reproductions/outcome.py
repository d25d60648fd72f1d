"""What a reproduction of a table or figure is, and what comes out of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ....base import InputError
from ...campaigns.execution import CampaignProgress

Scale = Literal["smoke", "small", "full"]
#: Seconds (for tests), minutes, and up to hours.
SCALES: tuple[Scale, ...] = get_args(Scale)

#: Whether a claim's check can fail, whether it follows from the definitions, or whether the set-up was fitted to it.
ClaimKind = Literal["tested", "construction", "calibrated"]


@dataclass(frozen=True, slots=True)
class Row:
    """A measured number beside the published one.

    Attributes
    ----------
    subject
        Whose it is, such as a dispatcher with its predictor.
    metric
        What is measured, with its unit.
    measured
        The mean over the samples; ``None`` where nothing was measured.
    published
        In the paper; ``None`` where it prints none.
    low, high
        A 95% bootstrap interval of the mean over the samples; ``None`` where there is one sample.
    digits
        How many are shown behind the point.
    timed
        Whether it is a measured time, never the same twice.
    """

    subject: str
    metric: str
    measured: float | None
    published: float | None = None
    low: float | None = None
    high: float | None = None
    digits: int = 0
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper as an inequality.

    Attributes
    ----------
    text
        The inequality, in words.
    holds
        Whether it does; ``None`` where the samples do not tell, or where it cannot be tested.
    evidence
        The numbers.
    timed
        Whether they are measured times.
    kind
        Only a tested claim counts: one that holds by construction, or that the set-up was calibrated to, is shown.
    unmet
        The preconditions that are not met, without which the claim cannot be tested here; empty where all are.
    """

    text: str
    holds: bool | None
    evidence: str
    timed: bool = False
    kind: ClaimKind = "tested"
    unmet: str = ""

    @property
    def counts(self) -> bool:
        """Whether it counts for or against the reproduction."""
        return self.kind == "tested" and not self.unmet


@dataclass(frozen=True, slots=True)
class Precondition:
    """What must be so in the simulations for a claim to be tested by them.

    Attributes
    ----------
    text
        The condition, in words, such as "nodes > 1".
    met
        Whether it is.
    evidence
        The numbers.
    of_system
        Whether it is about the system under test: then a claim does not hold where it is not met. Where one of the
        jobs is not met, a claim cannot be tested.
    """

    text: str
    met: bool
    evidence: str
    of_system: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that the paper does not print.

    Attributes
    ----------
    name
        What it is.
    value
        What was chosen.
    chosen_by
        What it was chosen by, which is not what it is judged by.
    sensitivity
        What becomes of the results with other values.
    """

    name: str
    value: str
    chosen_by: str
    sensitivity: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The data of a figure.

    Attributes
    ----------
    kind
        ``bars``: columns ``panel``, ``subject``, ``value`` and either ``deviation`` or the interval's ``low`` and
        ``high``, a panel each; ``lines``: columns ``panel``, ``subject``, ``x``, ``value``, ``low`` and ``high``, a
        panel each and a line for each subject, and maybe ``counted``, true of what is drawn as bars behind the lines;
        ``steps``: columns ``subject``, ``x``, ``y``, a curve for each subject; ``points``: the same columns, a point a
        row.
    data
        The columns.
    x_label, y_label
        What stands at the axes; panels have their names at that of the values.
    x_range
        The stretch of x that is shown; ``None`` for all.
    x_ticks
        Names of the places 0, 1, ... on the x-axis of lines; none where x is a number.
    log_x, log_y
        Whether x (of lines) or y (of lines and points) is on a logarithmic scale; that of points is linear up to 1.
    """

    kind: Literal["bars", "lines", "steps", "points"]
    data: Mapping[str, Sequence[Any]]
    x_label: str = ""
    y_label: str = ""
    x_range: tuple[float, float] | None = None
    x_ticks: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reproduction found.

    Attributes
    ----------
    notes
        What was simulated, and how it differs from the paper.
    rows
        The numbers.
    claims
        What is tested.
    drawing
        The figure; ``None`` for a table.
    preconditions
        What must be so for claims to be tested, and whether it is.
    parameters
        What the paper does not print.
    runs
        How many independent draws the numbers are of, in words; empty where nothing is drawn.
    """

    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    drawing: Drawing | None = None
    preconditions: tuple[Precondition, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    runs: str = ""


@dataclass(frozen=True, slots=True)
class Control:
    """The system under test replaced by a plain one, under which a claim that tests the system does not hold.

    Attributes
    ----------
    name
        What replaces what, such as "SEJF and LEJF are FCFS".
    instead
        From the pattern of a dispatcher's or predictor's spec, matched from its beginning, to what replaces the match.
    part
        The part that is broken where the system is no dispatcher; a study asks for it by :meth:`Means.broken`.
    """

    name: str
    instead: tuple[tuple[str, str], ...] = ()
    part: str = ""

    def __call__(self, spec: str) -> str:
        """Return the spec that stands for a dispatcher or predictor; that of a warm start is changed inside."""
        if spec.startswith("warm-start:"):
            begin, over, inside = spec.partition(",over=")
            return begin + over + self(inside.replace("/", ",")).replace(",", "/")
        for pattern, replacement in self.instead:
            spec = re.sub(f"^(?:{pattern})", replacement, spec)
        return spec


@dataclass(frozen=True)
class Means:
    """What a reproduction works with.

    Attributes
    ----------
    scale
        How much is simulated.
    store
        The folder that finished simulations are kept in.
    workers
        Processes to simulate in; 1 is this one.
    progress
        Called now and then.
    seed
        The first seed of what is drawn.
    seeds
        How many independent draws there are; those of the scale if ``None``.
    control
        What replaces the system under test; ``None`` runs the system itself.
    """

    scale: Scale
    store: Path
    workers: int = 1
    progress: Callable[[CampaignProgress], None] | None = field(default=None, compare=False)
    seed: int = 0
    seeds: int | None = None
    control: Control | None = None

    def draws(self, counts: Mapping[Scale, int]) -> range:
        """Return the seeds of the draws; `counts` has how many there are at each scale."""
        return range(self.seed, self.seed + (self.seeds or counts[self.scale]))

    def broken(self, part: str) -> bool:
        """Return whether a part of the system under test is broken on purpose."""
        return self.control is not None and self.control.part == part


Run = Callable[[Means], Outcome]


@dataclass(frozen=True, slots=True)
class Entry:
    """A table or figure of a paper.

    Attributes
    ----------
    name
        ``PAPER/tableN`` or ``PAPER/figN``; another word for what the paper does not have.
    title
        What it shows.
    paper
        Where it is printed.
    run
        Makes it; ``None`` where it is not built.
    controls
        What replaces its systems under test, each in turn.
    paper_runs
        How many runs the paper has; empty where it says nothing.
    ours
        Whether the paper has nothing like it.
    """

    name: str
    title: str
    paper: str
    run: Run | None = None
    controls: tuple[Control, ...] = ()
    paper_runs: str = ""
    ours: bool = False


class NotBuiltError(InputError):
    """What is asked for is listed, but not built."""
