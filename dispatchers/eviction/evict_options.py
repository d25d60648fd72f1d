"""Options of the eviction of batch jobs."""

from dataclasses import dataclass
from typing import Literal

from ...base import check_choice, check_number, check_whole
from ...models.eviction import Storage
from ..options import internal
from ..protocol import Dispatcher

#: Choice of evicted jobs: optimal, by a heuristic, only kills, or none. Or a fixed partition.
Policy = Literal["dp", "greedy", "kill", "wait", "static"]


@dataclass(frozen=True)
class EvictOptions:
    """Options of :class:`Evict`.

    Attributes
    ----------
    over
        Dispatcher of the batch jobs: an object, or ``NAME``, or ``NAME:key=value/key=value`` with ``/`` instead of the
        comma.
    policy
        ``"dp"``: the plan of the least loss. ``"greedy"``: the paper's heuristic. ``"kill"``: immediate kills, at the
        least loss. ``"wait"``: no eviction. ``"static"``: a fixed partition for on-demand jobs.
    reserve
        Size of the partition with ``"static"``, in nodes. On a machine of one node, in units of its primary resource.
    deadline
        Seconds within which an on-demand job without an own deadline should start.
    most
        How often a job may be evicted. ``None`` for no limit.
    step
        Seconds to which plans round up the times of checkpoints.
    aggregate
        Bandwidth of the file system, GB/s.
    node
        Bandwidth of a node, GB/s.
    ends
        Let jobs predicted to end by the deadline end, if the expected loss is less. If one does not end, other jobs are
        chosen.
    unsure
        Probability, 0 to 1, that a job does not end at its prediction. A job with a run-time law uses its law.
    sharing
        Write the checkpoints of a plan concurrently, so that they share the bandwidth.

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
        """Storage of the checkpoints."""
        return Storage(self.aggregate, self.node)
