"""Reproduce Maurya, Nicolae, Guliani and Rafique, DS-RT 2020.

The module compares eviction plans with greedy and backtracking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from .....analysis import scenario_of
from .....models.eviction import RunningJob, greedy_by_deadline, plan
from .....workloads import generate
from .....workloads.generators.eviction_scenarios import CRITICAL, IN_USE, MEMORY
from ....reports.number_formats import short
from ...benchmarks.eviction import DEADLINES, HORIZON, JOBS, LIMIT, MINUTE, NODES, Response, respond, scenario
from ...intervals import mean_interval
from ..claims import LEAST, Floats, by_construction, elsewhere, less, row
from ..outcome import Claim, ComparedFigure, Drawing, Parameter, Run, Scale, StudyOutcome, StudySettings
from .batch_machine import policies
from .recorded_moments import NOTE, RECORDED, YEAR, recorded_scenarios
from .recorded_months import recorded_months, starvation

#: Scenarios of each kind, and most partial decisions for backtracking.
_SEEDS: dict[Scale, int] = {"smoke": 1, "brief": 10, "small": 10, "full": 50}
#: Losses are found in a moment.
_LOSS_SEEDS: dict[Scale, int] = {"smoke": 1, "brief": 50, "small": 50, "full": 50}
_LIMITS: dict[Scale, int] = {"smoke": 10**5, "brief": 10**6, "small": LIMIT, "full": LIMIT}
_SHOWN = (1, 5, 10, 13, 15)
#: The plan is "up to five orders of magnitude faster" than backtracking. Greedy is "at least 30x" faster than both.
_ORDERS, _GREEDY = 1e5, 30.0

_Responses = Mapping[int, Sequence[Response]]


def _note(seeds: range, jobs: str) -> str:
    return (
        f"Scenarios of {jobs} jobs drawn by theta-scenario, seeds {seeds[0]} to {seeds[-1]}, any sizes: 4,352 nodes, "
        "hourly application checkpoints, memory and checkpoints as in the paper. The paper's are three moments of "
        "Theta's trace of 2019. It does not list their jobs. Deadlines 0 to 15 min in steps of one."
    )


_TIMES = (
    "All three are compiled and timed on arrays made before, in CPU time, which differs between machines and runs. "
    "Those of plan and greedy are the least of five. Drawn sizes have no common divisor. Those of the trace have one "
    "at most of its moments. The plan counts in it, so that its table is smaller.",
    "Backtracking abandons what is no better than the best so far, as the paper's, and stops where enough nodes are "
    "free. It and greedy run once a deadline, and their times add up. What the paper's programs are written in is not "
    "said. Operations: cells of the table, jobs that greedy looks at, partial decisions of backtracking.",
)
#: Moments of the log have this many jobs.
_RECORDED = (12, 16)


def _times(jobs: int, means: StudySettings) -> StudyOutcome:
    """Return response times for scenarios of this many jobs. Figures 5 to 7."""
    seeds = means.draws(_SEEDS)
    limit = _LIMITS[means.scale]
    drawn = [tuple(scenario(jobs, seed)) for seed in seeds]
    by_nodes = {nodes: [_response(means, each, nodes, limit) for each in drawn] for nodes in NODES}
    real = [tuple(each) for each in recorded_scenarios(jobs, len(seeds))] if jobs in _RECORDED else []
    log = {nodes: [_response(means, each, nodes, limit) for each in real] for nodes in NODES if real}
    claims = (
        _agreement({**by_nodes, **{-nodes: each for nodes, each in log.items()}}),
        *_speed(by_nodes),
        *_against_backtracking(jobs, by_nodes),
    )
    notes = (_note(seeds, str(jobs)), *_TIMES)
    rows = [*_rows(jobs, by_nodes), *_rows(jobs, log, "log, ")]
    return StudyOutcome(
        notes,
        tuple(rows),
        claims,
        _figure(by_nodes),
        parameters=parameters(seeds) if jobs == JOBS[0] and means.control is None else (),
        runs=str(len(seeds)),
    )


@cache
def _measured(jobs: tuple[RunningJob, ...], nodes: int, limit: int) -> Response:
    return respond(jobs, nodes, limit=limit)


def _response(means: StudySettings, jobs: tuple[RunningJob, ...], nodes: int, limit: int) -> Response:
    """Return the response of a scenario. A control replaces one approach by another."""
    response = _measured(jobs, nodes, limit)
    if means.broken("plan"):
        same = response.agree and response.best == response.greedy
        return replace(response, plan_ms=response.greedy_ms[-1], best=response.greedy, agree=same)
    if means.broken("victims"):
        best = _random_losses(jobs, nodes)
        return replace(response, best=best, agree=best == response.best)
    if means.broken("search"):
        return replace(response, plan_ms=sum(response.backtracking_ms))
    return (
        replace(response, greedy_ms=[response.plan_ms] * len(response.greedy_ms))
        if means.broken("greedy")
        else response
    )


def _rows(jobs: int, by_nodes: _Responses, where: str = "") -> list[ComparedFigure]:
    rows: list[ComparedFigure] = []
    for nodes, each in by_nodes.items():
        subject = f"{where}K = {nodes:,}"
        timed = partial(row, subject, digits=3, timed=True)
        rows += [
            row(subject, "plan, cells", [float(response.cells) for response in each]),
            row(subject, "greedy, jobs looked at", [float(response.looked[-1]) for response in each]),
            row(subject, "backtracking, partial decisions", [float(sum(response.visited)) for response in each]),
            timed("plan, ms", [response.plan_ms for response in each]),
            timed("greedy, ms", [response.greedy_ms[-1] for response in each]),
            timed("backtracking, ms", [sum(response.backtracking_ms) for response in each]),
        ]
        most = max(_ratios(each))
        known = _ORDERS if (jobs, nodes) == (JOBS[-1], NODES[-1]) else None
        rows.append(ComparedFigure(subject, "backtracking / plan, largest", most, known, digits=0, timed=True))
    return rows


def _ratios(responses: Sequence[Response]) -> list[float]:
    return [sum(response.backtracking_ms) / response.plan_ms for response in responses]


def _agreement(by_nodes: _Responses) -> Claim:
    each = [response for responses in by_nodes.values() for response in responses]
    ended = sum(not response.complete for response in each)
    evidence = f"{sum(one.agree for one in each)} of {len(each)} agree at every deadline" + (
        f", {ended} as far as they were searched" if ended else ""
    )
    alike = all(response.agree for response in each)
    holds = alike if len(each) >= LEAST * len(by_nodes) and not (alike and ended) else None
    return Claim("plan and backtracking find the same loss and time", holds, evidence)


def _speed(by_nodes: _Responses) -> tuple[Claim, ...]:
    """Return the paper's claims on the plan and on greedy. Each scenario uses the K where the claim is least true."""
    each = list(zip(*by_nodes.values(), strict=True))
    whole = [max(response.plan_ms for response in same) for same in each]
    close = [max(same, key=lambda response: response.greedy_ms[-1] / response.plan_ms) for same in each]
    constant = "the response time of the plan is constant in the deadline"
    return (
        less(
            "a plan for all deadlines takes under 10 ms",
            ("plan", whole),
            ("limit", [10.0] * len(whole)),
            "milliseconds in the worst case",
            timed=True,
        ),
        by_construction(Claim(constant, True, "one table has the answers of all deadlines; the paper: constant")),
        less(
            "greedy is at least 30 times faster than the plan",
            ("greedy", [response.greedy_ms[-1] for response in close]),
            ("plan", [response.plan_ms for response in close]),
            "at least 30x faster than the other two",
            factor=1 / _GREEDY,
            timed=True,
        ),
    )


def _against_backtracking(jobs: int, by_nodes: _Responses) -> tuple[Claim, ...]:
    few, many = ([sum(response.backtracking_ms) for response in by_nodes[nodes]] for nodes in (NODES[0], NODES[-1]))
    plans = [[response.plan_ms for response in by_nodes[nodes]] for nodes in (NODES[0], NODES[-1])]
    if jobs == JOBS[0]:
        text = "with 12 jobs and K = 512 backtracking is faster than the plan"
        return (less(text, ("backtracking", few), ("plan", plans[0]), "it is", timed=True),)
    slower = less(
        f"with {jobs} jobs and K = 2,048 the plan is faster than backtracking",
        ("plan", plans[1]),
        ("backtracking", many),
        "clearly",
        timed=True,
    )
    if jobs != JOBS[-1]:
        return (slower,)
    most = max(ratio for responses in by_nodes.values() for ratio in _ratios(responses))
    holds = None if len(many) < LEAST else most >= _ORDERS / 10**0.5
    evidence = f"at most {short(most)} times; the paper: up to five orders of magnitude"
    return slower, Claim("the plan is up to 10^5 times faster than backtracking", holds, evidence, timed=True)


def _figure(by_nodes: _Responses) -> Drawing:
    """Return response time up to each deadline, one panel per K."""
    curves: dict[str, Callable[[Response], Floats]] = {
        "plan": lambda response: np.full(len(DEADLINES), response.plan_ms),
        "greedy": lambda response: np.array(response.greedy_ms),
        "backtracking": lambda response: np.cumsum(response.backtracking_ms),
    }
    data = _columns()
    for nodes, each in by_nodes.items():
        for name, values in curves.items():
            _add(data, f"K = {nodes:,}", name, [values(response) for response in each])
    return Drawing("lines", data, "deadline (min)", "response time (ms)", log_y=True)


def _columns() -> dict[str, list[Any]]:
    return {name: [] for name in ("panel", "subject", "x", "value", "low", "high")}


def _add(data: dict[str, list[Any]], panel: str, subject: str, samples: Sequence[Floats]) -> None:
    """Add the mean of curves over deadlines, with its interval."""
    for place, values in enumerate(zip(*samples, strict=True)):
        mean = float(np.mean(values))
        low, high = mean_interval(np.array(values, dtype=float))
        interval = (mean, mean) if np.isnan(low) else (low, high)
        point = (panel, subject, DEADLINES[place] / MINUTE, mean, *interval)
        for name, value in zip(data, point, strict=True):
            data[name].append(value)


def fig8(means: StudySettings) -> StudyOutcome:
    """Return how much more greedy loses than the plan. On random scenarios and on moments of the trace."""
    seeds = means.draws(_LOSS_SEEDS)
    running = {("drawn", jobs): [scenario(jobs, seed) for seed in seeds] for jobs in JOBS}
    running |= {("trace", jobs): recorded_scenarios(jobs, len(seeds)) for jobs in _RECORDED}
    data = _columns()
    rows = list[ComparedFigure]()
    claims = list[Claim]()
    for where in ("drawn", "trace"):
        own = {jobs: each for (named, jobs), each in running.items() if named == where and each}
        best, quick = _losses(own)
        if means.broken("plan"):
            best = quick
        if means.broken("greedy"):
            quick = best
        if means.broken("victims"):
            best = {(jobs, nodes): np.array([_random_losses(one, nodes) for one in own[jobs]]) for jobs, nodes in best}
        extra = {key: quick[key] - best[key] for key in best}
        for (jobs, nodes), losses in extra.items():
            _add(data, f"K = {nodes:,}", f"{jobs} jobs, {where}", list(losses))
            rows += _loss_rows(f"{where}, {jobs} jobs, K = {nodes:,}", losses, best[jobs, nodes])
        own_claims = quality_claims(best, quick, extra, where)
        claims += elsewhere(own_claims, YEAR) if where == "trace" else own_claims
    drawing = Drawing("lines", data, "deadline (min)", "extra loss of greedy (node-hours)")
    notes = (_note(seeds, "12, 16 and 24"), NOTE, _MOMENTS)
    return StudyOutcome(
        notes, tuple(rows), tuple(claims), drawing, (), () if means.control else parameters(seeds), str(len(seeds))
    )


_MOMENTS = (
    "Moments of the trace share no job; it has none of 24 jobs. A loss is in node-hours since the last "
    "application checkpoint."
)
_Losses = Mapping[tuple[int, int], Floats]


def _losses(running: Mapping[int, Sequence[Sequence[RunningJob]]]) -> tuple[_Losses, _Losses]:
    """Return losses of the plan and of greedy by number of jobs and nodes. Shape (scenarios, deadlines)."""
    best: dict[tuple[int, int], Floats] = {}
    quick: dict[tuple[int, int], Floats] = {}
    for (jobs, each), nodes in product(running.items(), NODES):
        made = [plan(one, nodes, HORIZON, MINUTE) for one in each]
        evictions = [greedy_by_deadline(one, nodes, DEADLINES, MINUTE) for one in each]
        best[jobs, nodes] = np.array([[plans[end].loss for end in DEADLINES] for plans in made])
        quick[jobs, nodes] = np.array([[eviction.loss for eviction in one] for one in evictions])
    return best, quick


def _random_losses(jobs: Sequence[RunningJob], nodes: int) -> list[float]:
    """Return the loss at each deadline if random jobs give way until enough nodes are free."""
    rng = np.random.default_rng(0)
    losses = list[float]()
    for end in DEADLINES:
        order = rng.permutation(len(jobs)).tolist()
        enough = int(np.searchsorted(np.cumsum([jobs[place].nodes for place in order]), nodes)) + 1
        chosen = [jobs[place] for place in order[:enough]]
        losses.append(greedy_by_deadline(chosen, sum(job.nodes for job in chosen), [end], MINUTE)[0].loss)
    return losses


def _loss_rows(subject: str, extra: Floats, best: Floats) -> list[ComparedFigure]:
    return [
        *(row(subject, f"extra at {end} min, node-hours", extra[:, end].tolist(), digits=1) for end in _SHOWN),
        row(subject, "least loss at 15 min", best[:, -1].tolist(), digits=1),
        row(subject, "no loss at 15 min, %", (100 * (best[:, -1] == 0)).tolist()),
    ]


def parameters(seeds: range) -> tuple[Parameter, ...]:
    """Return unprinted parameters of the paper's scenarios. The metric is greedy's extra loss with other values."""

    def extra(grain: int = 1, **fields: float) -> str:
        """Return the mean extra loss over K and deadlines. It is for 12 jobs, with some fields of all jobs replaced."""
        drawn = [scenario_of(generate("theta-scenario", jobs=12, seed=seed, grain=grain)) for seed in seeds]
        jobs = [tuple(job.model_copy(update=fields) for job in one.jobs) for one in drawn]
        other = [one.model_copy(update={"jobs": each}) for one, each in zip(drawn, jobs, strict=True)]
        best, quick = _losses({12: [one.running() for one in other]})
        return short(float(np.mean([quick[key] - best[key] for key in best])))

    def used(place: float) -> str:
        """Return the same where all jobs use this much of the printed memory ranges."""
        share, critical = (low + place * (high - low) for low, high in (IN_USE, CRITICAL))
        return extra(system_size=MEMORY * share, application_size=MEMORY * share * critical)

    usual = extra()
    grains = "; ".join([f"1: {usual}", *(f"{grain}: {extra(grain)}" for grain in (16, 128))])
    intervals = "; ".join(f"{minutes} min: {extra(interval=60 * minutes)}" for minutes in (30, 60, 120))
    shares = "; ".join(f"all {name}: {used(place)}" for name, place in (("least", 0), ("middle", 0.5), ("most", 1)))
    return (
        Parameter(
            "grain of the sizes, nodes",
            "1",
            "all sizes of the trace of 2022, which have no common divisor",
            f"mean extra loss of greedy, 12 jobs, node-hours: {grains}",
        ),
        Parameter("interval of the application checkpoints", "1 h, as printed", "the paper", f"the same: {intervals}"),
        Parameter(
            "starts, ends and the moment",
            "uniform in the stretches of figure 2",
            "the drawing of figure 2",
            "moments of the trace stand beside them",
        ),
        Parameter(
            "shares of the memory in use",
            "uniform in the printed ranges",
            "nothing better known",
            f"the same: uniform: {usual}; {shares}",
        ),
    )


def quality_claims(best: _Losses, quick: _Losses, extra: _Losses, where: str = "drawn") -> list[Claim]:
    """Return claims about the losses of greedy and the plan. The inputs are each loss and their difference."""
    claims = []
    for jobs in dict.fromkeys(count for count, _ in extra):
        own = [losses for (count, _), losses in extra.items() if count == jobs]
        mean = np.mean([losses.mean(axis=1) for losses in own], axis=0)
        text = f"{where}, {jobs} jobs: greedy loses more than the plan"
        claims.append(above_greedy(text, mean, "over all deadlines and K", "the degradation is unacceptable"))
        rise = np.mean([losses[:, 13] - losses[:, 1] for losses in own], axis=0)
        text = f"{where}, {jobs} jobs: its extra loss is larger at 13 min than at 1 min"
        claims.append(above_greedy(text, rise, "by", "it increases with T, but for T > 13 in scenario 3"))
    for name, losses in (("plan", best), ("greedy", quick)):
        rows = np.concatenate(list(losses.values()))
        falls = int((np.diff(rows, axis=1) <= 1e-9).all(axis=1).sum())
        evidence = f"in {falls} of {len(rows)} cases; the paper: it decreases for all approaches"
        holds = None if len(rows) < LEAST * len(losses) else falls == len(rows)
        claim = Claim(f"{where}: the loss of {name} never rises with the deadline", holds, evidence)
        claims.append(by_construction(claim) if name == "plan" else claim)
    none = np.concatenate([losses[:, -1] == 0 for losses in best.values()])
    holds = None if len(none) < LEAST * len(best) else bool(none.mean() > 0.5)
    evidence = f"in {100 * none.mean():.0f}%; the paper: often, especially for larger T"
    return [*claims, Claim(f"{where}: at 15 min the least loss is 0 in most cases", holds, evidence)]


def above_greedy(text: str, values: Floats, what: str, published: str) -> Claim:
    """Return the claim that a difference has a mean above 0."""
    low, high = mean_interval(values)
    decided = len(values) >= LEAST and not low <= 0 <= high
    interval = "" if np.isnan(low) else f" [{short(low)}, {short(high)}]"
    evidence = f"{what} {short(float(values.mean()))}{interval} node-hours; the paper: {published}"
    return Claim(text, bool(low > 0) if decided else None, evidence)


#: Reproductions of this paper.
RUNS: dict[str, Run] = {
    **RECORDED,
    "dsrt2020/fig5": partial(_times, JOBS[0]),
    "dsrt2020/fig6": partial(_times, JOBS[1]),
    "dsrt2020/fig7": partial(_times, JOBS[2]),
    "dsrt2020/fig8": fig8,
    "dsrt2020/policies": policies,
    "dsrt2020/recorded-months": recorded_months,
    "dsrt2020/starvation": starvation,
}
