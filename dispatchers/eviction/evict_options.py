"""Options of the eviction of batch jobs."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from ...base.checks import Checked, number, whole
from ...models.eviction import Storage
from ..options import internal
from ..protocol import Dispatcher

#: Choice of evicted jobs: optimal, by a heuristic, only kills, at random, or none. Or a fixed partition.
Policy = Literal["dp", "greedy", "kill", "random", "wait", "static"]


@dataclass(frozen=True)
class EvictOptions(Checked):
    """Options of :class:`Evict`.

    Attributes
    ----------
    over
        Dispatcher of the batch jobs: an object, or ``NAME``, or ``NAME:key=value/key=value`` with ``/`` instead of the
        comma.
    policy
        ``"dp"``: the plan of the least loss. ``"greedy"``: the paper's heuristic. ``"kill"``: immediate kills, at the
        least loss. ``"random"``: jobs at random until enough nodes are free, as a baseline. ``"wait"``: no eviction.
        ``"static"``: a fixed partition for on-demand jobs.
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
    reserve: Annotated[int, whole(0)] = 0
    deadline: Annotated[int, whole(0)] = 900
    most: Annotated[int | None, whole(0)] = 3
    step: Annotated[int, whole(1)] = 15
    aggregate: float = 250.0
    node: float = 0.7
    sharing: bool = False
    ends: bool = False
    unsure: Annotated[float, number(least=0, most=1)] = internal(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.policy == "static") != (self.reserve > 0):
            given = f"{self.reserve} with {self.policy}"
            raise ValueError(f"reserve must be > 0 with policy=static and 0 without it, got {given}")
        if self.unsure and not self.ends:
            raise ValueError(f"unsure must be 0 without ends=true, got {self.unsure}")
        _ = self.storage

    @property
    def storage(self) -> Storage:
        """Storage of the checkpoints."""
        return Storage(self.aggregate, self.node)


class EvictGiven(TypedDict, total=False):
    """The options of :class:`EvictOptions` by name, for type checkers."""

    over: str | Dispatcher
    policy: Policy
    reserve: int
    deadline: int
    most: int | None
    step: int
    aggregate: float
    node: float
    sharing: bool
    ends: bool
    unsure: float
