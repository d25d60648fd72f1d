"""Types for a reproduction of a table or figure, and for its outcome."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ....base import InputError
from ...campaigns.execution import CampaignProgress

Scale = Literal["smoke", "brief", "small", "full"]
#: Seconds (for tests), a few minutes, many minutes, and up to hours.
SCALES: tuple[Scale, ...] = get_args(Scale)

#: Whether a claim's check can fail, follows from the definitions, or uses a fitted set-up.
ClaimKind = Literal["tested", "construction", "calibrated"]


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A measured number beside the published one.

    Attributes
    ----------
    subject
        Its subject, such as a dispatcher with its predictor.
    metric
        What is measured, with its unit.
    measured
        The mean over the samples; ``None`` where nothing was measured.
    published
        In the paper; ``None`` where it prints none.
    low, high
        A interval of the mean over the samples. ``None`` where there is one sample.
    digits
        How many are shown behind the point.
    timed
        Whether it is a measured time, which varies between runs.
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
        Whether it does; ``None`` if the samples do not tell, or it cannot be tested.
    evidence
        The numbers.
    timed
        Whether they are measured times.
    kind
        Only a tested claim counts. Claims that hold by construction, or that the set-up was calibrated to, are only
        shown.
    unmet
        Unmet preconditions that the claim needs to be tested. Empty if all are met.
    setting
        The setting that is simulated, if it is not the paper's. Such claims have totals of their own.
    overruled
        Whether a precondition decides the verdict, and not the inequality.
    inequality
        Whether the inequality alone holds, if a precondition overrules it.
    """

    text: str
    holds: bool | None
    evidence: str
    timed: bool = False
    kind: ClaimKind = "tested"
    unmet: str = ""
    setting: str = ""
    overruled: bool = False
    inequality: bool | None = None

    @property
    def counts(self) -> bool:
        """Whether it counts for or against the reproduction. A claim that can be tested and fails always does."""
        return not self.unmet and (self.kind == "tested" or self.holds is False)

    @property
    def measured(self) -> bool | None:
        """Whether the inequality holds, whatever its preconditions say."""
        return self.inequality if self.overruled else self.holds


@dataclass(frozen=True, slots=True)
class Precondition:
    """A condition on the simulations that a claim's test needs.

    Attributes
    ----------
    text
        The condition, in words, such as "nodes > 1".
    met
        Whether it is.
    evidence
        The numbers.
    of_system
        Whether it is about the system under test. If unmet, the claim fails. An unmet condition on the jobs makes a
        claim untestable.
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
        The basis of the choice. It differs from what judges the results.
    sensitivity
        The results with other values.
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
        ``bars``: columns ``panel``, ``subject`` and ``value``, one panel each. Also either ``deviation`` or the
        interval's ``low`` and ``high``. ``lines``: columns ``panel``, ``subject``, ``x``, ``value``, ``low`` and
        ``high``. Panels have one line per subject. The optional ``counted`` marks bars behind the lines. ``steps``:
        columns ``subject``, ``x``, ``y``, with one curve per subject. ``points``: the same columns, one point per row.
    data
        The columns.
    x_label, y_label
        Axis labels. Panels have their names at the value axis.
    x_range
        The stretch of x that is shown; ``None`` for all.
    x_ticks
        Names of the places 0, 1, ... on the x-axis of lines. Empty if x is a number.
    log_x, log_y
        Whether x (of lines) or y (of lines and points) is logarithmic. That of points is linear up to 1.
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
class StudyOutcome:
    """What a reproduction found.

    Attributes
    ----------
    notes
        What was simulated, and how it differs from the paper.
    rows
        The numbers.
    claims
        The claims under test.
    drawing
        The figure; ``None`` for a table.
    preconditions
        Preconditions of the claims, and whether each is met.
    parameters
        What the paper does not print.
    runs
        Number of independent samples behind the numbers, in words. Empty without samples.
    """

    notes: tuple[str, ...]
    rows: tuple[ComparedFigure, ...]
    claims: tuple[Claim, ...]
    drawing: Drawing | None = None
    preconditions: tuple[Precondition, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    runs: str = ""


@dataclass(frozen=True, slots=True)
class Control:
    """A plain system in place of the one under test. Claims that test the system fail under it.

    Attributes
    ----------
    name
        The replacement in words, such as "SEJF and LEJF are FCFS".
    instead
        From a spec pattern to its replacement. A dispatcher's or predictor's spec matches from its start.
    part
        The broken part, if the system is no dispatcher. A study asks for it by :meth:`StudySettings.broken`.
    point
        Pattern of the claims whose point it removes. If such a claim holds under it, the claim does not need the
        system. Empty for a control that only breaks something.
    """

    name: str
    instead: tuple[tuple[str, str], ...] = ()
    part: str = ""
    point: str = ""

    def __call__(self, spec: str) -> str:
        """Return the replacement spec for a dispatcher or predictor. A warm start is changed inside."""
        if spec.startswith("warm-start:"):
            begin, over, inside = spec.partition(",over=")
            return begin + over + self(inside.replace("/", ",")).replace(",", "/")
        for pattern, replacement in self.instead:
            spec = re.sub(f"^(?:{pattern})", replacement, spec)
        return spec


@dataclass(frozen=True)
class StudySettings:
    """What a reproduction works with.

    Attributes
    ----------
    scale
        How much is simulated.
    store
        The folder of finished simulations.
    workers
        Processes to simulate in; 1 is this one.
    progress
        Called now and then.
    seed
        The first seed of the samples.
    seeds
        How many independent samples there are. ``None`` takes the scale's number.
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
        """Return the seeds of the samples. `counts` has how many there are at each scale."""
        return range(self.seed, self.seed + (self.seeds or counts[self.scale]))

    def broken(self, part: str) -> bool:
        """Return whether the control breaks a part of the system under test."""
        return self.control is not None and self.control.part == part


Run = Callable[[StudySettings], StudyOutcome]


@dataclass(frozen=True, slots=True)
class PaperResult:
    """A table or figure of a paper.

    Attributes
    ----------
    name
        ``PAPER/tableN`` or ``PAPER/figN``. Other words name what the paper lacks.
    title
        What it shows.
    paper
        Where it is printed.
    run
        Makes it; ``None`` where it is not built.
    controls
        What replaces its systems under test, each in turn.
    paper_runs
        Runs in the paper. Empty if it does not say.
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
    """The requested entry is listed, but not built."""
