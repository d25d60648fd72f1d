"""Draw the figures of the page on machines: ``python docs/_extensions/machine_figures.py``.

Each shows the nodes of a small machine at one moment of a simulation. A box is a node, a colour is a job.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

import hpcdispatch as hd

FIGURES = Path(__file__).parents[1] / "how-to" / "figures"
_WIDTH = 0.86


def job(name, nodes=1, per_node=None, **more):
    """Return a job that starts at once."""
    submit = more.pop("submit", 0)
    return hd.Job(name, submit=submit, runtime=90, walltime=100, nodes=nodes, per_node=per_node or {"core": 4}, **more)


def draw(axes, machine, jobs, dispatcher="easy", groups=(), title="", resources=None):
    """Draw the nodes right after the last submission, with gaps between groups."""
    result = hd.simulate(hd.Workload(jobs, machine), dispatcher)
    now = max(each.submit for each in jobs)
    resources = resources or [machine.resources[machine.primary]]
    columns = [machine.resources.index(name) for name in resources]
    gap_before = {min(group) for group in groups}
    x = {}
    at = 0.0
    for node in range(machine.nodes):
        at += 0.5 if node in gap_before and node else 0.0
        x[node] = at
        at += 1.0
    for node, place in x.items():
        height = int(machine.capacity[node, columns].sum())
        axes.bar(place, height, _WIDTH, color="#f1f1f1", edgecolor="#888888", linewidth=0.8)
        axes.text(
            place, -0.04 * machine.capacity[:, columns].sum(axis=1).max(), node, ha="center", va="top", fontsize=7
        )
    filled = dict.fromkeys(x, 0)
    for number, each in enumerate(jobs):
        row = result.jobs.iloc[number]
        if not row["start"] <= now < row["end"]:
            continue
        slots = each.slots or (each.per_node,) * len(row["placement"])
        for node, amounts in zip(row["placement"].tolist(), slots, strict=True):
            height = sum(amounts.get(name, 0) for name in resources)
            axes.bar(x[node], height, _WIDTH, bottom=filled[node], color=f"C{number}", edgecolor="white", linewidth=0.8)
            label = each.id if height else ""
            axes.text(x[node], filled[node] + height / 2, label, ha="center", va="center", fontsize=7, color="white")
            filled[node] += height
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_axis_off()


def levels():
    """Draw the same jobs in few groups, and on the first nodes."""
    machine = hd.Machine.homogeneous(8, core=4, levels={"rack": 4, "switch": 2})
    jobs = [job("a", 1), job("b", 2, submit=1), job("c", 3, submit=2), job("d", 1, submit=3)]
    figure, axes = plt.subplots(2, figsize=(6, 2.8), layout="constrained")
    draw(axes[0], machine, jobs, "easy", machine.levels["rack"], "easy: first-fit, racks of 4 nodes")
    draw(axes[1], machine, jobs, "easy:placement=compact", machine.levels["rack"], "easy:placement=compact")
    return figure


def unequal_slots():
    """Draw jobs with unequal slots."""
    machine = hd.Machine.homogeneous(4, gpu=8)
    jobs = [
        hd.Job("train", submit=0, runtime=90, walltime=90, slots=({"gpu": 8}, {"gpu": 4})),
        hd.Job("tune", submit=0, runtime=90, walltime=90, slots=({"gpu": 4}, {"gpu": 4}, {"gpu": 2})),
        job("test", 1, {"gpu": 4}),
    ]
    figure, axes = plt.subplots(figsize=(6, 1.6), layout="constrained")
    draw(axes, machine, jobs, title="train: 8 + 4 GPUs, tune: 4 + 4 + 2, test: 4")
    return figure


def isolated_groups():
    """Draw two virtual clusters, of which one is full."""
    machine = hd.Machine.homogeneous(6, gpu=8).partitioned({"red": "0-2", "blue": "3-5"})
    jobs = [
        job("r1", 2, {"gpu": 8, "partition/red": 8}),
        job("b1", 1, {"gpu": 4, "partition/blue": 4}),
        job("r2", 2, {"gpu": 8, "partition/red": 8}, submit=1),
        job("b2", 1, {"gpu": 8, "partition/blue": 8}, submit=1),
    ]
    figure, axes = plt.subplots(figsize=(6, 1.6), layout="constrained")
    draw(
        axes,
        machine,
        jobs,
        "easy",
        [(0, 1, 2), (3, 4, 5)],
        "red: nodes 0-2, blue: 3-5; r2 waits for red",
    )
    return figure


def slices():
    """Draw whole GPUs, and two GPUs in slices."""
    machine = hd.Machine.homogeneous(2, gpu=4).sliced("0", "a100-40gb", ["7x1g.5gb", "2x3g.20gb"])
    jobs = [
        job("A", 1, {"gpu": 2}),
        job("B", 1, {"gpu/1g.5gb": 3}),
        job("C", 1, {"gpu/3g.20gb": 1}),
        job("D", 1, {"gpu": 4}),
    ]
    names = [name for name in machine.resources if name.startswith("gpu")]
    figure, axes = plt.subplots(1, len(names), figsize=(6, 1.8), layout="constrained")
    for panel, name in zip(axes, names, strict=True):
        draw(panel, machine, jobs, title=f"{name} of nodes 0, 1", resources=[name])
    return figure


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    for make in (levels, unequal_slots, isolated_groups, slices):
        figure = make()
        figure.savefig(FIGURES / f"{make.__name__}.png", dpi=110)
        plt.close(figure)
