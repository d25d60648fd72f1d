"""Controls: plain systems that replace the systems under test.

They show which claims notice, and which would hold of any system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .outcome import Control, PaperResult, Scale, StudyOutcome, StudySettings

#: Samples at the smallest scale where controls are judged.
DRAWS = 5
_PLAIN = "solver=none,iterations=0"
_ANY = "."

_VERSION = "(?:pcp|hcp)(?:[1-3]|-[a-z]+)"
#: Lists alone: no search, no solver. The predictions stay. Version 0 has neither option and gets no budget.
_LISTS = Control(
    "every model is its list",
    (
        (f"({_VERSION}):iterations=[^,]*$", r"\1"),
        (f"({_VERSION}):(.+)", rf"\1:{_PLAIN},\2"),
        (f"({_VERSION})$", rf"\1:{_PLAIN}"),
        ("((?:pcp|hcp)):(.+)", r"\1:budget=0,\2"),
        ("((?:pcp|hcp))$", r"\1:budget=0"),
    ),
    point="[PH]CP|utilization",
)
_WALLTIMES = Control(
    "every prediction is the walltime", (("heuristic.*|oracle.*", "walltime"),), point="[Hh]euristic|walltimes"
)
_SEQUENCE = r"a?toptimal(:over=[^,]*)(,backfill=speculative)?.*"
_PAST = r"neuroscience(:over=[^,]*)(,backfill=speculative)?.*"


def _requests(what: str, instead: str) -> Control:
    """Return a control in which every optimal sequence is another one."""
    return Control(f"every sequence is {what}", ((_SEQUENCE, instead),), point="Optimal")


_SEQUENCES = (
    _requests("[90% quantile, maximum]", r"classic-hpc\1\2,first=quantile"),
    _requests("[mean, maximum]", r"classic-hpc\1\2,first=mean"),
    _requests("that of Neuroscience", r"neuroscience\1\2"),
)
_RATE = Control("ATOptimal is TOptimal", ((f"a{_SEQUENCE[2:]}", r"toptimal\1\2"),), point="ATOptimal")
_NEURO = Control(
    "Neuroscience requests [90% quantile, maximum]",
    ((_PAST, r"classic-hpc\1\2,first=quantile"),),
    point="^Neuroscience|past runs|longer history",
)
_GAPS = Control(
    "nothing is tried in gaps", ((r"(.*),backfill=speculative(.*)", r"\1\2"),), point="[Ss]peculative|It helps"
)
_RBS = Control("RBS is EASY", (("rbs.*", "easy"),), point="RBS")
_FLY = Control("SEJF and LEJF are FCFS", (("sejf|lejf", "fcfs"),), point="^(?!.*RBS).*(?:SEJF|LEJF|on the fly)")
_HYBRID = Control("the hybrid is EASY", (("hybrid.*", "easy"),), point="hybrid")
_EVICTION = "evict(?::policy=dp|:ends=.*|:most=.*|$)"
_GIVE_WAY = (
    Control("the jobs that give way are random", ((_EVICTION, "evict:policy=random"),), point=_ANY),
    Control("no job gives way", ((_EVICTION, "evict:policy=wait"),)),
)
_RANDOM = Control("the jobs that give way are random", part="victims", point="loss|loses")
_GREEDY = Control("greedy is the plan", part="greedy", point="^greedy is")
_SEARCH = Control("the plan is the search", part="search", point="plan is|plan for|plan takes")
_SIZES = Control("the sizes are shuffled", part="sizes", point=_ANY)
_CHOICE = Control("SA asks for what the user asks", part="choice", point=_ANY)
_ORACLE = Control("SA knows the best", part="oracle", point="SA|choices")
_BEST = Control("the turnarounds of the best are the user's", part="best", point="[Bb]est")
_FACTS = Control("what the cases are sorted by is shuffled", part="facts")
_SA = (_CHOICE, _ORACLE, _BEST)
_BUSHEL = Control("SA asks for what the user asks", (("sa:(?:again=[0-9]+,)?", "sa:by=user,"),), point=_ANY)

#: By name of a table or figure. Those without controls test no system.
CONTROLS: Mapping[str, tuple[Control, ...]] = {
    **dict.fromkeys((f"cp2019/{name}" for name in ("fig2", "fig3", "fig4", "table2")), (_LISTS,)),
    "cp2019/fig1": (_WALLTIMES,),
    "cp2019/hpc2n": (_LISTS, _WALLTIMES),
    "icpp2019/table1": (
        Control("every sequence is [90% quantile, maximum]", part="search", point=_ANY),
        Control("ATOptimal is TOptimal", part="rate", point="ATOptimal"),
    ),
    "icpp2019/fig2": (*_SEQUENCES, _NEURO),
    "icpp2019/fig3": _SEQUENCES,
    "icpp2019/fig4": (_NEURO,),
    "icpp2019/fig5": (*_SEQUENCES, _GAPS),
    **dict.fromkeys(("icpp2019/fig6", "icpp2019/fig7"), (*_SEQUENCES, _RATE)),
    "icpp2019/fig8": (*_SEQUENCES, _RATE, _GAPS),
    **dict.fromkeys(("ijhpca2019/fig8", "ijhpca2019/fig9"), (_RBS, _FLY)),
    "ijhpca2019/fig12": (_HYBRID,),
    **dict.fromkeys(("ijhpca2019/table1", "ijhpca2019/fig3"), (_SIZES,)),
    "jsspp2000/table1": (Control("the logs are not cut", part="months", point=_ANY),),
    **dict.fromkeys(("jsspp2000/table2", "jsspp2000/table3", "jsspp2000/fig10"), _SA),
    **dict.fromkeys((f"jsspp2000/fig{number}" for number in (3, 4, 5, 6, 7, 8, 9, 11, 12)), (*_SA, _FACTS)),
    "jsspp2000/bushel": (_BUSHEL,),
    "jsspp2000/several": (Control("SA takes the user's machine", part="machines", point=_ANY),),
    **dict.fromkeys((f"dsrt2020/fig{number}" for number in (1, 2, 3, 4)), (_SIZES,)),
    **dict.fromkeys((f"dsrt2020/fig{number}" for number in (5, 6, 7)), (_RANDOM, _GREEDY, _SEARCH)),
    "dsrt2020/fig8": (_RANDOM,),
    **dict.fromkeys(("dsrt2020/policies", "dsrt2020/recorded-months"), _GIVE_WAY),
    "dsrt2020/starvation": (
        *_GIVE_WAY,
        Control("the bound is ignored", (("evict:most=.*", "evict:most=none"),), point="bound of"),
    ),
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
        Whether the inequality of each claim holds by the claim's text, by name of the control. :data:`SYSTEM` is the
        system itself. Preconditions of a control's system do not count: a claim that only they break holds under it.
    points
        By name of a control, the pattern of the claims whose point it removes.
    """

    name: str
    scale: Scale
    runs: str
    verdicts: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)
    points: Mapping[str, str] = field(default_factory=dict)

    def under(self, text: str, holds: bool | None) -> tuple[str, ...]:
        """Return the controls under which a claim holds, fails (``False``), or is not decided (``None``)."""
        return tuple(name for name, each in self._controls() if text in each and each[text] is holds)

    def removing(self, text: str) -> tuple[str, ...]:
        """Return the controls that remove the point of a claim."""
        return tuple(name for name, pattern in self.points.items() if pattern and re.search(pattern, text))

    def needs(self, text: str) -> bool | None:
        """Return whether a claim needs its system. ``None`` if the controls do not decide.

        It does if it fails under each control that removes its point. It does not if it holds under one of them.
        """
        verdicts = [self.verdicts.get(name, {}).get(text) for name in self.removing(text)]
        if any(verdicts):
            return False
        return True if verdicts and all(holds is False for holds in verdicts) else None

    def held(self) -> list[str]:
        """Return the claims that hold of the system."""
        return [text for text, holds in self.verdicts.get(SYSTEM, {}).items() if holds]

    def _controls(self) -> list[tuple[str, Mapping[str, bool | None]]]:
        return [(control, each) for control, each in self.verdicts.items() if control != SYSTEM]


def try_controls(entry: PaperResult, means: StudySettings, outcome: StudyOutcome) -> Trials:
    """Return an outcome's claims under each control. Each control in turn replaces the system under test."""
    verdicts = {SYSTEM: {claim.text: claim.holds for claim in outcome.claims if claim.counts}}
    for control in entry.controls:
        assert entry.run is not None
        claims = entry.run(replace(means, control=control)).claims
        verdicts[control.name] = {claim.text: claim.measured for claim in claims}
    points = {control.name: control.point for control in entry.controls}
    return Trials(entry.name, means.scale, outcome.runs, verdicts, points)
