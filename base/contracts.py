"""What the framework reads of a plugged-in part beyond its required methods, with types and defaults, in one place.

A part is a plain object. It has what it needs of a contract, and the defaults hold for the rest. Code asks the contract
and never the part: ``PredictorContract(predictor).correct``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")


class Member(Generic[T]):
    """A member of a contract: the attribute of the part, or the default.

    Parameters
    ----------
    default
        Value for parts without it. ``None`` for an optional method.
    kind
        Type of the value. ``Callable`` for a method.
    """

    def __init__(self, default: T, kind: Any) -> None:
        self.default = default
        self.kind = kind
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, contract: None, owner: type) -> "Member[T]": ...
    @overload
    def __get__(self, contract: "Contract", owner: type) -> T: ...
    def __get__(self, contract: "Contract | None", owner: type) -> "T | Member[T]":
        if contract is None:
            return self
        return cast(T, getattr(contract.part, self.name, self.default))

    @property
    def is_method(self) -> bool:
        """Whether it is an optional method."""
        return self.kind is Callable


def flag() -> Member[bool]:
    """Return a member that is true or false, by default false."""
    return Member(False, bool)


class Contract:
    """View of a part with all members of a contract. A subclass lists them.

    Parameters
    ----------
    part
        The part.
    """

    __slots__ = ("part",)

    def __init__(self, part: Any) -> None:
        self.part = part

    @classmethod
    def members(cls) -> dict[str, Member[Any]]:
        """Return the members by name."""
        return {name: member for name, member in vars(cls).items() if isinstance(member, Member)}

    def faults(self) -> list[str]:
        """Return what is wrong with the members of the part, one line each: a value of another type, a near name."""
        faults = []
        members = self.members()
        for name, member in members.items():
            value = getattr(self.part, name, member.default)
            if value is member.default:
                continue
            if member.is_method and not callable(value):
                faults.append(f"{name} must be a method, got {value!r}")
            elif not member.is_method and not isinstance(value, member.kind):
                kind = getattr(member.kind, "__name__", str(member.kind))
                faults.append(f"{name} must be of type {kind}, got {value!r}")
        plain = {_plain(name): name for name in members}
        for name in dir(self.part):
            meant = plain.get(_plain(name))
            if meant is None or name in members or name.startswith("_"):
                continue
            # An attribute of another kind, such as a number called count, is no slip of the pen.
            value = getattr(self.part, name)
            if callable(value) if members[meant].is_method else members[meant].kind is bool and isinstance(value, bool):
                faults.append(f"{name} is not read; it is called {meant}")
        return faults


def _plain(name: str) -> str:
    """Return a name without underscores and the endings by which names are confused."""
    return name.replace("_", "").lower().removesuffix("s")


class PredictorContract(Contract):
    """What the framework reads of a predictor beside ``predict(job, now)`` and ``observe(job)``.

    Attributes
    ----------
    name
        Name in tables. By default the class with its options.
    uses
        Packages whose version may change a prediction.
    reset
        ``reset()`` drops everything observed. Called at the start of each simulation.
    correct
        ``correct(job, elapsed, misses)`` returns a new prediction of the whole run time after a miss, seconds. Without
        it the predictor gets `correction`.
    correction
        Name of the correction of a predictor without `correct`: Tsafrir's steps up to the walltime by default.
    distribution
        ``distribution(job)`` returns the distribution of the whole run time, or ``None``.
    predict_many
        ``predict_many(jobs, now)`` returns the predictions of jobs that are submitted at the same time.
    started, stopped
        ``started(job, now)`` and ``stopped(job, now)`` are called when a job starts, and when it has left the machine.
    counts
        ``counts()`` returns numbers by name, for ``Result.manifest["predictions"]``.
    notes
        ``notes()`` returns lines that a user should know after a simulation, such as that all was guessed. Each is a
        warning.
    above_walltime
        Whether predictions above the walltime count as they are, also if jobs are killed at their walltimes.
    reads_runtimes
        Whether it is an oracle, which may read run times of jobs that have not ended.

    Examples
    --------
    >>> from hpcdispatch.predictors import Oracle, PredictorContract
    >>> contract = PredictorContract(Oracle())
    >>> contract.reads_runtimes, contract.correction
    (True, 'tsafrir')
    """

    __slots__ = ()

    name = Member[str]("", str)
    uses = Member[Sequence[str]]((), Sequence)
    reset = Member[Callable[[], None] | None](None, Callable)
    correct = Member[Callable[[Any, int, int], float] | None](None, Callable)
    correction = Member[str]("tsafrir", str)
    distribution = Member[Callable[[Any], Any] | None](None, Callable)
    predict_many = Member[Callable[[Sequence[Any], int], Iterable[float]] | None](None, Callable)
    started = Member[Callable[[Any, int], None] | None](None, Callable)
    stopped = Member[Callable[[Any, int], None] | None](None, Callable)
    counts = Member[Callable[[], Mapping[str, int]] | None](None, Callable)
    notes = Member[Callable[[], Sequence[str]] | None](None, Callable)
    above_walltime = flag()
    reads_runtimes = flag()
