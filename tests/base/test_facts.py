"""What objects say of themselves: short on a prompt, whole in a notebook."""

import pytest

from hpcdispatch import dispatchers, predictors
from hpcdispatch.base.facts import Facts
from hpcdispatch.dispatchers import registry
from hpcdispatch.workloads import Job, Machine, Provenance, Workload


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 500])
@pytest.mark.parametrize("header", [(), ("name", "value")])
def test_text_is_short_and_html_whole(rows, header):
    facts = Facts("Title " * 100, [(f"row {row}", "<b>&" + "x" * 500) for row in range(rows)], header)
    lines = facts.text().splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) < 200
    shown = sum(line.startswith("  row") for line in lines)
    assert shown == rows or lines[-1] == f"  ... and {rows - shown} more"
    html = facts.html()
    assert html.count("<tr>") == rows + bool(header)
    assert "&lt;b&gt;&amp;x" in html or not rows
    assert "<b>" not in html


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_workload_is_shown_in_a_few_lines(count):
    jobs = [Job(id=str(number), submit=number, runtime=60, walltime=60, nodes=1) for number in range(count)]
    notes = tuple(f"note {number}" for number in range(9))
    workload = Workload(jobs, Machine.homogeneous(2, core=4, gpu=1), Provenance("a trace", notes=notes))
    shown = repr(workload)
    assert shown.startswith("Workload a trace\n")
    assert "2 nodes with 8 core, 2 gpu" in shown
    assert ("median 1m" in shown) == (count > 0)
    assert "and 6 more in .provenance.notes" in shown
    assert shown.count("\n") < 12
    assert f"<td style='text-align:left'>{count}" in workload._repr_html_()


def test_a_notebook_lists_the_parts():
    assert repr(registry).startswith(f"{len(registry.names())} dispatchers: ")
    for module in (dispatchers, predictors):
        html = module._repr_html_()
        assert html.count("<tr>") == 1 + len(module.registry.names())
        assert "cannot be used" not in html


def test_a_part_that_cannot_be_loaded_is_listed(monkeypatch):
    monkeypatch.setattr(registry, "names", lambda: ["easy", "nothing-of-this-name"])
    assert "cannot be used: unknown dispatcher" in registry._repr_html_()
