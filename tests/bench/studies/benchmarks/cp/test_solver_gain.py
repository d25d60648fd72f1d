"""The study of where CP-SAT pays: its control, that it sees what differs, and its constraint."""

import numpy as np
import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.cp.solver_gain import (
    CASES,
    CONTROL,
    LISTS,
    Shadowed,
    batches,
    gain,
    main,
)
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.simulation import simulate


def test_without_a_solver_nothing_differs():
    found = gain(CONTROL, 12, 2)
    assert found.planned > 0
    assert (found.of_solver, found.beside_search) == (0, 0)
    for values in found.metrics.values():
        assert (values[:, 1] == values[:, 2]).all()


def test_other_starts_are_counted():
    """FCFS beside a CP dispatcher starts other jobs. The same dispatcher once more does not."""
    shadowed = Shadowed(create_dispatcher("hcp3"), [create_dispatcher("hcp3"), create_dispatcher("fcfs")])
    simulate(batches(20, 0, 1.5), shadowed, predictor="oracle")
    same, fcfs = shadowed.differ
    assert same == 0 < fcfs


def test_a_case_without_a_solver_keeps_its_other_options():
    case = next(case for case in CASES if "blocked" in case.label)
    options = case.made(LISTS).options
    assert (options.blocked, options.solver, options.iterations) == (5, "none", 0)


@pytest.mark.nightly
def test_power_by_the_hour_is_kept():
    case = next(case for case in CASES if "power by the hour" in case.label)
    rule = case.made().constraints[0]
    workload = batches(15, 2, 3.0)
    jobs = simulate(workload, case.made(), predictor="oracle").jobs
    jobs = jobs[jobs["start"] >= 0]  # Some ask for more nodes with an accelerator than there are.
    watts = jobs["id"].map({job.id: 12 * job.nodes * job.per_node["core"] for job in workload.jobs}).to_numpy()
    times = np.unique(np.concatenate((jobs["start"], np.arange(0, int(jobs["end"].max()), 3600))))
    runs = (jobs["start"].to_numpy() <= times[:, None]) & (times[:, None] < jobs["end"].to_numpy())
    caps = np.array([rule.cap(int(time)) for time in times])
    assert (runs @ watts <= caps).all()
    assert (runs @ watts > rule.otherwise).any()  # By day more is drawn than by night may be.


def test_the_table_has_a_row_per_case():
    done = CliRunner().invoke(main, ["--small", "--markdown", "--case", "packing in batches"])
    assert done.exit_code == 0, done.output
    assert sum(line.startswith("| packing in batches") for line in done.stdout.splitlines()) == 3
    assert CliRunner().invoke(main, ["--case", "no such"]).exit_code == 2
