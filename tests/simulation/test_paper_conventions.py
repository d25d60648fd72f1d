"""Conventions of papers by name: settings of reading and of simulation."""

import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.simulation.paper_conventions import NAMES
from hpcdispatch.workloads import Job, Machine, Workload

RECORD = "{} {} 0 {} 4 -1 -1 4 {} -1 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture
def path(tmp_path):
    rows = ((1, 0, 60, 90), (2, 5, 0, 90), (3, 6, -1, 90), (4, 7, 60, -1))
    (tmp_path / "t.swf").write_text("; MaxProcs: 8\n" + "".join(RECORD.format(*row) for row in rows))
    return tmp_path / "t.swf"


@pytest.mark.parametrize(
    ("name", "jobs"),
    [("sc15", {"1": 60}), ("rlscheduler", {"1": 60, "3": 10, "4": 60}), ("hpcopt", {"1": 60, "2": 0, "4": 60})],
)
def test_a_trace_is_read_as_the_paper_reads_it(name, jobs, path):
    rules = hd.conventions(name)
    workload = hd.read(path, **rules.read)
    assert {job.id: job.runtime for job in workload.jobs} == jobs
    result = hd.simulate(workload, "easy", rules.predictor, **rules.simulate)
    assert result.manifest["same_instant"] == rules.simulate["same_instant"]
    hd.compare(workload, ["easy"], rules.predictor, **rules.simulate)


def test_machines_of_papers_by_the_trace():
    assert hd.conventions("sc15").reading("curie")["processors"] == 80_640
    assert "processors" not in hd.conventions("sc15").reading("ctc-sp2")
    assert hd.conventions("hpcopt").reading("CTC-SP2")["processors"] == 512


@pytest.mark.parametrize("name", ["sc51", "", None, 3])
def test_an_unknown_name(name):
    with pytest.raises(InputError, match=f"conventions: expected one of {', '.join(NAMES)}, got"):
        hd.conventions(name)


@pytest.mark.parametrize(("order", "start"), [("arrivals-first", 10), ("arrivals-alone-first", 60)])
def test_nodes_of_a_foreseen_end_at_an_arrival(order, start):
    """Of two jobs, the shorter comes later in the second in which the first ends as foreseen."""
    jobs = [
        Job("a", 0, 10, 10, 4, {"core": 1}),
        Job("b", 10, 90, 90, 4, {"core": 1}),
        Job("c", 10, 50, 50, 4, {"core": 1}),
    ]
    result = hd.simulate(Workload(jobs, Machine.pool(4)), "sjf", same_instant=order)
    assert result.jobs.set_index("id")["start"]["b"] == start
