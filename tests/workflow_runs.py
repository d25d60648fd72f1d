"""Runs of two workflows for tests. Only the time of the first grows with the size of the input."""

import numpy as np
import pandas as pd


def workflow_runs(count=200, seed=1):
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(np.log(10), np.log(1000), (2, count)))
    time = np.stack([300 + size[0] / 2, np.full(count, 400.0)]) + rng.normal(0, 60, (2, count))
    names = ["grows"] * count + ["varies"] * count
    return pd.DataFrame({"workflow": names, "size": size.ravel(), "time": time.ravel()})
