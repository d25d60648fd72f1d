"""Any dispatcher, with the longest wait bounded by EASY's."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypedDict, Unpack

from ...base.checks import Checked, number
from ...base.time_texts import seconds_option
from ..options import Layer, internal
from ..protocol import Action, Dispatcher, Start, State, id_of, well_formed
from ..registered import reported
from .guard import LEAST, Guard
from .history import History


@dataclass(frozen=True)
class GuardedOptions(Checked):
    """Options of :class:`Guarded`.

    Attributes
    ----------
    over
        Inner dispatcher: an object, or ``NAME``, or ``NAME:key=value/key=value`` with ``/`` instead of the comma.
    guard
        Above 0: the bound, as a multiple of the longest wait expected under EASY.
    least
        Waits up to this are not bounded, in seconds or as ``1h``, at least 1 s.
    recent
        How long a long wait under EASY counts after the job has started there, in seconds or as ``28d``, at least 1 s.
        ``inf`` for ever.
    """

    over: str | Dispatcher = "lookahead"
    guard: Annotated[float, number(above=0, infinite=True)] = 1.0
    least: float | str = LEAST
    recent: float | str = internal(math.inf)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.least_seconds, self.recent_seconds

    @cached_property
    def least_seconds(self) -> int:
        """Wait up to which nothing is bounded, seconds."""
        return seconds_option("least", self.least, 1)

    @cached_property
    def recent_seconds(self) -> int:
        """How long a long wait under EASY counts, seconds."""
        return seconds_option("recent", self.recent, 1, infinite=True)


class GuardedGiven(TypedDict, total=False):
    """The options of :class:`GuardedOptions` by name, for type checkers."""

    over: str | Dispatcher
    guard: float
    least: float | str
    recent: float | str


class Guarded(Layer[GuardedOptions]):
    """Runs another dispatcher, but only starts jobs if EASY could still keep every wait within its longest one.

    EASY's schedule of the same jobs, by walltimes, is kept beside the real one. Suppose EASY, deciding from now on,
    could not keep every wait within the longest one expected there. Then only those jobs of `over` start after which it
    still could, and EASY's own starts are added. Decisions have a column ``held``: whether this happened. The check
    uses sums of resources. So `over` is unrestricted with different or shared nodes, and with moldable jobs. It is also
    unrestricted while a part of the machine closes soon, and while jobs may lack licences, power or room in a limit.

    The options are those of :class:`GuardedOptions`, which lists the errors. As an attribute, `over` is the inner
    dispatcher itself.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Guarded
    >>> workload = hd.generate("lublin", jobs=200, processors=64, load=0.9, seed=1)
    >>> longest = {name: int(hd.simulate(workload, name).jobs["wait"].max()) for name in ("easy", "sjf")}
    >>> longest["guarded"] = int(hd.simulate(workload, Guarded(over="sjf")).jobs["wait"].max())
    >>> longest
    {'easy': 83408, 'sjf': 69248, 'guarded': 72181}
    """

    Options = GuardedOptions
    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, options: GuardedOptions | None = None, /, **given: Unpack[GuardedGiven]) -> None: ...

    @property
    def unbounded(self) -> str:
        """See :class:`.Guard`."""
        return self._guard.unbounded

    def forget(self) -> None:
        """Drop all jobs."""
        self._history: History | None = None
        self._guard = Guard(self.options.guard, self.options.least_seconds)

    def job_ended(self, id_: str, ran: int, now: int) -> None:
        """Record the total run time of an ended job, seconds."""
        if self._history is not None:
            self._history.ended(id_, ran)

    def report(self) -> Mapping[str, Any]:
        """Return the report of `over`, and as ``held`` whether its last decision was changed."""
        return {**reported(self.over), "held": int(self._guard.held)}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Run the inner dispatcher, and start the jobs after which EASY could take over."""
        if self._history is None or self._history.machine is not state.machine:
            self._history = History(state.machine, state.now, by_walltimes=True, recent=self.options.recent_seconds)
        self._history.see(state)
        wanted = self.over.dispatch(state)
        if not well_formed(wanted):
            return wanted
        actions = self._guard.kept(state, wanted, self._history)
        self._history.start(id_of(action.job) for action in actions if isinstance(action, Start))
        return actions
