"""Controls: plain systems that replace the systems under test.

They show which claims notice, and which would hold of any system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .outcome import Claim, Control, Entry, Means, Outcome, Scale

#: Share of the tested claims that must notice a control.
ENOUGH = 0.9
#: Samples at the smallest scale where controls are judged.
DRAWS = 5
_MODEL = "(?:pcp|hcp)[a-z0-9-]*"
_VERSION = "(?:pcp|hcp)(?:[1-3]|-[a-z]+)"
_PLAIN = "solver=none,iterations=0"

_CP = (
    Control(
        "every model is FCFS with walltimes",
        ((f"{_MODEL}.*|lookahead.*", "fcfs"), ("heuristic.*|oracle.*", "walltime")),
    ),
    Control(
        "every model of versions 1 to 3 is its list",
        (
            (f"({_VERSION}):iterations=[^,]*$", r"\1"),
            (f"({_VERSION}):(.+)", rf"\1:{_PLAIN},\2"),
            (f"({_VERSION})$", rf"\1:{_PLAIN}"),
        ),
    ),
    Control("every prediction is the walltime", (("heuristic.*|oracle.*", "walltime"),)),
)
_SEQUENCE = Control(
    "every request is the maximum",
    ((r"(?:a?toptimal|neuroscience)(:over=[^,]*)(,backfill=speculative)?.*", r"classic-hpc\1\2"),),
)
_SCHEDULER = Control("every scheduler is FCFS", ((r"[a-z-]+:over=.*", "classic-hpc:over=fcfs"),))
_GAPS = Control("nothing is tried in gaps", ((r"(.*),backfill=speculative(.*)", r"\1\2"),))
_FLY = (
    Control("SEJF and LEJF are FCFS", (("sejf|lejf", "fcfs"),)),
    Control("SEJF and LEJF are RBS", (("sejf|lejf", "rbs"),)),
)
_RBS = Control("RBS is FCFS", (("rbs.*", "fcfs"),))
_HYBRID = (
    Control("the hybrid is RBS", (("hybrid.*", "rbs"),)),
    Control("the hybrid is FCFS", (("hybrid.*", "fcfs"),)),
)
_EVICTION = "evict(?::policy=dp|:ends=.*|:most=.*|$)"
_GIVE_WAY = (
    Control("the plan is killing alone", ((_EVICTION, "evict:policy=kill"),)),
    Control("no job gives way", ((_EVICTION, "evict:policy=wait"),)),
)
_PLAN = (
    Control("the plan is the greedy one", part="plan"),
    Control("greedy is the plan", part="greedy"),
    Control("the jobs that give way are random", part="victims"),
)
_SIZES = Control("the sizes are shuffled", part="sizes")
_CHOICE = Control("SA asks for what the user asks", part="choice")
_FACTS = Control("what the cases are sorted by is shuffled", part="facts")
_TURNAROUNDS = Control("the turnarounds of the best are the user's", part="best")
_BUSHEL = Control("SA asks for what the user asks", (("sa:(?:again=[0-9]+,)?", "sa:by=user,"),))

#: By name of a table or figure. Those without controls test no system.
CONTROLS: Mapping[str, tuple[Control, ...]] = {
    **dict.fromkeys((f"cp2019/{name}" for name in ("fig1", "fig2", "fig3", "fig4", "table2", "hpc2n")), _CP),
    "icpp2019/table1": (Control("the search is the maximum", part="search"),),
    **dict.fromkeys((f"icpp2019/fig{number}" for number in (2, 3, 4, 6, 7)), (_SEQUENCE, _SCHEDULER)),
    **dict.fromkeys(("icpp2019/fig5", "icpp2019/fig8"), (_SEQUENCE, _SCHEDULER, _GAPS)),
    **dict.fromkeys(("ijhpca2019/fig8", "ijhpca2019/fig9"), (*_FLY, _RBS)),
    "ijhpca2019/fig12": _HYBRID,
    **dict.fromkeys(("ijhpca2019/table1", "ijhpca2019/fig3"), (_SIZES,)),
    "jsspp2000/table1": (Control("the logs are not cut", part="months"),),
    **dict.fromkeys(("jsspp2000/table2", "jsspp2000/table3", "jsspp2000/fig10"), (_CHOICE, _TURNAROUNDS)),
    **dict.fromkeys(
        (f"jsspp2000/fig{number}" for number in (3, 4, 5, 6, 7, 8, 9, 11, 12)), (_CHOICE, _TURNAROUNDS, _FACTS)
    ),
    "jsspp2000/bushel": (_BUSHEL,),
    "jsspp2000/several": (Control("SA takes the user's machine", part="machines"),),
    **dict.fromkeys((f"dsrt2020/fig{number}" for number in (1, 2, 3, 4)), (_SIZES,)),
    **dict.fromkeys(
        (f"dsrt2020/fig{number}" for number in (5, 6, 7)), (*_PLAN, Control("the plan is the search", part="search"))
    ),
    "dsrt2020/fig8": _PLAN,
    **dict.fromkeys(("dsrt2020/policies", "dsrt2020/recorded-months"), _GIVE_WAY),
    "dsrt2020/starvation": (*_GIVE_WAY, Control("the bound is ignored", (("evict:most=.*", "evict:most=none"),))),
}
#: What the system itself is called beside its controls.
SYSTEM = ""


@dataclass(frozen=True, slots=True)
class Trials:
    """Results of a study's claims under its controls.

    Attributes
    ----------
    name, scale, runs
        The study's name, its scale, and how many independent samples it has.
    verdicts
        Whether each claim holds by its text, by name of the control. :data:`SYSTEM` is the system itself.
    """

    name: str
    scale: Scale
    runs: str
    verdicts: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)

    def meets(self, text: str) -> tuple[str, ...]:
        """Return the controls under which a claim holds."""
        return tuple(control for control, each in self._controls() if each.get(text) is True)

    def notices(self, text: str) -> tuple[str, ...]:
        """Return the controls that a claim notices. It holds of the system, and not of them.

        The samples here may be too few to decide of the system. Then it notices a control for which it fails.
        """
        system = self.verdicts.get(SYSTEM, {}).get(text, False)
        if system is False:
            return ()
        missed = (False, None) if system else (False,)
        return tuple(control for control, each in self._controls() if each.get(text, True) in missed)

    def informative(self, text: str) -> bool | None:
        """Return whether a claim tells the system from a control; ``None`` where its controls were not judged."""
        if self.notices(text):
            return True
        tried = [text in each for _, each in self._controls()]
        return False if any(tried) and len(self.meets(text)) == sum(tried) else None

    def held(self) -> list[str]:
        """Return the claims that hold of the system."""
        return [text for text, holds in self.verdicts.get(SYSTEM, {}).items() if holds]

    def _controls(self) -> list[tuple[str, Mapping[str, bool | None]]]:
        return [(control, each) for control, each in self.verdicts.items() if control != SYSTEM]


def try_controls(entry: Entry, means: Means, outcome: Outcome) -> Trials:
    """Return an outcome's claims under each control. Each control in turn replaces the system under test."""
    verdicts = {SYSTEM: _verdicts(outcome.claims)}
    for control in entry.controls:
        assert entry.run is not None
        verdicts[control.name] = _verdicts(entry.run(replace(means, control=control)).claims)
    return Trials(entry.name, means.scale, outcome.runs, verdicts)


def _verdicts(claims: Sequence[Claim]) -> dict[str, bool | None]:
    return {claim.text: claim.holds for claim in claims if claim.counts}
