"""Jobs of a trace: their requests and their real run times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal, NoReturn, get_args

from ..base import LONGEST, check_choice, check_number, check_whole, shown
from ..base.checks import LARGEST, check_text

Kind = Literal["batch", "on-demand"]
KINDS = ("batch", "on-demand")
#: The conditions of dependencies, as in ``sbatch --dependency``. The job may enter the queue after the other job has
#: started (or left without a start), has completed, has failed, or has ended in any way. ``aftercorr`` is after the
#: same task of another array. ``singleton`` is after all earlier jobs of the same user and name. ``react`` is no option
#: of a batch system: the user submits the job when the other one has ended in any way, see :func:`.closed_loop`.
Condition = Literal["after", "afterok", "afternotok", "afterany", "aftercorr", "singleton", "react"]
CONDITIONS = get_args(Condition)
#: The condition of a submission that follows the end of another job.
REACT = "react"
#: The largest priority of a job, as in Slurm; the least is its negative.
MOST_PRIORITY = 2**32 - 1


class ResourceMap(dict[str, int]):
    """An immutable, hashable mapping from resource name to amount, such as ``{"core": 16, "gpu": 2}``.

    Examples
    --------
    >>> from hpcdispatch.workloads import ResourceMap
    >>> amounts = ResourceMap({"core": 16, "gpu": 2})
    >>> amounts["gpu"], amounts == {"gpu": 2, "core": 16}
    (2, True)
    """

    __slots__ = ("_hash",)
    _hash: int

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("the resources of a job cannot be changed; make a new job with dataclasses.replace")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash by content, computed once."""
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def __reduce__(self) -> tuple[type[ResourceMap], tuple[dict[str, int]]]:
        """Pickle as a plain dictionary, since the items cannot be set one by one."""
        return ResourceMap, (dict(self),)


ONE_CORE = ResourceMap(core=1)
NO_LICENCES = ResourceMap()
_TEXTS = ("user", "group", "name", "queue", "array", "reservation", "qos")
_texts = attrgetter(*_TEXTS)


@dataclass(frozen=True, slots=True)
class Shape:
    """An alternative request of a moldable job.

    Attributes
    ----------
    nodes
        Number of node slots, at least 1.
    runtime
        Run time on this shape, seconds.
    walltime
        Walltime on this shape, seconds.
    per_node
        Resources per node slot; ``None`` takes the job's own.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import Shape
    >>> wide = Shape(nodes=8, runtime=600, walltime=900)
    >>> job = hd.Job("a", submit=0, runtime=2000, walltime=2700, nodes=2, shapes=(wide,))
    >>> [shape.nodes for shape in job.shapes]
    [8]
    """

    nodes: int
    runtime: int
    walltime: int
    per_node: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        _check_numbers("shape", self, (("nodes", 1), ("runtime", 0), ("walltime", 1)))
        if self.per_node is not None:
            object.__setattr__(self, "per_node", _resources("shape", self.per_node))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Checkpoints of a job.

    Attributes
    ----------
    system_size
        Size of a system-level checkpoint (the memory in use) per node slot, gigabytes.
    application_size
        Size of a checkpoint that the application writes itself per node slot, gigabytes.
    interval
        Seconds of work between two application checkpoints. ``None`` if the application writes none. A killed job
        resumes from the last one.
    write
        Seconds to write an application checkpoint when it is due, below `interval`. The run time includes them. A job
        killed before the end of the writing resumes from the previous checkpoint.
    restart
        Seconds that a job needs before it continues. They apply each time it starts after a kill or a checkpoint.

    Raises
    ------
    ValueError
        If a field is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import Checkpoint
    >>> saves = Checkpoint(application_size=20.0, interval=3600, write=60, restart=30)
    >>> job = hd.Job("a", submit=0, runtime=7200, walltime=9000, checkpoint=saves)
    >>> job.checkpoint.interval
    3600
    """

    system_size: float = 0.0
    application_size: float = 0.0
    interval: int | None = None
    write: int = 0
    restart: int = 0

    def __post_init__(self) -> None:
        for name in ("system_size", "application_size"):
            check_number(f"checkpoint: {name}", getattr(self, name), least=0)
        if self.interval is not None:
            _check_numbers("checkpoint", self, (("interval", 1),))
        _check_numbers("checkpoint", self, (("write", 0), ("restart", 0)))
        if self.interval is None and self.write:
            raise ValueError(f"checkpoint: write must be 0 without an interval, got {self.write}")
        if self.interval is not None and self.write >= self.interval:
            raise ValueError(f"checkpoint: write must be below the interval of {self.interval} s, got {self.write}")

    def kept_of(self, work: int) -> int:
        """Return the seconds of a job's work that its last application checkpoint keeps."""
        if self.interval is None or work < self.interval + self.write:
            return 0
        return (work - self.write) // self.interval * self.interval + self.write


@dataclass(frozen=True, slots=True)
class Job:
    """One job: its request and its real run time.

    A job requests `nodes` node slots, each with the resources `per_node`. Two slots of a job may lie on one node if it
    has room for both. All times are integer seconds.

    Attributes
    ----------
    id
        Name, unique in its workload.
    submit
        Time of submission, at least 0.
    runtime
        Actual run time on the requested shape. Dispatchers never see it.
    walltime
        Walltime, at least 1.
    nodes
        Number of node slots, at least 1.
    per_node
        Resource name to amount per node slot; at least one amount above 0.
    user, group, name, queue
        Of the submission; empty if unknown. `name` is the job or executable name.
    kind
        ``"batch"``, or ``"on-demand"`` for a job that may evict batch jobs.
    shapes
        The alternatives of a moldable job, beside the requested shape.
    checkpoint
        Checkpoints of the job, if it can write any.
    law
        The run time distribution of a stochastic job: a frozen scipy distribution in seconds.
    deadline
        Seconds after its submission within which an on-demand job should start, at least 0. ``None`` if not given, and
        for batch jobs.
    array
        The array of which the job is a task. A limit on its running tasks follows, as in ``278%3``; empty: none.
    reservation
        The advance reservation of the job; empty: none.
    depends
        Dependencies before it enters the queue. Each is a pair of an id (of a job or an array) and a condition, as in
        ``(("17", "afterok"),)``. A third value is a delay in seconds. See :data:`.CONDITIONS`.
    begin
        The earliest time at which it may enter the queue, seconds on the trace's clock.
    hold
        Whether it is held: it never enters the queue.
    priority
        Larger first among the jobs that enter the queue at one instant, under every dispatcher. With ``order=priority``
        it orders the whole queue. Within :data:`.MOST_PRIORITY` of 0.
    qos
        The requested quality of service; empty: none.
    exclusive
        Whether it shares its nodes with no other job. Each of its slots then has its own node.
    soft_walltime
        Seconds that it is planned to run, at most its walltime; ``None``: its walltime. It is killed only at its
        walltime, as with PBS's ``soft_walltime``.
    licences
        Number of licences that it uses while it runs, by name.
    together
        Jobs with the same text are the components of a heterogeneous job. They start at the same instant under
        ``slurm``; other dispatchers start them one by one. Empty: none.
    spread
        Least and largest number of nodes of its slots, as with ``-N 2-4 -n 8``. Only ``slurm`` keeps to them. ``None``:
        any.
    within
        A level of the machine, such as ``"rack"``: all its slots lie in one group of it. Empty: anywhere.
    within_groups
        The most groups of that level, at least 1, as with ``--switches=2``.
    within_wait
        Seconds in the queue for which it waits for these groups. Then, it only prefers few groups. ``None``: for ever.
        0: it only prefers them.
    slots
        The amounts of each slot if they are unequal, as in ``({"gpu": 8}, {"gpu": 4})``. They are multiples of one
        amount. `nodes` is then their number, and `per_node` the largest amount of each resource. ``None``: all slots
        have `per_node`.

    Raises
    ------
    ValueError
        If a field is out of its range; the message names job, field, expected and received.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> job = hd.Job("17", submit=0, runtime=1800, walltime=3600, nodes=4, per_node={"core": 8, "gpu": 1}, user="ada")
    >>> job.nodes * job.per_node["core"]
    32
    """

    id: str
    submit: int
    runtime: int
    walltime: int
    nodes: int = 1
    per_node: Mapping[str, int] = field(default=ONE_CORE)
    user: str = ""
    group: str = ""
    name: str = ""
    queue: str = ""
    kind: Kind = "batch"
    shapes: tuple[Shape, ...] = ()
    checkpoint: Checkpoint | None = None
    law: Any = None
    deadline: int | None = None
    array: str = ""
    reservation: str = ""
    depends: tuple[tuple[Any, ...], ...] = ()
    begin: int = 0
    hold: bool = False
    priority: int = 0
    qos: str = ""
    exclusive: bool = False
    soft_walltime: int | None = None
    licences: Mapping[str, int] = field(default=NO_LICENCES)
    together: str = ""
    spread: tuple[int, int] | None = None
    within: str = ""
    within_groups: int = 1
    within_wait: int | None = None
    slots: tuple[Mapping[str, int], ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ValueError(f"job {self.id!r}: id must be a non-empty text, got {self.id!r}")
        where = f"job {self.id}"
        if self.slots is not None:
            _set_unequal(where, self)
        _check_numbers(where, self, (("submit", 0), ("runtime", 0), ("walltime", 1), ("nodes", 1)))
        object.__setattr__(self, "per_node", _resources(where, self.per_node))
        if set(map(type, _texts(self))) != {str}:  # a check of each takes a fifth of the time of a job
            for name in _TEXTS:
                check_text(f"{where}: {name}", getattr(self, name))
        if type(self.shapes) is not tuple or self.shapes:
            if not isinstance(self.shapes, Sequence) or not all(isinstance(each, Shape) for each in self.shapes):
                raise ValueError(f"{where}: shapes must be a sequence of Shape, got {shown(self.shapes)}")
            object.__setattr__(self, "shapes", tuple(self.shapes))
        check_choice(f"{where}: kind", self.kind, KINDS)
        if self.deadline is not None:
            _check_numbers(where, self, (("deadline", 0),))
            if self.kind != "on-demand":
                raise ValueError(f"{where}: deadline is for on-demand jobs, got {self.deadline} for a {self.kind} job")
        if self.depends:
            object.__setattr__(self, "depends", _dependencies(where, self.depends))
        if self.begin:
            _check_numbers(where, self, (("begin", 0),))
        for name in ("hold", "exclusive"):
            if type(getattr(self, name)) is not bool:
                raise ValueError(f"{where}: {name} must be True or False, got {getattr(self, name)!r}")
        name, limited, most = self.array.partition("%")
        if limited and not (name and most.isdecimal() and int(most) > 0):
            expected = "expected a name, or name%N with N >= 1 tasks that may run at a time"
            raise ValueError(f"{where}: array: {expected}, got {shown(self.array)}")
        if self.soft_walltime is not None:
            check_whole(f"{where}: soft_walltime", self.soft_walltime, 1, self.walltime)
        if self.licences is not NO_LICENCES:
            if not isinstance(self.licences, Mapping):
                raise ValueError(f"{where}: licences must be whole numbers by name, got {shown(self.licences)}")
            numbers = {name: check_whole(f"{where}: licences: {name}", n, 0) for name, n in self.licences.items()}
            object.__setattr__(self, "licences", ResourceMap(numbers))
        if type(self.together) is not str:
            check_text(f"{where}: together", self.together)
        if self.spread is not None:
            object.__setattr__(self, "spread", _spread(where, self.spread))
        if type(self.within) is not str:
            check_text(f"{where}: within", self.within)
        if self.within_groups != 1 or type(self.within_groups) is not int:
            object.__setattr__(
                self, "within_groups", check_whole(f"{where}: within_groups", self.within_groups, 1, LARGEST)
            )
        if self.within_wait is not None:
            object.__setattr__(self, "within_wait", check_whole(f"{where}: within_wait", self.within_wait, 0, LONGEST))
        if not self.within and (self.within_groups != 1 or self.within_wait is not None):
            raise ValueError(f"{where}: within_groups and within_wait need a level; set within, such as rack")
        if type(self.priority) is not int or self.priority:
            priority = check_whole(f"{where}: priority", self.priority, -MOST_PRIORITY, MOST_PRIORITY)
            object.__setattr__(self, "priority", priority)

    def __deepcopy__(self, memo: dict[int, Any]) -> Job:
        """Return itself: it never changes."""
        return self

    def on_shape(self, index: int | None) -> Job:
        """Return the job with only one of its shapes. ``None`` is its own request and returns itself."""
        if index is None:
            return self
        shape = self.shapes[index]
        per_node = self.per_node if shape.per_node is None else shape.per_node
        return replace(
            self, nodes=shape.nodes, per_node=per_node, runtime=shape.runtime, walltime=shape.walltime, shapes=()
        )

    @classmethod
    def trusted(cls, **values: Any) -> Job:
        """Build a job from fields that were checked before, without a check; for readers of large traces.

        Every field must be given, of its exact type.
        """
        job = object.__new__(cls)
        setattr_ = object.__setattr__
        for name, value in values.items():
            setattr_(job, name, value)
        return job


def _check_numbers(where: str, owner: Any, least: tuple[tuple[str, int], ...]) -> None:
    """Check whole-number fields against their least value and store them as Python ints."""
    for name, low in least:
        most = LARGEST if name == "nodes" else LONGEST
        object.__setattr__(owner, name, check_whole(f"{where}: {name}", getattr(owner, name), low, most))


def _set_unequal(where: str, job: Job) -> None:
    """Set number and amounts of unequal slots. A job that counts them in units of one amount stays as it is.

    Raises
    ------
    ValueError
        If they are no sequence of amounts, or no multiples of one amount.
    """
    given = job.slots
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or not given:
        raise ValueError(f"{where}: slots must be a list of amounts such as [{{'gpu': 8}}], got {shown(given)}")
    if job.exclusive:
        raise ValueError(f"{where}: slots of unequal amounts share their nodes; leave out exclusive or slots")
    if job.shapes:
        raise ValueError(f"{where}: slots are for jobs without shapes, got {len(job.shapes)} shapes; leave one out")
    slots = tuple(_resources(f"{where}: slot {place}", slot, "") for place, slot in enumerate(given))
    unit, factors = slot_units(where, slots)
    object.__setattr__(job, "slots", slots)
    if (job.nodes, job.per_node) == (sum(factors), unit):
        return
    if job.nodes not in (1, len(slots)):
        raise ValueError(f"{where}: nodes must be the number of slots, {len(slots)}, got {job.nodes}")
    most = {name: max(slot.get(name, 0) for slot in slots) for slot in slots for name in slot}
    object.__setattr__(job, "nodes", len(slots))
    object.__setattr__(job, "per_node", ResourceMap(most))


def slot_units(where: str, slots: Sequence[Mapping[str, int]]) -> tuple[ResourceMap, tuple[int, ...]]:
    """Return the amount of which all slots are multiples, and the factor of each.

    Raises
    ------
    ValueError
        If they are no multiples of one amount.
    """
    names = sorted({name for slot in slots for name, amount in slot.items() if amount})
    units = {name: math.gcd(*(slot.get(name, 0) for slot in slots)) for name in names}
    factors = []
    for slot in slots:
        multiples = {slot.get(name, 0) // unit for name, unit in units.items()}
        if len(multiples) != 1:
            told = " and ".join(str(dict(each)) for each in slots[:2])
            raise ValueError(
                f"{where}: slots must be multiples of one amount, as {{'gpu': 8}} and {{'gpu': 4}} are; got {told}"
            )
        factors.append(multiples.pop())
    return ResourceMap(units), tuple(factors)


def _spread(where: str, spread: Any) -> tuple[int, int]:
    """Return the least and the largest number of nodes of a job."""
    if not isinstance(spread, Sequence) or len(spread) != 2:
        raise ValueError(f"{where}: spread must be the least and the largest number of nodes, got {shown(spread)}")
    least = check_whole(f"{where}: spread: least", spread[0], 1, LARGEST)
    return least, check_whole(f"{where}: spread: most", spread[1], least, LARGEST)


def _dependencies(where: str, depends: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the dependencies of a job as tuples.

    Raises
    ------
    ValueError
        If they are no sequence of (id, condition) or (id, condition, delay in seconds).
    """
    try:
        dependencies = tuple(tuple(each) for each in depends)
    except TypeError:
        dependencies = (("",),)
    for each in dependencies:
        right = len(each) in (2, 3) and isinstance(each[0], str) and each[1] in CONDITIONS
        if not right or (not each[0] and each[1] != "singleton"):
            expected = f"(job id, condition) with a condition of {', '.join(CONDITIONS)}"
            raise ValueError(f"{where}: depends: expected {expected}, got {shown(depends)}")
        delay = each[2] if len(each) == 3 else 0
        if type(delay) is not int or not 0 <= delay <= LONGEST:
            raise ValueError(f"{where}: depends: delay must be a whole number >= 0, got {shown(delay)}")
    return dependencies


def _resources(where: str, amounts: Mapping[str, int], what: str = " per_node") -> ResourceMap:
    if isinstance(amounts, ResourceMap) and amounts:
        return amounts
    if not isinstance(amounts, Mapping):
        raise ValueError(f"{where}:{what} must be amounts by resource, such as {{'core': 4}}, got {shown(amounts)}")
    checked = {str(name): check_whole(f"{where}:{what}[{name!r}]", value, 0) for name, value in amounts.items()}
    if not any(checked.values()):
        raise ValueError(f"{where}:{what} must ask for at least one resource, got {dict(amounts)}")
    return ResourceMap(checked)
