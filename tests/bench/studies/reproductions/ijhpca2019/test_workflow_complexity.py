"""The run times of workflows by their inputs, as the paper's Table 1 has them."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings
from hpcdispatch.bench.studies.reproductions.ijhpca2019.workflow_complexity import quicksort_runs, run
from hpcdispatch.bench.studies.reproductions.ijhpca2019.workflow_logs import TABLE1


def test_comparisons_of_quicksort():
    """The mean of many is the known 2 (n + 1) H_n - 4 n, and none is below what sorting needs or above all pairs."""
    table = pd.concat([quicksort_runs(seed) for seed in range(3)])
    size = table["size"].to_numpy(dtype=float)
    harmonic = np.array([np.sum(1 / np.arange(1, int(one) + 1)) for one in size])
    assert (table["time"] / (2 * (size + 1) * harmonic - 4 * size)).mean() == pytest.approx(1, rel=0.02)
    assert (table["time"] >= size - 1).all()
    assert (table["time"] <= size * (size - 1) / 2).all()


def test_table1(tmp_path):
    outcome = run(StudySettings("smoke", tmp_path))
    rows = {(row.subject.partition(" ")[0], row.metric): row for row in outcome.rows}
    for model in TABLE1:
        assert rows[model.name, "correlation"].published == model.correlation
        assert rows[model.name, "MSE"].published == model.mse
        assert rows[model.name, "MSE"].measured == pytest.approx(model.mse, rel=0.15)
        assert rows[model.name, "kept, %"].measured >= rows[model.name, "named, %"].measured
    assert rows["Multi-Atlas", "smallest MSE, %"].measured == 0
    holds = {claim.text.partition(":")[0]: claim.holds for claim in outcome.claims}
    assert holds["Multi-Atlas"]
    assert holds["Quicksort"]
    assert "not public" in outcome.notes[0]
