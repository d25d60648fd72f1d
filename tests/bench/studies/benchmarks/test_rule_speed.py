"""The table of times under rules: both forms of a row are simulations of the same jobs."""

from hpcdispatch.bench.studies.benchmarks.engine.rule_speed import maintained, on_nodes, on_pool, pairs, ruled
from hpcdispatch.simulation import check


def test_both_forms_of_each_row_run_the_same_jobs():
    for name, most, first, second in pairs((40, 40, 40)):
        mine, theirs = first(), second()
        assert mine.jobs["id"].tolist() == theirs.jobs["id"].tolist(), name
        assert most >= 1
        if "of the docs" in name:
            assert mine.jobs["start"].tolist() == theirs.jobs["start"].tolist(), name


def test_the_workloads_have_their_rules():
    for made in (on_pool(40), on_nodes(40)):
        assert not made.machine.rules
        assert maintained(made).machine.reservations[0].every == 7 * 86_400
        first = pairs((40, 40, 40))[3 if made.machine.nodes == 1 else 4][2]()
        check(ruled(made), first)
