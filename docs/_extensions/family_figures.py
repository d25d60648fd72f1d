"""Draw the figures of the pages on dispatchers: ``python docs/_extensions/family_figures.py``.

Each shows the same jobs on the same machine, above under a simple rule and below under the family; darker jobs waited
longer.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

import hpcdispatch as hd
from hpcdispatch.models.moldable import DowneyLaw
from hpcdispatch.workloads import mold

FIGURES = Path(__file__).parents[1] / "dispatchers" / "figures"
BUSY = "lublin:jobs=250,processors=64,load=0.9,seed=3"
#: Workload, the rule above and the rule below, by the name of the page.
PAIRS = {
    "backfilling": (BUSY, "fcfs", "easy"),
    "lookahead": (BUSY, "easy", "lookahead"),
    "portfolio": ("lublin:jobs=200,processors=32,load=0.8,seed=1", "easy", "portfolio"),
    "cp": (BUSY, "easy", "hcp3"),
    "site": (
        "lublin:jobs=140,processors=64,load=0.9,seed=1",
        "pcp-fast:constraints=never-together(1;2),solver=none",
        "pcp-fast:constraints=never-together(1;2)",
    ),
    "slurm": (BUSY, "easy", "slurm:bf_interval=300"),
    "reservations": (
        "stochastic:walltime=exponential,processors=beta,large=40,seed=1",
        "classic-hpc:over=rounds:batch=100/move=never",
        "toptimal:over=rounds:batch=100/move=never",
    ),
    "onthefly": ("accre:pattern=c,jobs=100,nodes=10,interarrival=1920,seed=1", "rbs", "sejf"),
    "eviction": ("theta:days=1,nodes=2048,rate=6.0,seed=1", "evict:policy=wait", "evict"),
    "moldable": (BUSY, "sa:by=user", "sa"),
}


def draw(name):
    """Draw the figure of a page."""
    spec, above, below = PAIRS[name]
    options, _, seed = spec.partition(",seed=")
    workload = hd.generate(options, seed=int(seed))
    if name == "moldable":
        workload = mold(workload, DowneyLaw(), choices=5, seed=1)
    results = [hd.simulate(workload, dispatcher, overrun="kill") for dispatcher in (above, below)]
    last = max(int(result.jobs["end"].max() - result.jobs["submit"].min()) for result in results)
    hours = [int(hour) for hour in MaxNLocator(8, integer=True).tick_values(0, last / 3_600) if hour <= last / 3_600]
    figure, panels = plt.subplots(2, figsize=(8, 4.2), layout="constrained")
    for axes, dispatcher, result in zip(panels, (above, below), results, strict=True):
        result.plot.gantt(color="wait", ax=axes)
        second = 1 / (86_400 if "days" in axes.get_xlabel() else 3_600)
        axes.set_xlim(0, last * second)
        axes.set_xticks(np.array(hours) * 3_600 * second, hours)
        axes.set_title(f"{dispatcher}: mean wait {result.summary()['wait_mean'] / 3600:.1f} h", fontsize=10)
    panels[0].set_xlabel("")
    panels[1].set_xlabel("time since the first submission (h)")
    panels[1].get_legend().remove()
    figure.savefig(FIGURES / f"{name}.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    for page in PAIRS:
        draw(page)
