"""The look-ahead dispatcher that decides size and start together."""

import pytest
from cross import moldable_plans
from cross.cases import MACHINES, MODES

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher

SPEC = "lookahead:molds=true"


@pytest.mark.parametrize("overrun", MODES)
@pytest.mark.parametrize("kind", MACHINES)
def test_every_schedule_keeps_the_invariants(overrun, kind):
    moldable_plans.check_invariants(moldable_plans.molded_workload(6, kind), SPEC, overrun)


def test_two_jobs_share_what_each_for_itself_would_take_alone():
    assert moldable_plans.two_that_share(SPEC, unit=10) == [120, 120]


def test_a_job_waits_for_a_size_on_which_it_ends_sooner():
    moldable_plans.check_waiting_for_a_mode(SPEC, unit=10)


def test_jobs_without_a_choice_are_planned_as_always():
    moldable_plans.check_rigid_jobs("lookahead", 80)


def test_the_same_twice():
    moldable_plans.check_repeatable(SPEC, 80)


def test_no_dispatcher_chooses_over_it():
    with pytest.raises(InputError, match="got one that chooses shapes itself"):
        create_dispatcher("sa:over=lookahead:molds=true")
