"""The orders of SEJF beside one another, on few jobs."""

from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.onthefly import METRICS, ORDERS, OnTheFlySetting, accre, main, traces
from hpcdispatch.workloads import generate, write


def test_every_order_has_its_line_and_the_baseline_is_itself():
    table = accre(OnTheFlySetting("b", 150, 2))
    assert [row[1].text for row in table.rows] == [f"SEJF, {name}" for name in ORDERS]
    assert {cell.text for cell in table.rows[1][3::2]} == {"1.000"}
    assert len(table.columns) == len(table.rows[0]) == 2 + 2 * len(METRICS)


def test_months_of_a_trace_are_its_samples(tmp_path):
    path = tmp_path / "small.swf"
    write(generate("lublin:jobs=120,processors=32,load=0.9,users=3", seed=3), path)
    (table,) = traces(OnTheFlySetting(traces={str(path): 100}))
    assert table.note.startswith("100 jobs, 1 months")
    assert len(table.rows) == len(ORDERS)


def test_the_command_prints_a_part():
    done = CliRunner().invoke(main, ["--small", "--part", "accre", "--markdown"])
    assert done.exit_code == 0, done.output
    assert "| (b) | SEJF, order=gittins |" in done.output
