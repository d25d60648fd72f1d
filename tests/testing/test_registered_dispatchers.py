"""Every registered dispatcher keeps the rules. New ones are tested without further work."""

import pytest
from conftest import VERSIONS

from hpcdispatch.testing import check_dispatcher, pool, samples, tiny


def test_keeps_the_rules(registered):
    if registered.partition(":")[0] in VERSIONS:
        pytest.skip("a version of another dispatcher; nights check it on larger samples")
    # It never reads a run time and changes no state. A second call gives the same answer.
    check_dispatcher(registered, [tiny()], predictors=("last2",))
    check_dispatcher(registered, samples(0.3), overruns=("resubmit",), predictors=("heuristic",))


@pytest.mark.nightly
def test_keeps_the_rules_on_whole_samples(registered):
    share = 0.3 if "d_max=" in registered else 1  # of the jobs, where a solver decides
    check_dispatcher(registered, [tiny(), pool(round(24 * share))], predictors=("walltime", "last2"))
    check_dispatcher(registered, samples(share), overruns=("resubmit",), predictors=("heuristic",))
