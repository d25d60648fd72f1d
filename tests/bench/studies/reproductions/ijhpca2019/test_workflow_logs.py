"""Logs in the image of Table 1."""

import math

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.reproductions.ijhpca2019.workflow_logs import TABLE1, WorkflowModel, workflow_logs


def test_logs_have_the_printed_numbers():
    """Over many runs the residuals from the class and the correlation with it are those that were asked for."""
    for model in TABLE1:
        many = WorkflowModel(
            model.name, "", model.correlation, model.mse, model.power, model.logarithm, True, 20_000, model.sizes
        )
        log = many.log()
        g = log["size"] ** model.power * np.log1p(log["size"]) ** model.logarithm
        constant = not (model.power or model.logarithm)
        slope, intercept = (0.0, log["time"].mean()) if constant else np.polyfit(g, log["time"], 1)
        assert np.mean((log["time"] - intercept - slope * g) ** 2) == pytest.approx(model.mse, rel=0.04)
        if not constant:
            assert np.corrcoef(g, log["time"])[0, 1] == pytest.approx(model.correlation, abs=0.01)


def test_logs_of_all_workflows():
    logs = workflow_logs(seed=4)
    assert list(logs) == ["workflow", "size", "time"]
    assert logs["workflow"].value_counts(sort=False).to_dict() == {model.name: model.runs for model in TABLE1}
    assert (logs["time"] > 0).all()
    for model in TABLE1:
        sizes = logs.loc[logs["workflow"] == model.name, "size"]
        assert model.sizes[0] <= sizes.min() < sizes.max() <= model.sizes[1]


def test_a_seed_gives_the_same_logs_whatever_is_drawn_beside():
    logs = workflow_logs(seed=4)
    assert logs.equals(workflow_logs(seed=4))
    assert not logs.equals(workflow_logs(seed=5))
    alone = workflow_logs(TABLE1[2:3], seed=4)
    assert alone.equals(logs[logs["workflow"] == TABLE1[2].name].reset_index(drop=True))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"correlation": 1.0}, r"workflow w: correlation: expected a number in \[0, 1\), got 1.0"),
        ({"mse": 0.0}, "workflow w: mse: expected a number > 0, got 0.0"),
        ({"mse": math.nan}, "mse: expected a number > 0, got nan"),
        ({"runs": 0}, "runs: expected a whole number >= 1, got 0"),
        ({"sizes": (5.0, 5.0)}, r"sizes: expected 0 < least < most, got \(5.0, 5.0\)"),
    ],
)
def test_bad_models_are_refused(changed, message):
    options = {"correlation": 0.5, "mse": 1.0, "power": 1, "logarithm": 0, "printed": False}
    with pytest.raises(InputError, match=message):
        WorkflowModel("w", "", **(options | changed))


def test_bad_seeds_and_no_models_are_refused():
    with pytest.raises(InputError, match="seed: expected a whole number >= 0, got -1"):
        workflow_logs(seed=-1)
    with pytest.raises(InputError, match="models: expected at least one workflow, got none"):
        workflow_logs(())
