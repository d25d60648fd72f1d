"""How straight data goes through a dispatcher: ``PYTHONPATH=tests python -m returns [DISPATCHER ...]``.

A decision is run under a profiler. A call of a function of ``dispatchers`` counts if its arguments have data of the
decision. This is the state, a part of it (jobs, free room), or a result (candidates, a plan). It is an argument beside
`self` of a class of ``dispatchers`` or ``models``, or a list with one. Every function counts at its first call in the
decision. `protocol`, `columns` and `ordered_jobs`, which only hold the data, do not count. The modules of these calls
are the way of the state, up to the problems of ``models``. They are in order, without successive repeats. A return is a
module that is on the way a second time.

Prints, for each dispatcher, the largest number of returns of a decision, and its way.
"""

import sys
from pathlib import Path

import hpcdispatch.dispatchers
from hpcdispatch.dispatchers import registry
from hpcdispatch.models.moldable import DowneyLaw
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate, mold

ROOT = Path(hpcdispatch.dispatchers.__file__).parents[1]
#: The data itself, and how any dispatcher is built and called.
DATA = {"protocol", "columns", "ordered_jobs", "options", "registered"}
CP = (
    "hcp",
    "hcp3",
    "pcp3",
    "pcp-fast",
    "cp:blocked=5,solver=none",
    "hcp3:molds=true",
    "cp:constraints=deadline:within=90000/kind=soft",
)


def carries(frame):
    """Return whether a call is given data of the decision."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    return any(is_data(frame.f_locals.get(name)) for name in names if name not in {"self", "cls"})


def is_data(value):
    """Return whether a value, or one of a list, is of a class of the dispatchers or models."""
    if isinstance(value, list | tuple) and value:
        return is_data(value[0])
    ours = ("hpcdispatch.dispatchers", "hpcdispatch.models")
    return any(kind.__module__.startswith(ours) for kind in type(value).__mro__)


class Traced:
    """A dispatcher with observed decisions; `way` is the one with most returns."""

    def __init__(self, inner):
        self.inner, self.way = inner, []
        for name in ("reset", "report", "memory", "recall"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))

    def dispatch(self, state):
        seen, way = set(), []

        def note(frame, event, _):
            code = frame.f_code
            if event != "call" or code in seen or code.co_name.startswith("<") or not carries(frame):
                return
            seen.add(code)
            path = Path(code.co_filename)
            if path.is_relative_to(ROOT / "dispatchers") and path.stem not in DATA:
                module = path.relative_to(ROOT).with_suffix("").as_posix()
                if not way or way[-1] != module:
                    way.append(module)

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            return self.inner.dispatch(state)
        finally:
            sys.setprofile(before)
            if returns(way) >= returns(self.way):
                self.way = way


def returns(way):
    """Return the number of returns of a way to an earlier module."""
    return len(way) - len(set(way))


def longest_way(spec, jobs=30):
    """Return the way with most returns of any decision. The few jobs suit the dispatcher."""
    if "molds" in spec:
        workload = mold(generate("lublin", jobs=jobs, processors=64, load=0.9, seed=6), DowneyLaw())
    elif "hcp" in spec or "pcp" in spec:
        workload = generate("accre", jobs=jobs, wide=6, nodes=12, interarrival=400.0, seed=3)
    else:
        workload = generate("lublin", jobs=jobs, processors=64, load=1.1, seed=5)
    traced = Traced(registry.create(spec))
    simulate(workload, traced)
    return traced.way


def main():
    for spec in sys.argv[1:] or (*CP, "lookahead", "guarded"):
        way = longest_way(spec)
        sys.stdout.write(f"{spec}: {returns(way)} returns, {len(set(way))} modules: {' > '.join(way)}\n")


if __name__ == "__main__":
    main()
