"""Jobs that are drawn for a real Slurm."""

from hpcdispatch.bench.studies.benchmarks.slurm.live_commands import Owner
from hpcdispatch.bench.studies.benchmarks.slurm.live_replay import KEPT, drawn_plan, with_arrays, with_reserved

OWNERS = [Owner("ann", "phys"), Owner("ben", "chem")]
PLAN = drawn_plan(3, 80, 1.0, 8, 4, OWNERS, ["all"])


def options(plan, name):
    return [[option for option in job.shape if option.startswith(name)] for job in plan]


def test_a_share_of_the_jobs_are_arrays():
    plan = with_arrays(PLAN, 0.4, 3)
    arrays = [each for each in options(plan, "--array") if each]
    assert 20 < len(arrays) < 45
    assert any("%" in array for (array,) in arrays)
    assert all(len(partition) == 1 for partition in options(plan, "--partition"))
    assert [job.at for job in plan] == [job.at for job in PLAN]
    assert with_arrays(PLAN, 0, 3) == PLAN


def test_jobs_in_the_reservation_are_of_one_user_early_and_short():
    plan = with_reserved(PLAN, 0.9, 3)
    inside = [job for job, found in zip(plan, options(plan, f"--reservation={KEPT}"), strict=True) if found]
    assert inside
    assert {job.owner for job in inside} == {PLAN[0].owner}
    assert max(job.at for job in inside) < 120
    assert max(job.run for job in inside) < 60 * inside[0].minutes
