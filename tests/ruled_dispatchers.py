"""Run dispatchers on random workloads under rules: ``PYTHONPATH=tests python -m ruled_dispatchers [--workloads N]``.

Jobs are killed at their walltimes. Each schedule is checked, and no job may wait for ever. The table has, for each
dispatcher, faults, starts that were refused, jobs that wait for ever, and the mean wait with walltimes and with perfect
predictions as predictions, and of on-demand jobs. ``blind`` knows no rules. With ``--jobs moldable`` jobs have further
shapes, and with ``--jobs on-demand`` some are on-demand. ``stops`` counts further attempts of jobs. ``--docs`` compares
the EASY of the docs with ``easy`` instead.
"""

import argparse
import time
import warnings

from ruled_workloads import molded, ruled, urgent, written_dispatcher

from hpcdispatch.dispatchers import Start, space_of
from hpcdispatch.simulation import simulate, violations

WORKLOADS = {"rigid": ruled, "moldable": molded, "on-demand": urgent}
NAMES = ("easy", "conservative", "lxf", "hcp3", "pcp-fast", "lookahead", "blind")


class Blind:
    """Starts each job that fits the free amounts."""

    def dispatch(self, state):
        space = space_of(state)
        placed = ((job, space.place(job.nodes, job.demand)) for job in state.queue)
        return [Start(job, nodes) for job, nodes in placed if nodes is not None]


def row(name, workloads):
    """Return faults, refused starts, jobs that wait for ever, stops, and the mean waits of a dispatcher.

    These are over all jobs with walltimes and with perfect predictions, and over on-demand jobs.
    """
    faults = refused = waiting = stops = 0
    waits = {"walltime": [], "oracle": []}
    urgent_waits = []
    for workload in workloads:
        for predictor, found in waits.items():
            result = simulate(workload, Blind() if name == "blind" else name, predictor, overrun="kill")
            jobs = result.jobs
            faults += len(list(violations(workload, result)))
            refused += result.manifest.get("refused", 0)
            waiting += int((jobs["status"] == "waiting").sum())
            stops += int(jobs["attempts"].clip(lower=1).sum()) - len(jobs)
            started = jobs[jobs["start"] >= 0]
            found.append(started["wait"].mean() if len(started) else 0.0)
            urgent_waits += started.loc[started["kind"] == "on-demand", "wait"].tolist()
    means = [sum(found) / max(len(found), 1) for found in (*waits.values(), urgent_waits)]
    return faults, refused, waiting, stops, *means


def compare_docs(seeds):
    """Print how many schedules of the docs' EASY equal those of `easy`, and the times of both."""
    kind = written_dispatcher()
    equal, mine, theirs = 0, 0.0, 0.0
    for seed in seeds:
        workload = ruled(seed)
        predictor = ("walltime", "oracle")[seed % 2]
        simulate(workload, "easy", predictor, overrun="kill")
        began = time.process_time()
        easy = simulate(workload, "easy", predictor, overrun="kill")
        between = time.process_time()
        own = simulate(workload, kind(), predictor, overrun="kill")
        theirs += between - began
        mine += time.process_time() - between
        equal += own.jobs["start"].tolist() == easy.jobs["start"].tolist() and not list(violations(workload, own))
    print(f"{equal} of {len(seeds)} schedules equal; {mine:.1f} CPU s, easy {theirs:.1f}, ratio {mine / theirs:.2f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=300, metavar="N")
    parser.add_argument("--first", type=int, default=1000, metavar="SEED", help="seed of the first workload")
    parser.add_argument("--dispatchers", default=",".join(NAMES), metavar="NAMES")
    parser.add_argument("--jobs", choices=WORKLOADS, default="rigid", help="kind of jobs")
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(given.first, given.first + given.workloads)
    if given.docs:
        compare_docs(seeds)
        return
    heads = ("refused", "for ever", "stops", "wait", "wait, oracle", "wait, on-demand")
    print(f"{'dispatcher':<14}{'faults':>8}" + "".join(f"{head:>{len(head) + 3}}" for head in heads))
    for name in given.dispatchers.split(","):
        faults, *counts, wait, oracle, urgent_wait = row(name, map(WORKLOADS[given.jobs], seeds))
        cells = [f"{count}" for count in counts] + [f"{mean:.1f}" for mean in (wait, oracle, urgent_wait)]
        print(
            f"{name:<14}{faults:>8}" + "".join(f"{c:>{len(h) + 3}}" for h, c in zip(heads, cells, strict=True)),
            flush=True,
        )


if __name__ == "__main__":
    main()
