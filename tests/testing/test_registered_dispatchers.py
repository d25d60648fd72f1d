"""Every registered dispatcher keeps the rules of one: a new one is tested by being registered."""

from hpcdispatch.testing import check_dispatcher, pool, samples, tiny


def test_keeps_the_rules(registered):
    # Among them: it never reads a run time, changes no state, and answers the same when asked again.
    share = 0.3 if "d_max=" in registered else 1  # of the jobs, where a solver decides
    check_dispatcher(registered, [tiny(), pool(round(24 * share))], predictors=("walltime", "last2"))
    check_dispatcher(registered, samples(share), overruns=("resubmit",), predictors=("heuristic",))
