"""Catalogue of all tables and figures to reproduce, built or not.

A paper's entries are built in the module of its name here, such as ``cp2019``. Its ``RUNS`` has one function per entry.
Another paper needs only a module of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from ....base import InputError
from ....base.printed import near_name
from .controls import CONTROLS
from .outcome import NotBuiltError, PaperResult, Run

#: Description of each paper, by the first part of the names.
PAPERS = {
    "cp2019": "Galleguillos, Kiziltan, Sîrbu, Babaoglu: Constraint Programming-based Job Dispatching for Modern HPC "
    "Applications, CP 2019",
    "icpp2019": "Gainaru, Pallez, Sun, Raghavan: Speculative Scheduling for Stochastic HPC Applications, ICPP 2019",
    "ijhpca2019": "Gainaru, Sun, Aupy, Huo, Landman, Raghavan: On-the-fly scheduling vs. reservation-based scheduling "
    "for unpredictable workflows, IJHPCA 2019",
    "jsspp2000": "Cirne, Berman: Adaptive Selection of Partition Size for Supercomputer Requests, JSSPP 2000",
    "dsrt2020": "Maurya, Nicolae, Guliani, Rafique: CoSim: A Simulator for Co-Scheduling of Batch and On-Demand Jobs "
    "in HPC Datacenters, DS-RT 2020",
    "published": "Tables of other simulators under their own rules: SC 2015, RLScheduler, HPCOpt",
}
#: Marks a title of which the paper has nothing.
_OURS = "(ours, not in the paper)"
#: How many runs the papers have. The key is a whole paper or a figure.
_PAPER_RUNS = {
    "cp2019": "1 trace",
    "icpp2019": "50",
    "icpp2019/table1": "",
    **dict.fromkeys((f"ijhpca2019/fig{number}" for number in (8, 9, 12)), "10"),
    **dict.fromkeys((f"jsspp2000/{name}" for name in ("table2", *(f"fig{n}" for n in range(3, 10)))), "56,000 in all"),
    **dict.fromkeys((f"jsspp2000/{name}" for name in ("table3", "fig10", "fig11", "fig12")), "10,000 in all"),
    **dict.fromkeys((f"dsrt2020/fig{number}" for number in (5, 6, 7, 8)), "1 moment"),
}
_TITLES = {
    "cp2019": {
        "fig1": "Accuracy of the three predictions",
        "fig2": "Slowdown and wait, versions of PCP",
        "fig3": "Slowdown and wait, versions of HCP",
        "fig4": "Slowdown and wait of medium and long jobs",
        "table2": "Times and problem sizes",
        "searches": "HCP by CP-SAT, by schedule or postpone, and by lists (ours, not in the paper)",
        "hpc2n": "Slowdown and wait on another machine, HPC2N (ours, not in the paper)",
    },
    "icpp2019": {
        "table1": "Reservation sequences of a truncated normal law",
        "fig2": "Utilization and response time by distribution of the walltime",
        "fig3": "Utilization by allocation of the processors",
        "fig4": "Length of the history of the Neuroscience strategy",
        "fig5": "Share of small jobs, with and without speculative backfilling",
        "fig6": "Utilization and response time by work rate of the small jobs",
        "fig7": "Response time of the large jobs by work rate",
        "fig8": "Two weeks of neuroscience jobs on Intrepid",
    },
    "ijhpca2019": {
        "table1": "Run time as a function of the input, by workflow",
        "fig1": "Traffic and run time of two workflows, run by run",
        "fig2": "Ranges of run time and traffic of 31 workflows",
        "fig3": "Quicksort and matrix multiplication by size, with fitted curves",
        "fig4": "Run times of three workflows by size, with fitted curves",
        "fig5": "Workflows and traffic per day",
        "fig6": "Distributions of the run times that are simulated",
        "fig7": "Distributions of their estimates",
        "fig8": "Utilization by estimation ratio",
        "fig9": "Average stretch by estimation ratio",
        "fig10": "Phases of Multi-Atlas and its run time",
        "fig11": "Accuracy of predicted ranges by their number",
        "fig12": "The hybrid scheduler: utilization and stretch",
        "surface": "Figures 8 and 9 by number of nodes and inter-arrival time (ours, not in the paper)",
    },
    "jsspp2000": {
        "table1": "Logs of the simulations",
        "table2": "Turnaround and relative performance, overall",
        "table3": "The same with NAS benchmarks",
        "fig1": "Downey's speedup by average parallelism A",
        "fig2": "Downey's speedup by variance in parallelism sigma",
        "fig3": "Results by relative load N",
        "fig4": "Results by sequential time L",
        "fig5": "Results by average parallelism A",
        "fig6": "Results by A on CTC",
        "fig7": "Results by variance in parallelism sigma",
        "fig8": "Results by accuracy of the requests a",
        "fig9": "Results by size of the range of choices",
        "fig10": "NAS results by benchmark",
        "fig11": "NAS results by load",
        "fig12": "NAS results by accuracy of the requests",
        "several": "SA on several machines (ours, not in the paper)",
        "bushel": "Many jobs that choose their sizes (ours, not in the paper)",
    },
    "dsrt2020": {
        "fig1": "Nodes occupied and jobs running on Theta",
        "fig2": "A moment of 12 jobs",
        "fig3": "A moment of 16 jobs",
        "fig4": "A moment of 24 jobs",
        "fig5": "Response time of the decision, 12 jobs",
        "fig6": "Response time of the decision, 16 jobs",
        "fig7": "Response time of the decision, 24 jobs",
        "fig8": "Extra loss of the greedy approach",
        "policies": "Delay of on-demand jobs and loss of batch jobs by policy (ours, not in the paper)",
        "recorded-months": "The same on twelve months of the trace of Theta (ours, not in the paper)",
        "starvation": "How often one job gives way, and what a bound costs (ours, not in the paper)",
    },
    "published": {
        "sc15": "Bounded slowdown under EASY and EASY-SJBF with eight predictions",
        "rlscheduler": "Bounded slowdown of three orders, with and without backfilling",
        "hpcopt": "Mean wait under FIFO, EASY and conservative backfilling",
        "rules": "What each rule of these changes (ours, not in the paper)",
    },
}


@cache
def _runs(paper: str) -> Mapping[str, Run]:
    """Return the functions of a paper by name. Empty without a module."""
    module = f"{__package__}.{paper}"
    runs: Mapping[str, Run] = {} if find_spec(module) is None else import_module(module).RUNS
    return runs


def entries() -> tuple[PaperResult, ...]:
    """Return every table and figure, paper by paper."""
    return tuple(
        PaperResult(
            name,
            title,
            PAPERS[paper],
            _runs(paper).get(name),
            CONTROLS.get(name, ()),
            _PAPER_RUNS.get(name, _PAPER_RUNS.get(paper, "")) if _OURS not in title else "",
            _OURS in title,
        )
        for paper, titles in _TITLES.items()
        for name, title in ((f"{paper}/{key}", title) for key, title in titles.items())
    )


def find(name: str) -> PaperResult:
    """Return a table or figure by its name.

    Raises
    ------
    InputError
        If there is none of this name.
    NotBuiltError
        If it is not built.
    """
    known = {entry.name: entry for entry in entries()}
    if name not in known:
        raise InputError(f"unknown reproduction {name!r}{near_name(name, known)}; known: {', '.join(known)}")
    if known[name].run is None:
        built = ", ".join(entry.name for entry in known.values() if entry.run is not None) or "none"
        raise NotBuiltError(f"{name}: not built; built: {built}")
    return known[name]
