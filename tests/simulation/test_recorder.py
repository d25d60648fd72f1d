"""The reports of a dispatcher as columns of the decisions."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.dispatchers import FCFS
from hpcdispatch.simulation.recorder import DECISION, Recorder
from hpcdispatch.workloads import generate


class Reporting(FCFS):
    """Reports what a plan has for each time."""

    def __init__(self, plan):
        self.plan = plan

    def dispatch(self, state):
        self.now = state.now
        return super().dispatch(state)

    def report(self):
        return self.plan.get(self.now)


def found(now):
    """Whole numbers, texts, numbers that are missing at first, and keys that change."""
    same = {"count": now, "status": f"s{now}", "bound": None if now < 4 else now / 2}
    return same if now < 6 else {"late": now, **same, "count": 2.5}


@pytest.mark.parametrize("times", [range(9), range(0, 9, 2), range(1, 9, 3), [8], []])
def test_a_dispatcher_may_report_now_and_then_with_changing_keys(run, times):
    plan = {now: found(now) for now in times}
    decisions = run([(now, 1, 1, 1) for now in range(9)], Reporting(plan)).decisions
    assert list(decisions.columns[: len(DECISION)]) == list(DECISION)
    expected = pd.DataFrame.from_records([plan.get(now, {}) for now in decisions["time"]]).reindex(decisions.index)
    pd.testing.assert_frame_equal(decisions.iloc[:, len(DECISION) :], expected, check_column_type=False)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        [1, 2.5, None],
        [None, 2],
        [True, False],
        [True, 1],
        [2**63 - 1, 2**63],
        [2**70, 1],
        [np.int64(1), 2],
        [0.5, float("nan")],
        ["text", None],
        [(1, 2), [3]],
    ],
    ids=repr,
)
def test_a_column_has_the_type_that_records_would_give_it(values):
    recorder = Recorder(generate("lublin:jobs=1"))
    for value in values:
        recorder.decision((0, 0, 0, 0, 0, 0), {"value": value}, 1)
    column = recorder.decisions_frame()["value"]
    pd.testing.assert_series_equal(column, pd.DataFrame.from_records([{"value": value} for value in values])["value"])
