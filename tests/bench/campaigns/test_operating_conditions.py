"""Failures, caps and signals in comparisons, campaigns and reports."""

import json
from dataclasses import replace

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.comparison import compare
from hpcdispatch.bench.campaigns.execution import Store, run_campaign
from hpcdispatch.bench.campaigns.plan import plan_campaign
from hpcdispatch.bench.reports.figures import figures_of
from hpcdispatch.bench.reports.page import write_report
from hpcdispatch.bench.reports.saved_results import runs_of
from hpcdispatch.bench.reports.study import study
from hpcdispatch.bench.reports.summaries import tables_of
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import OperatingConditions, Power, Signal, Workload

FAILURES = "mtbf=5d,repair=1h"
HOURS = np.arange(24 * 200)
GRAMS = 250 - 150 * np.cos(2 * np.pi * HOURS / 24)


@pytest.fixture(scope="module")
def workload():
    made = hd.generate("lublin:jobs=80,processors=16,load=0.6", seed=1)
    return Workload(made.jobs, replace(made.machine, power=Power({"core": 10}, idle=100)))


def test_a_comparison_has_what_each_run_has(workload):
    signal = Signal(HOURS * 3600, GRAMS)
    found = compare(workload, ["fcfs", "easy"], failures=FAILURES, signal=signal, may_wait="2h")
    expected = simulate(workload, "easy", failures=FAILURES, signal=signal, may_wait="2h").summary()
    [row] = found.table.query("dispatcher == 'easy'").to_dict("records")
    for name in ("energy_kwh", "power_peak_kw", "emissions_kg", "put_off_mean", "lost_core_hours"):
        assert row[name] == expected[name] > 0
    assert found.best("emissions_kg") is not None
    assert found.conclusions("lost_core_hours")["contender"].tolist() == ["fcfs"]
    assert found.conditions == f"failures {FAILURES}, signal signal, may wait 2h"


def test_each_seed_has_failures_of_its_own():
    days = hd.generate("lublin:jobs=200,processors=16,load=0.25,users=9")
    found = compare(days, "easy", seeds=2, failures=FAILURES)
    assert found.runs["lost_core_hours"].nunique() == 2
    assert "energy_kwh" not in found.table


def test_without_any_the_table_is_as_before(workload):
    plain = Workload(workload.jobs, replace(workload.machine, power=None))
    found = compare(plain, "easy")
    assert (found.conditions, found.metrics) == ("", compare(plain, "fcfs").metrics)
    with pytest.raises(InputError, match="expected a metric of wait_mean"):
        found.best("emissions_kg")


def test_a_workload_to_check_is_that_of_the_run(workload):
    conditions = OperatingConditions(FAILURES)
    hd.simulation.check(conditions.on(workload, 3), simulate(workload, "easy", seed=3, failures=FAILURES))
    assert not OperatingConditions()
    assert OperatingConditions().on(workload) is workload


def test_files_are_read_once(tmp_path, workload):
    (tmp_path / "cap.csv").write_text("time,watts\n" + "".join(f"{3600 * hour},1000\n" for hour in HOURS.tolist()))
    (tmp_path / "log.csv").write_text("node,begin,end\n0,3000,4000\n")
    conditions = OperatingConditions(tmp_path / "log.csv", None, None, tmp_path / "cap.csv")
    first = conditions.on(workload)
    (tmp_path / "cap.csv").unlink()
    (tmp_path / "log.csv").unlink()
    assert conditions.on(workload, 1).digest() == first.digest()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"may_wait": "2h"}, "may_wait: expected a signal beside it, got none"),
        ({"failures": "mtbf=0,repair=4h"}, "mtbf"),
        ({"signal": Signal([0, 3600], [1.0, 2.0], name="short.csv")}, "short.csv: it tells of t=0 to 7,200"),
    ],
)
def test_bad_conditions_stop_before_a_run(workload, given, message):
    with pytest.raises(InputError, match=message) as told:
        compare(workload, "easy", **given)
    assert "\n" not in str(told.value)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a trace, its machine, a signal, a cap and a log of failures."""
    jobs = [f"{job} {job * 600} -1 1800 4 -1 -1 4 3600 -1 1 1 1 1 1 1 -1 -1" for job in range(1, 31)]
    (tmp_path / "t.swf").write_text("; MaxProcs: 8\n" + "\n".join(jobs) + "\n")
    machine = {"groups": {"node": {"core": 1}}, "resources": {"node": 8}, "power": {"watts": {"core": 10}, "idle": 10}}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    steps = [(hour * 3600, grams) for hour, grams in zip(HOURS.tolist(), GRAMS.tolist(), strict=True)]
    (tmp_path / "grid.csv").write_text("time,g_per_kwh\n" + "".join(f"{time},{grams:.3f}\n" for time, grams in steps))
    (tmp_path / "cap.csv").write_text("time,watts\n" + "".join(f"{time},55\n" for time, _ in steps))
    (tmp_path / "log.csv").write_text("node,begin,end\n0,3000,4000\n5,9000,9500\n")
    return tmp_path


def planned(folder, *lines):
    path = folder / "campaign.toml"
    given = ('dispatchers = ["easy"]', "[[workload]]", 'source = "t.swf"', 'machine = "machine.json"', *lines)
    path.write_text("\n".join(given) + "\n")
    return plan_campaign(path)


def keys(plan):
    return {cell.key for cell in plan.cells}


def test_a_cell_is_known_by_its_conditions(folder):
    lines = ('signal = "grid.csv"', 'may_wait = "1d"', 'power_cap = "cap.csv"', 'failures = "log.csv"')
    seen = [keys(planned(folder, *lines[:count])) for count in range(len(lines) + 1)]
    assert len(set.union(*seen)) == len(seen)
    (folder / "other.csv").write_text((folder / "grid.csv").read_text())
    assert keys(planned(folder, 'signal = "other.csv"')) == seen[1]
    (folder / "grid.csv").write_text((folder / "grid.csv").read_text().replace("0,100.000", "0,101.000", 1))
    assert keys(planned(folder, lines[0])) != seen[1]
    (folder / "log.csv").write_text("node,begin,end\n0,3000,4000\n5,9000,9600\n")
    assert keys(planned(folder, *lines[1:], lines[0])) != seen[4]


@pytest.mark.nightly
def test_a_campaign_measures_and_reports_them(folder):
    lines = ('signal = "grid.csv"', 'may_wait = "1h"', 'power_cap = "cap.csv"', 'failures = "log.csv"')
    plan, store = planned(folder, *lines), Store(folder / "store")
    assert len(run_campaign(plan, store).done) == 1
    assert len(run_campaign(plan, store).reused) == 1
    made = study(runs_of(folder / "store"))
    [name] = made.workloads
    table = tables_of(made, name)["conditions"]
    assert {"energy (kWh)", "CO2 (kg)", "core hours lost to failures"} <= set(table.columns)
    figures = figures_of(made, name)
    assert 0 < figures["power"].data["kilowatts"].max() <= 0.055
    assert figures["lost-work"].data["core_hours"].max() > 0
    write_report(made, folder / "page.html")
    assert "Power, the grid and failures" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (('may_wait = "1h"',), "campaign.toml:5: workload 1: may_wait: expected a signal beside it"),
        (('signal = "log.csv"',), "campaign.toml:5: workload 1: .*log.csv: expected the columns time and one of"),
        (('signal = "absent.csv"',), "campaign.toml:5: workload 1: .*absent.csv"),
        (('power_cap = "grid.csv"',), "grid.csv: expected the columns time and watts"),
        (('failures = "mtbf=0,repair=1h"',), "mtbf"),
        (('failures = ""',), "workload 1 failures: "),
    ],
)
def test_mistakes_in_a_campaign_are_one_line(folder, lines, message):
    with pytest.raises(InputError, match=message) as told:
        planned(folder, *lines)
    assert "\n" not in str(told.value)
