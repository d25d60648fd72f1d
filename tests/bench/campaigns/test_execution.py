"""Campaigns in one process and in several. A cell is simulated once."""

import errno
import json
import os
import random
import subprocess
import sys
import threading
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path
from time import sleep

import pandas as pd
import pytest
from kept_cells import deterministic
from pebble.pool import process

from hpcdispatch.base import InputError
from hpcdispatch.base.unfinished_files import TEMPORARY
from hpcdispatch.bench.campaigns import cells, processes, versions
from hpcdispatch.bench.campaigns.execution import CampaignInterrupted, Store, WorkerError, plan_campaign, run_campaign
from hpcdispatch.bench.campaigns.metrics_table import campaign_table, cut_summary, write_table
from hpcdispatch.bench.campaigns.store import TRACES
from hpcdispatch.bench.reports.saved_results import runs_of
from hpcdispatch.bench.reports.study import study
from hpcdispatch.simulation import simulate
from hpcdispatch.simulation.trimming import NOTHING, Cut
from hpcdispatch.workloads import generate, write
from hpcdispatch.workloads.formats import parsed_traces

TEXT = """
dispatchers = ["fcfs", "easy", "lxf"]
predictors = ["walltime", "last2"]
jitter = 30
seeds = 2

[[workload]]
source = "lublin:jobs=120,processors=64,load=0.9"
"""
PLUGIN = """
import os
class Part:
    def __init__(self, mark: str = ""):
        self.mark = mark
    def dispatch(self, state):
        if not self.mark:
            raise KeyError("boom")
        with open(self.mark, "a") as file:
            file.write("x")
        if os.path.getsize(self.mark) < 2:
            os.kill(os.getpid(), 9)
        from hpcdispatch.dispatchers import FCFS
        return FCFS().dispatch(state)
class Mine:
    def ranks(self, state):
        return state.queue.nodes
class Leaves:
    def dispatch(self, state):
        raise SystemExit("over")
class Dies:
    def dispatch(self, state):
        os.kill(os.getpid(), 9)
class Exits:
    def dispatch(self, state):
        os._exit(0)
class Hungry:
    def dispatch(self, state):
        import resource
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), -1))
        taken = []
        while True:
            taken.append(bytearray(16 << 20))
"""
ENTRY_POINTS = (
    "[hpcdispatch.dispatchers]\nboom = faulty:Part\nleaves = faulty:Leaves\ndies = faulty:Dies\nexits = faulty:Exits\n"
    "hungry = faulty:Hungry\n[hpcdispatch.orders]\nmine = faulty:Mine\n"
)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Install a package of dispatchers that fail."""
    site = tmp_path / "site"
    info = site / "faulty-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "faulty.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    forget_versions()
    yield site
    forget_versions()


def forget_versions():
    versions.source_of.cache_clear()


def plan_of(tmp_path, text=TEXT, name="campaign"):
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    return plan_campaign(path)


def keys_of(tmp_path, **changes):
    text = TEXT
    for old, new in changes.values():
        text = text.replace(old, new)
    return {cell.key for cell in plan_of(tmp_path, text).cells}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the plan of a campaign, and what its store holds."""
    folder = tmp_path_factory.mktemp("undisturbed")
    plan = plan_of(folder)
    store = Store(folder / "store")
    outcome = run_campaign(plan, store)
    assert len(outcome.done) == len(plan.cells) == 12
    return plan, deterministic(store), folder / "store"


def test_a_result_is_the_one_of_simulate(undisturbed):
    plan, _, folder = undisturbed
    cell = plan.cells[3]
    again = simulate(
        cells.LastSample()(cell, plan.workload(cell.digest)), cell.dispatcher, cell.predictor, seed=cell.seed
    )
    found = Store(folder).result(cell)
    pd.testing.assert_frame_equal(found.jobs, again.jobs)
    assert found.manifest == again.manifest


def test_two_processes_make_the_same_store(undisturbed, tmp_path):
    plan, expected, _ = undisturbed
    seen = []
    outcome = run_campaign(plan, Store(tmp_path), workers=2, progress=seen.append)
    assert len(outcome.done) == 12
    assert deterministic(Store(tmp_path)) == expected
    assert seen[-1][:5] == (12, 12, 0, 12 * 120, 12 * 120)
    assert max(len(one.running) for one in seen) == 2


def test_what_is_finished_is_not_simulated_again(undisturbed, monkeypatch):
    plan, _, folder = undisturbed
    monkeypatch.setattr("hpcdispatch.bench.campaigns.processes.simulate_cell", None)
    outcome = run_campaign(plan, Store(folder))
    assert (len(outcome.reused), len(outcome.done)) == (12, 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"easy"', '"easy:placement=first-fit"'),
        ('"easy"', '" easy "'),
        ('"last2"', '"last2:correction=tsafrir"'),
        ("jitter = 30", 'jitter = [30]\nwarm_up = "5 jobs"\ncool_down = "10%"'),
        ("processors=64,load=0.9", "load=0.9,processors=64"),
    ],
)
def test_another_spelling_is_the_same_cell(tmp_path, old, new):
    assert keys_of(tmp_path, one=(old, new)) == keys_of(tmp_path)


def test_the_order_of_options_is_none(tmp_path):
    one = ('"easy"', '"conservative:compress=once,placement=best-fit"')
    other = ('"easy"', '"conservative:placement=best-fit,compress=once"')
    assert keys_of(tmp_path, one=one) == keys_of(tmp_path, one=other) != keys_of(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jitter = 30", "jitter = 31"),
        ("jitter = 30", "jitter = 0"),
        ("seeds = 2", "seeds = [2, 3]"),
        ("seeds = 2", 'seeds = 2\noverrun = "kill"'),
        ("seeds = 2", 'seeds = 2\nsame_instant = "sequence"'),
        ("jobs=120", "jobs=121"),
    ],
)
def test_what_changes_the_result_is_another_cell(tmp_path, old, new):
    assert not keys_of(tmp_path, one=(old, new)) & keys_of(tmp_path)


def test_the_same_jobs_from_a_file_are_the_same_cells(tmp_path):
    write(generate("lublin:jobs=50"), tmp_path / "a.swf")
    write(generate("lublin:jobs=50").head(30), tmp_path / "b.swf")
    text = 'dispatchers = "fcfs"\n[[workload]]\nsource = "{}"\n{}'
    head = plan_of(tmp_path, text.format("a.swf", "head = 30")).cells
    sliced = plan_of(tmp_path, text.format("a.swf", "slice = [0, 30]")).cells
    assert head[0].key == sliced[0].key
    both = text.format("a.swf", "head = 30\n") + '[[workload]]\nsource = "a.swf"\nname = "again"\nslice = [0, 30]'
    plan = plan_of(tmp_path, 'warm_up = "5 jobs"\n' + both + '\nwarm_up = "0"\n')
    assert len(plan.cells) == 1
    assert [(row.workload, str(row.warm_up)) for row in plan.rows] == [("a.swf", "5 jobs"), ("again", "none")]


def test_versions_are_in_the_key_where_they_matter(monkeypatch):
    assert "ortools" not in versions.made_by("easy", "walltime")
    assert "ortools" in versions.made_by("hcp3", "walltime")
    for name in ("hpcdispatch", "numpy", "accasim", "python"):
        assert name in versions.made_by("fcfs", "oracle")
    assert not {"pandas", "pyarrow"} & versions.made_by("hcp3", "walltime").keys()


#: Simulates the dispatchers with no package version in their key. Nothing of that package can be called meanwhile.
BLOCKED = """
import pkgutil, sys
from importlib import import_module

package = sys.argv[1]
def refuse(*args, **options):
    raise RuntimeError(f"{package} is used")

if package == "numba":
    import numba
    numba.njit = lambda *function, **options: refuse if function else lambda function: refuse

import hpcdispatch.models
from hpcdispatch.bench.campaigns.versions import made_by
from hpcdispatch.dispatchers import registry
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate

samples = [generate("lublin:jobs=20,processors=32,load=1.2"), generate("theta-scenario").head(25),
           generate("stochastic:large=12")]
places = list(pkgutil.walk_packages(hpcdispatch.models.__path__, "hpcdispatch.models."))
for module in [import_module(place.name) for place in places]:
    for name, value in list(vars(module).items()):
        if (getattr(value, "__module__", None) or getattr(value, "__name__", "")).startswith(package):
            setattr(module, name, refuse)
        if package == "ortools" and name == "cp_model":
            for model in ("CpModel", "CpSolver"):
                setattr(value, model, refuse)
names = [name for name in registry.names() if package not in made_by(name, "walltime")]
failed = []
for name in names:
    for sample in samples:
        try:
            simulate(sample, name, "walltime")
        except RuntimeError as error:
            failed.append(f"{name}: {error}")
            break
print(*names)
sys.exit("; ".join(failed) or None)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("package", versions.BEYOND)
def test_those_that_do_not_say_that_they_use_a_package_do_not(package):
    """Guards against results that depend on a package without its version in their key."""
    done = subprocess.run([sys.executable, "-c", BLOCKED, package], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # What fits is found by compiled code, under every dispatcher there is.
    free = set() if package == "numba" else {"fcfs", "easy", "conservative", "lookahead", "rbs"}
    assert free <= set(done.stdout.split())


@pytest.mark.nightly
def test_the_key_is_the_same_wherever_the_command_runs(tmp_path):
    """Guards against metadata of a checkout that is found from within it only."""
    script = "from hpcdispatch.bench.campaigns.versions import made_by; print(made_by('easy', 'walltime'))"
    told = {
        subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True).stdout
        for folder in (tmp_path, Path(__file__).parents[3])
    }
    assert told == {f"{versions.made_by('easy', 'walltime')}\n"}


@pytest.mark.parametrize(
    ("change", "digest"),
    [
        (lambda text: text, "1" * 16),
        (lambda text: b"0" * 64 + text[64:], "2" * 16),
        (lambda text: text[:-2], "2" * 16),
        (lambda text: b"\xff", "2" * 16),
    ],
)
def test_the_digest_of_unchanged_files_is_kept(monkeypatch, tmp_path, change, digest):
    digests = iter(["1" * 16, "2" * 16])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(versions, "_digest", lambda files: next(digests))
    monkeypatch.setattr(versions, "_of_parent", [])
    own_source = versions.own_source.__wrapped__
    own_source()
    (kept,) = (tmp_path / "hpcdispatch" / "sources").iterdir()
    kept.write_bytes(change(kept.read_bytes()))
    assert own_source().digest == digest


def test_a_worker_takes_over_what_is_known_of_unchanged_files(monkeypatch, tmp_path):
    known = versions.own_source()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(versions, "_digest", lambda files: "made anew")
    for given, digest in ((known, known.digest), (replace(known, state="of other files"), "made anew")):
        versions.own_source.cache_clear()
        versions.take_own_source(given)
        assert versions.own_source().digest == digest
    versions.own_source.cache_clear()
    versions.take_own_source(known)


def test_an_order_of_a_plugin_counts(plugin):
    for spec in ("easy:order=mine", "easy:backfill=mine", "warm-start:over=fcfs:order=mine"):
        assert versions.made_by(spec, "walltime")["faulty"] == "1.0"
    assert "faulty" not in versions.made_by("easy:order=f1,backfill=shortest", "walltime")


def test_a_plugin_counts_with_version_and_source(plugin):
    first = versions.made_by("boom", "walltime")
    assert first["faulty"] == "1.0"
    forget_versions()
    (plugin / "faulty.py").write_text("# a comment\n" + PLUGIN)
    assert versions.made_by("boom", "walltime") == first
    forget_versions()
    (plugin / "faulty.py").write_text(PLUGIN.replace("boom", "bang"))
    assert versions.made_by("boom", "walltime") != first


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(plugin, tmp_path):
    text = TEXT.replace('"lxf"', '"boom", "leaves"').replace("seeds = 2", "seeds = 1")
    plan = plan_of(tmp_path, text)
    store = Store(tmp_path / "store")
    outcome = run_campaign(plan, store)
    assert (len(outcome.done), len(outcome.failed), outcome.missing) == (4, 4, 0)
    cell, error = outcome.failed[0]
    assert error.type == "SimulationError"
    assert error.message.endswith("dispatch raised KeyError: 'boom'")
    assert "Traceback" in error.traceback
    assert store.failure(cell.key) == error
    again = run_campaign(plan, store)
    assert (len(again.reused), len(again.failed_before), len(again.done)) == (4, 4, 0)
    tried = run_campaign(plan, store, retry=True)
    assert (len(tried.reused), len(tried.failed)) == (4, 4)


def test_the_cell_of_a_lost_process_is_simulated_again(plugin, tmp_path):
    mark = tmp_path / "mark"
    text = (
        TEXT.replace('"lxf"', f'"boom:mark={mark}", "dies"').replace(', "last2"', "").replace("seeds = 2", "seeds = 1")
    )
    outcome = run_campaign(plan_of(tmp_path, text), Store(tmp_path / "store"), workers=2)
    assert {cell.dispatcher for cell, _ in outcome.failed} == {"dies"}
    assert {str(error) for _, error in outcome.failed} == {
        "WorkerDied: its process was killed (signal 9): out of memory?"
    }
    assert len(outcome.done) == 3
    assert mark.stat().st_size > 1


def test_a_cell_that_runs_out_of_memory_says_so(plugin, tmp_path):
    pytest.importorskip("resource")
    text = TEXT.replace('"lxf"', '"hungry"').replace(', "last2"', "").replace("seeds = 2", "seeds = 1")
    outcome = run_campaign(plan_of(tmp_path, text), Store(tmp_path / "store"), workers=2)
    assert [(cell.dispatcher, str(error)) for cell, error in outcome.failed] == [
        ("hungry", "MemoryError: out of memory")
    ]
    assert len(outcome.done) == 2


def test_large_traces_are_kept_where_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(parsed_traces, "LEAST", 5)
    write(generate("lublin:jobs=50"), tmp_path / "a.swf")
    text = TEXT.replace("lublin:jobs=120,processors=64,load=0.9", "a.swf")
    plain = plan_of(tmp_path, text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.swf", "campaign.toml"]
    for _ in range(2):
        kept = plan_campaign(tmp_path / "campaign.toml", tmp_path / "store" / TRACES)
        assert [cell.key for cell in kept.cells] == [cell.key for cell in plain.cells]
        assert len(list((tmp_path / "store" / TRACES).iterdir())) == 1


def test_a_process_that_ends_without_a_word_is_missed(plugin, tmp_path):
    """Guards against an endless wait for a process that ended with code 0."""
    text = TEXT.replace('"lxf"', '"exits"').replace(', "last2"', "").replace("seeds = 2", "seeds = 1")
    outcome = run_campaign(plan_of(tmp_path, text), Store(tmp_path / "store"), workers=2)
    assert len(outcome.done) == 2
    assert [str(error) for _, error in outcome.failed] == ["WorkerDied: its process ended with exit code 0"]


@pytest.mark.nightly
def test_exit_codes_are_read_by_one_thread(plugin, tmp_path, monkeypatch):
    """Guards against exit code 255. Of two threads that read the code at once, the second gets 255."""
    read = forkserver.read_signed
    main = threading.main_thread()

    def late(descriptor):
        sleep(0.2 if threading.current_thread() is main else 0.5)
        return read(descriptor)

    monkeypatch.setattr(forkserver, "read_signed", late)
    monkeypatch.setattr(processes, "LOSSES", 1)
    text = TEXT.replace('"easy", "lxf"', '"exits"').replace(', "last2"', "").replace("seeds = 2", "seeds = 1")
    outcome = run_campaign(plan_of(tmp_path, text), Store(tmp_path / "store"), workers=2)
    assert [str(error) for _, error in outcome.failed] == ["WorkerDied: its process ended with exit code 0"]


def test_a_pool_whose_thread_ends_is_replaced(undisturbed, tmp_path, monkeypatch):
    loop, calls = process.task_scheduler_loop, []
    monkeypatch.setattr(process, "task_scheduler_loop", lambda pool: loop(pool) if calls else calls.append(pool))
    store = Store(tmp_path)
    outcome = run_campaign(undisturbed[0], store, workers=2)
    assert (len(calls), len(outcome.failed)) == (1, 0)
    assert deterministic(store) == undisturbed[1]


def test_damaged_cells_are_named_and_simulated_again(undisturbed, tmp_path):
    plan, expected, _ = undisturbed
    store = Store(tmp_path)
    run_campaign(plan, store, workers=1)
    corrupted, truncated = random.Random(1).sample(plan.cells, 2)
    with open(store.path(corrupted.key) / "jobs.parquet", "r+b") as file:
        file.seek(200)
        file.write(b"\xff\xff")
    os.truncate(store.path(truncated.key) / "attempts.parquet", 500)
    others = [
        path
        for key in store.finished()
        for path in store.path(key).iterdir()
        if key not in (corrupted.key, truncated.key)
    ]
    before = {path: path.stat().st_mtime_ns for path in others}
    outcome = run_campaign(plan, store, verify=True)
    assert {(key, reason) for key, reason, _ in outcome.damaged} == {
        (corrupted.key, "jobs.parquet is not what was written"),
        (truncated.key, "attempts.parquet is not what was written"),
    }
    assert {cell.key for cell in outcome.done} == {corrupted.key, truncated.key}
    assert {path: path.stat().st_mtime_ns for path in others} == before
    assert deterministic(store) == expected


def test_verify_simulates_nothing_that_is_missing(undisturbed, tmp_path):
    plan = undisturbed[0]
    store = Store(tmp_path)
    run_campaign(replace(plan, cells=plan.cells[:3]), store)
    (store.path(plan.cells[0].key) / "manifest.json").unlink()
    (store.path(plan.cells[1].key) / "manifest.json").unlink()
    outcome = run_campaign(replace(plan, cells=plan.cells[1:]), store, verify=True)
    assert [cell for *_, cell in sorted(outcome.damaged, key=lambda one: one[2] is None)] == [plan.cells[1], None]
    assert (outcome.done, outcome.reused, outcome.missing) == ([plan.cells[1]], [plan.cells[2]], 9)
    assert store.has(plan.cells[0].key)


def test_campaigns_that_share_a_store_share_cells(tmp_path):
    store = Store(tmp_path / "store")
    run_campaign(plan_of(tmp_path, TEXT.replace(', "lxf"', "")), store)
    outcome = run_campaign(plan_of(tmp_path, TEXT.replace('"fcfs", ', "")), store)
    assert (len(outcome.reused), len(outcome.done)) == (4, 4)
    assert {cell.dispatcher for cell in outcome.reused} == {"easy"}


def test_what_another_campaign_finishes_meanwhile_is_not_simulated(undisturbed, tmp_path):
    plan, _, _ = undisturbed
    store = Store(tmp_path)
    nested = []

    def meanwhile(now):
        if now.running and not nested:
            nested.append(run_campaign(replace(plan, cells=plan.cells[1:]), store))

    outcome = run_campaign(plan, store, progress=meanwhile)
    assert [len(nested[0].done), len(outcome.done), len(outcome.reused)] == [11, 1, 11]


def test_an_interrupt_keeps_what_is_finished(undisturbed, tmp_path):
    plan, expected, _ = undisturbed

    def interrupt(now):
        if now.cells == 5:
            raise KeyboardInterrupt

    with pytest.raises(CampaignInterrupted) as caught:
        run_campaign(plan, Store(tmp_path), workers=2, progress=interrupt)
    assert (len(caught.value.outcome.done), caught.value.outcome.missing) == (5, 7)
    assert len(run_campaign(plan, Store(tmp_path)).reused) == 5
    assert deterministic(Store(tmp_path)) == expected


def test_a_worker_of_another_version_stops_the_campaign(undisturbed, tmp_path, monkeypatch):
    plan = plan_of(tmp_path)
    assert plan.cells[0].key
    monkeypatch.setattr(cells, "made_by", lambda *specs: {**versions.made_by(*specs), "numpy": "1.0"})
    with pytest.raises(WorkerError, match=r"worker: expected numpy .*, got 1\.0"):
        run_campaign(plan, Store(tmp_path / "store"))
    assert not list((tmp_path / "store" / "failed").iterdir())


def test_the_table_leaves_the_ends_out(undisturbed, tmp_path):
    plan, _, folder = undisturbed
    store = Store(folder)
    whole = campaign_table(plan, store)
    cuts = {"warm_up": Cut(20, "jobs"), "cool_down": Cut(25, "%")}
    cut = campaign_table(replace(plan, rows=tuple(replace(cell, **cuts) for cell in plan.rows)), store)
    assert whole["jobs"].tolist() == [120] * 12
    assert cut["jobs"].tolist() == [70] * 12
    assert (cut["warm_up"][0], cut["cool_down"][0], whole["warm_up"][0]) == ("20 jobs", "25%", "none")
    jobs = store.result(plan.cells[0]).jobs
    assert cut["wait_mean"][0] == jobs["wait"].iloc[20:90].mean()
    assert cut["makespan"].tolist() == whole["makespan"].tolist()
    assert not [name for name in cut if name.endswith("_ms_mean")]
    write_table(plan, store, tmp_path / "table.csv")
    assert pd.read_csv(tmp_path / "table.csv")["seed"].tolist() == whole["seed"].tolist()


def test_utilization_is_that_between_the_submissions_left(undisturbed):
    plan, _, folder = undisturbed
    result = Store(folder).result(plan.cells[0])
    begin = result.jobs["submit"].iloc[60]
    end = result.jobs["submit"].iloc[-1]
    found = cut_summary(result, Cut(60, "jobs"), NOTHING)["utilization"]
    stays = result.attempts
    inside = (stays["end"].clip(begin, end) - stays["start"].clip(begin, end)) * stays["units"]
    assert found == pytest.approx(inside.sum() / (64 * (end - begin)))
    assert cut_summary(result, NOTHING, NOTHING) == result.summary()


def test_a_cut_that_leaves_jobs_that_never_ran(undisturbed):
    plan, _, folder = undisturbed
    result = Store(folder).result(plan.cells[0])
    jobs = result.jobs.copy()
    jobs.loc[60:, "attempts"] = 0
    jobs["status"] = jobs["status"].cat.set_categories(["completed", "killed", "rejected"])
    jobs.loc[60:, "status"] = "rejected"
    found = cut_summary(replace(result, jobs=jobs), Cut(60, "jobs"), NOTHING)
    assert (found["jobs"], found["rejected"]) == (0, 60)


def test_the_store_knows_what_a_campaign_calls_its_cells(tmp_path):
    text = 'dispatchers = ["fcfs", "easy"]\nwarm_up = "10 jobs"\n[[workload]]\n{}source = "lublin:jobs=40"\n'
    one = plan_of(tmp_path, text.format('name = "one"\njitter = [0, 9]\n'), "first")
    other = plan_of(tmp_path, text.format('cool_down = "5%"\n'), "second")
    store = Store(tmp_path / "store")
    run_campaign(one, store)
    with pytest.raises(InputError, match=r"--campaign: expected one of .*store \(first\), got 'none'"):
        runs_of(store.folder, "none")
    assert {run.workload for run in runs_of(store.folder).runs} == {"one, jitter 0 s", "one, jitter 9 s"}
    run_campaign(other, store)
    with pytest.raises(InputError, match="expected --campaign, as several share this store: first, second"):
        runs_of(store.folder)
    found = runs_of(store.folder, "second")
    assert {(run.workload, str(run.warm_up), str(run.cool_down)) for run in found.runs} == {
        ("lublin:jobs=40", "10 jobs", "5%")
    }
    made = study(found)
    assert set(made.runs["jobs"]) == {28}
    assert set(study(found, warm_up=NOTHING).runs["jobs"]) == {38}
    store.discard(other.cells[0].key)
    assert runs_of(store.folder, "second").left_out == ("second: cells that are not simulated yet: 1",)
    (store.folder / "campaigns" / "second.json").write_text('{"cells": [{}]}')
    with pytest.raises(InputError, match=r"second.json: expected the cells of a campaign"):
        runs_of(store.folder, "second")


def test_a_cell_says_what_it_is(undisturbed):
    plan, _, folder = undisturbed
    told = json.loads((Store(folder).path(plan.cells[0].key) / "cell.json").read_text())
    assert told["workload"] == plan.cells[0].digest
    assert (told["dispatcher"], told["jitter"], told["seed"]) == ("fcfs", 30, 0)


def test_a_full_temporary_folder_is_an_error_of_the_system(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cells.Cell, "files", full)
    with pytest.raises(OSError, match=r"^worker: /.*: No space left on device$"):
        run_campaign(plan_of(tmp_path), Store(tmp_path / "store"))
    assert not list((tmp_path / "store" / "failed").iterdir())


def test_a_temporary_folder_that_fills_up_is_named(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(processes, "ProcessPool", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        run_campaign(plan_of(tmp_path), Store(tmp_path / "store"), workers=2)
    assert TEMPORARY in caught.value.filename
