import json

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload


@pytest.fixture
def machine_file(tmp_path):
    def make(text):
        path = tmp_path / "m.json"
        path.write_text(text)
        return path

    return make


def text_of(cores, count):
    return json.dumps({"groups": {"a": {"core": cores}}, "resources": {"a": count}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, r"m\.json: expected an AccaSim .* nested too deeply$"),
        (text_of(4, 10**9), r"m\.json: field 'resources', group 'a': expected .* <= 1048576, got 10"),
        (text_of(2**62, 4), r"m\.json: group 'a', resource 'core': expected .* <= 90\d+, got 46\d+$"),
        (text_of(2**53, 4), r"m\.json: machine: expected at most .* together, got 4 nodes and 36\d+$"),
        ('{"groups": %s}' % ("9" * 5000), r"m\.json: .* got a number of too many digits$"),
        (text_of(4, 0), r"m\.json: field 'resources': expected at least one node, got none$"),
    ],
)
def test_what_is_no_machine_is_refused_in_one_line(machine_file, text, message):
    with pytest.raises(InputError, match=message):
        Machine.from_file(machine_file(text))


def test_more_nodes_or_cores_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match=r"^machine: nodes must be .* <= 1048576, got 1000000000$"):
        Machine.homogeneous(10**9, core=4)
    with pytest.raises(ValueError, match="expected at most"):
        Machine(("core",), np.full((3, 1), 2**53))


def test_jobs_of_more_work_than_can_be_counted_are_refused():
    job = Job("1", 0, 10**10, 10**10, per_node={"core": 10**9})
    with pytest.raises(
        InputError, match=r"^workload: expected at most \d+ core-seconds together, got 1e\+19; is a time"
    ):
        Workload((job,), Machine.pool(10**9))
