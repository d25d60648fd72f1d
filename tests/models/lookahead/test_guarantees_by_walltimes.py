"""Plans by predictions between guarantees by requests."""

import numpy as np
import pytest

from hpcdispatch.models.lookahead.guarantees import NO_GUARANTEE, MachineRoom, PlanSettings, Queue, Walltimes
from hpcdispatch.models.lookahead.planning import plan

SETTINGS = PlanSettings(due=150, tolerance=0.0, blocked=3, guards=1, iterations=10, age_scale=-1.0)
#: Half of the machine is held until 100 s. The oldest job requests all of it and is guaranteed that time.
BUSY = MachineRoom(np.array([100]), np.array([[2]]), np.array([2]), np.array([4]))


def planned(predicted, requested):
    """Return the started jobs, of the oldest and two that fit now."""
    queue = Queue(
        np.array([50, 10, 10]), np.array([60, *predicted]), np.array([[4], [2], [2]]), np.array([False, True, True])
    )
    walltimes = Walltimes(np.array([60, *requested]), np.array([100]), np.full(3, NO_GUARANTEE))
    found, guaranteed = plan(queue, BUSY, SETTINGS, walltimes)
    assert guaranteed.tolist() == [100]
    return found.start.tolist()


@pytest.mark.parametrize(
    ("predicted", "requested", "starts"),
    [
        ([10, 90], [90, 90], [1]),
        # The walltime of the first planned job goes beyond the guarantee. The other's does not.
        ([10, 90], [500, 90], [2]),
        ([10, 20], [500, 500], []),
    ],
)
def test_a_job_that_may_not_start_leaves_the_room_to_others(predicted, requested, starts):
    assert planned(predicted, requested) == starts
