"""The same jobs under two dispatchers, drawn one above the other: ``python examples/two_schedules.py PICTURE.png``."""

import sys

from matplotlib import pyplot as plt

import hpcdispatch as hd

jobs = hd.generate("lublin", jobs=250, processors=64, load=0.9, seed=3)
figure, axes = plt.subplots(2, figsize=(9, 5), sharex=True, layout="constrained")
for axis, name in zip(axes, ("fcfs", "easy"), strict=True):
    result = hd.simulate(jobs, name)
    result.plot.gantt(ax=axis, color="wait")
    print(f"{name}: mean wait {result.summary()['wait_mean'] / 3600:.1f} h")
axes[0].set_xlim(0, 3.1)
axes[0].set_xlabel("")
figure.savefig(sys.argv[1], dpi=100)
