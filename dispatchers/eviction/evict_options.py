"""What can be set of the eviction of batch jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...base.checks import check_choice, check_number, check_whole
from ...models.eviction import Storage
from ..options import internal
from ..protocol import Dispatcher

#: Who gives way: the best choice, that of a heuristic, killed jobs only, nobody; or nodes are set apart.
Policy = Literal["dp", "greedy", "kill", "wait", "static"]


@dataclass(frozen=True)
class EvictOptions:
    """The options of :class:`Evict`.

    Attributes
    ----------
    over
        The dispatcher of the batch jobs: an object, or ``NAME``, or ``NAME:key=value/key=value`` with ``/`` in place of
        the comma.
    policy
        ``"dp"``: the plan of the least loss. ``"greedy"``: that of the paper's heuristic. ``"kill"``: jobs are killed,
        at once, at the least loss. ``"wait"``: nobody gives way. ``"static"``: nodes are set apart for on-demand jobs.
    reserve
        With ``"static"``: how many nodes; on a machine of one node, how many units of its primary resource.
    deadline
        Seconds within which an on-demand job that says nothing should start.
    most
        How often a job may be made to give way; after that it is left alone. ``None``: without limit.
    step
        Seconds that the times of checkpoints are rounded up to while planning.
    aggregate, node
        Bandwidth of the file system and of a node, GB/s.
    ends
        Leave jobs that are predicted to end by the deadline to do so, where that is expected to lose less. Where one
        has not ended then, somebody is chosen anew.
    unsure
        The probability, 0 to 1, that a job does not end when it is predicted to; where the job has a law of its run
        time, that of the law is taken.
    sharing
        Write the checkpoints of a plan at the same time, so that they share the bandwidth.

    Raises
    ------
    ValueError
        For a value outside its range.
    """

    over: str | Dispatcher = "easy"
    policy: Policy = "dp"
    reserve: int = 0
    deadline: int = 900
    most: int | None = 3
    step: int = 15
    aggregate: float = 250.0
    node: float = 0.7
    sharing: bool = False
    ends: bool = False
    unsure: float = internal(0.0)

    def __post_init__(self) -> None:
        check_choice("policy", self.policy, Policy)
        for name, least in (("reserve", 0), ("deadline", 0), ("step", 1), *([("most", 0)] * (self.most is not None))):
            check_whole(name, getattr(self, name), least)
        if (self.policy == "static") != (self.reserve > 0):
            given = f"{self.reserve} with {self.policy}"
            raise ValueError(f"reserve must be > 0 with policy=static and 0 without it, got {given}")
        check_number("unsure", self.unsure, least=0, most=1)
        if self.unsure and not self.ends:
            raise ValueError(f"unsure must be 0 without ends=true, got {self.unsure}")
        _ = self.storage

    @property
    def storage(self) -> Storage:
        """What checkpoints are written to."""
        return Storage(self.aggregate, self.node)
