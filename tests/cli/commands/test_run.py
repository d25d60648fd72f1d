"""``hpcdispatch run``."""

import json
import re

import pytest

from hpcdispatch.cli import trace_argument
from hpcdispatch.cli.commands import run
from hpcdispatch.simulation import Result, simulate
from hpcdispatch.workloads import generate, read, write
from hpcdispatch.workloads.formats import parsed_traces

SPEC = "lublin:jobs=200,processors=64,load=0.8"


def test_json_is_the_flat_summary(invoke):
    found = invoke("run", SPEC, "--dispatcher", "easy-sjbf", "--seed", 3, "--json")
    assert found.exit_code == 0
    assert found.stderr == ""
    shown = json.loads(found.stdout)
    expected = simulate(generate(SPEC, seed=3), "easy-sjbf", seed=3).summary()
    assert list(shown) == ["schema", "command", "answer", *expected, "baseline", "warm_up", "cool_down", "submissions"]
    assert shown["baseline"]["wait_mean"] == simulate(generate(SPEC, seed=3), "easy", seed=3).summary()["wait_mean"]
    assert all(shown[name] == expected[name] for name in expected if "_ms_" not in name and not name.endswith("_s"))


def test_json_has_null_where_nothing_is_defined(invoke):
    shown = json.loads(invoke("run", "lublin:jobs=1", "--json").stdout)
    assert None in (shown["wait_mean_short"], shown["wait_mean_long"])


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_table_fits_and_holds_the_metrics(invoke, columns):
    found = invoke("run", SPEC, "--overrun", "kill", "--seconds", columns=columns)
    assert found.exit_code == 0
    summary = simulate(generate(SPEC), "easy", overrun="kill").summary()
    lines = found.stdout.splitlines()
    assert all(len(line) <= columns for line in lines[:-1])
    wait = next(line.split() for line in lines if line.startswith("  wait (s)"))
    assert wait[2] == f"{summary['wait_mean']:,.0f}"
    assert wait[5] == f"{summary['wait_max']:,.0f}"
    for label in ("all jobs (200)", "bounded slowdown", "utilization (%)", "makespan (s)", "overrun kill"):
        assert label in found.stdout


def test_without_a_trace_says_which_workload(invoke):
    found = invoke("run", "--head", 50)
    assert found.exit_code == 0
    assert "note: no trace given, using the built-in workload lublin:jobs=" in found.stderr
    assert "50 jobs: 50 completed, 0 killed, 0 rejected" in found.stdout


def test_file_with_notes_out_and_check(invoke, trace, tmp_path):
    out = tmp_path / "new" / "results"
    found = invoke("run", trace, "--out", out, "--check", "--predictor", "last2")
    assert found.exit_code == 0, found.stderr
    assert "1 of 60 records left out as unusable" in found.stderr
    assert "checked: every invariant holds" in found.stderr
    saved = Result.load(out)
    assert len(saved.jobs) == 59
    assert saved.manifest["predictor"] == "last2"


def test_default_walltime_and_its_warning(invoke, trace):
    lines = trace.read_text().splitlines()
    fields = lines[-2].split()
    fields[8] = "-1"
    trace.write_text("\n".join([*lines[:-2], " ".join(fields), lines[-1]]) + "\n")
    warned = invoke("run", trace, "--json")
    assert [line for line in warned.stderr.splitlines() if line.startswith("hpcdispatch: warning: ")]
    assert "Warning" not in warned.stderr
    assert warned.stderr.count("no walltime") == 1
    assert "--default-walltime" in warned.stderr
    told = invoke("run", trace, "--json", "--default-walltime", "runtime")
    assert "hpcdispatch: warning" not in told.stderr
    assert told.exit_code == warned.exit_code == 0


def test_an_existing_file_wins_over_a_name(invoke, trace, monkeypatch):
    monkeypatch.chdir(trace.parent)
    plain = invoke("run", "lublin", "--json", "--head", 59)
    (trace.parent / "kth-sp2").mkdir()
    trace.rename(trace.parent / "lublin")
    refused = invoke("run", "lublin")
    assert plain.exit_code == 0
    assert refused.exit_code == 0  # for any suffix, the first lines tell that it is SWF


def test_published_name_is_fetched(invoke, trace, monkeypatch):
    asked = []
    monkeypatch.setattr("hpcdispatch.workloads.sources.fetch", lambda name: asked.append(name) or trace)
    found = invoke("run", "KTH-SP2", "--json")
    assert found.exit_code == 0
    assert asked == ["KTH-SP2"]


def test_machine_file(invoke, trace, tmp_path):
    machine = tmp_path / "machine.json"
    machine.write_text('{"groups": {"g": {"core": 4}}, "resources": {"g": 8}}')
    found = invoke("run", trace, "--machine", machine, "--out", tmp_path / "out")
    assert found.exit_code == 0, found.stderr
    assert Result.load(tmp_path / "out").manifest["machine"]["nodes"] == 8


def test_same_records_as_reading_it(invoke, trace, tmp_path):
    invoke("run", trace, "--out", tmp_path / "out", "--dispatcher", "conservative:compress=once")
    expected = simulate(read(trace), "conservative:compress=once")
    assert Result.load(tmp_path / "out").jobs["start"].tolist() == expected.jobs["start"].tolist()


class TestLargeTraces:
    @pytest.fixture
    def trace(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        write(generate("lublin:jobs=60"), tmp_path / "a.swf")
        return tmp_path / "a.swf"

    def test_one_that_does_not_fit_is_refused_in_a_line(self, invoke, trace, monkeypatch):
        monkeypatch.setattr(trace_argument, "half_the_memory", lambda: 10_000)
        found = invoke("run", trace)
        assert found.exit_code == 2
        assert len(found.stderr.splitlines()) == 1
        assert "a.swf: expected a trace that fits into memory, got about 7" in found.stderr
        assert "--head N" in found.stderr

    def test_the_first_jobs_are_those_of_the_whole(self, invoke, trace):
        found = json.loads(invoke("run", trace, "--head", 20, "--json").stdout)
        expected = simulate(read(trace).head(20), "easy").summary()
        assert found["wait_mean"] == expected["wait_mean"]

    def test_are_kept_unless_told_not_to(self, invoke, trace, tmp_path, monkeypatch):
        monkeypatch.setattr(parsed_traces, "LEAST", 5)
        outputs = [invoke("workload", "describe", trace, "--no-cache").stdout]
        assert not (tmp_path / "cache").exists()
        outputs += [invoke("workload", "describe", trace).stdout for _ in range(2)]
        assert len(set(outputs)) == 1
        assert len(list((tmp_path / "cache" / "hpcdispatch" / "parsed").iterdir())) == 1


def test_molded_jobs_choose(invoke):
    run = ("run", "lublin:jobs=80,processors=32", "--json", "--dispatcher")
    rigid = json.loads(invoke(*run, "sa").output)
    molded = json.loads(invoke(*run, "sa", "--mold", "downey:choices=4").output)
    same = json.loads(invoke(*run, "sa", "--mold", "downey:choices=4,seed=0").output)
    assert rigid["efficiency"] == 1 > molded["efficiency"]
    assert molded["turnaround_gmean"] == same["turnaround_gmean"] != rigid["turnaround_gmean"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("luck", "mold: expected downey[:least=A,most=A,smooth=S,rough=S], amdahl:serial=F or"),
        ("amdahl", "mold amdahl: option 'serial' must be given (a number)"),
        ("amdahl:serial=2", "mold amdahl: serial must be numbers <= 1, got 2.0"),
        ("downey:least=0.5", "mold downey: A: the least must be a number >= 1, got 0.5"),
        ("downey:choices=1", "mold downey: option 'choices': expected a whole number >= 2, got 1"),
        ("gunther:contention=0,coherency=0,sigma=1", "mold gunther: unknown option 'sigma'; known: contention, coh"),
    ],
)
def test_a_speedup_that_is_none_is_named(invoke, spec, message):
    for command in ("run", "compare"):
        found = invoke(command, "lublin:jobs=9", "--mold", spec)
        assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
        assert message in found.stderr


def test_a_run_begins_from_a_state(invoke, tmp_path):
    running = {"id": "r", "nodes": 2, "elapsed": 30, "ends": 20}
    waiting = {"id": "w", "nodes": 3, "waited": 40, "walltime": 10}
    (tmp_path / "state.json").write_text(json.dumps({"machine": {"nodes": 3}, "jobs": [running], "waiting": [waiting]}))
    found = invoke("run", "--state", tmp_path / "state.json", "--check", "--json")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["wait_max"] == 60
    refused = invoke("run", "lublin:jobs=5,processors=8", "--state", tmp_path / "state.json")
    assert refused.exit_code == 2
    assert "got 3 nodes" in refused.stderr


@pytest.mark.parametrize("command", [("run", "--predictor"), ("compare", "--dispatchers", "toptimal", "--predictors")])
def test_laws_of_few_runs_are_used_but_said_once(invoke, command):
    name, *options = command
    found = invoke(name, SPEC, *options, "empirical:least=2")
    assert found.exit_code == 0
    told = "hpcdispatch: note: empirical:least=2: laws of 2 past runs tell little; expected at least 5"
    assert found.stderr.splitlines().count(told) == 1
    assert "tell little" not in invoke(name, SPEC, *options, "empirical:least=5").stderr


def test_failures_that_a_dispatcher_reports_are_said(invoke):
    spec = "lublin:jobs=100,processors=16,load=1.1"
    found = invoke("run", spec, "--dispatcher", "portfolio:budget=1,every=6h")
    assert "failures in" in found.stderr
    assert "budget of 1 decisions allowed no replay: lookahead:least_due=1h,trust=1.1 goes on" in found.stderr
    compared = invoke("compare", spec, "--dispatchers", "portfolio:budget=1,every=6h,easy,portfolio:every=6h").stdout
    assert "portfolio:budget=1,every=6h: failures in" in compared
    assert compared.count("failures in") == 1


def test_on_demand_jobs_have_rows_of_their_own(invoke):
    found = invoke("run", "theta:days=1,rate=6", "--dispatcher", "evict")
    assert found.exit_code == 0
    for row in (
        "on-demand jobs",
        "delay, mean / p95 / max",
        "batch jobs killed / checkpointed",
        "node-hours they lost",
    ):
        assert row in found.stdout


def test_without_a_baseline_the_result_stands_alone(invoke, monkeypatch):
    def simulated(workload, dispatcher, *others, **options):
        if dispatcher == "easy":
            raise ValueError("not today")
        return simulate(workload, dispatcher, *others, **options)

    monkeypatch.setattr(run, "simulate", simulated)
    found = invoke("run", SPEC, "--dispatcher", "fcfs")
    assert found.exit_code == 0
    assert "note: no comparison with easy: ValueError: not today" in found.stderr
    assert "'hpcdispatch compare' sets others beside it" in found.stdout


def test_users_react_beside_the_replay(invoke, tmp_path):
    """The answer has both kinds of submissions; without users or with a state it is refused in one line."""
    path = tmp_path / "t.swf"
    result = simulate("lublin:jobs=600,processors=32,load=0.9,users=20,seed=3", "fcfs")
    result.to_swf(path)
    found = invoke("run", path, "--dispatcher", "easy-sjbf", "--users", "react", "--check")
    assert found.exit_code == 0, found.stderr
    answer = found.stdout.splitlines()[-1]
    assert answer.startswith("As users react: Under easy-sjbf a job waits")
    assert "The replay with recorded submissions" in answer
    assert "users react: " in found.stderr
    assert "nan" not in answer
    assert json.loads(invoke("run", path, "--users", "react", "--json").stdout)["submissions"] == "react"
    (tmp_path / "unknown.swf").write_text("; MaxProcs: 4\n1 0 0 5 1 -1 -1 1 9 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    refused = invoke("run", tmp_path / "unknown.swf", "--users", "react")
    assert refused.exit_code
    assert "no job has a known user" in refused.stderr


@pytest.mark.parametrize(
    ("options", "completed", "note"),
    [
        # A cycle, rules about jobs that never come, a rule twice, and a pattern of all jobs.
        ("constraints=precedence(1?;2?)+precedence(2?;1?)", 25, None),
        ("constraints=precedence(none*;1)+never-together(x;y)+share(user;1;x)", 25, None),
        ("constraints=never-together(1;2)+never-together(1;2)", 25, None),
        ("constraints=precedence(*;*)", 25, None),
        ("budget=0,constraints=never-together(1;2)", 25, "failures in .*never-together at .*: no schedule was found"),
        ("constraints=power-by-hour(0;0;24)", 0, "25 jobs rejected, job 1: constraint power-by-hour: leaves it no"),
        ("constraints=at-most(user;1)+power-by-hour(0;8;20;otherwise=0)", 0, "25 jobs rejected, job 1: constraint"),
    ],
)
def test_rules_that_exclude_much_or_nothing_lose_no_job_without_a_word(invoke, options, completed, note):
    spec = "lublin:jobs=25,processors=32,load=0.9"
    found = invoke("run", spec, "--dispatcher", f"pcp-fast:{options}", "--check")
    assert found.exit_code == 0, found.stderr
    assert f"25 jobs: {completed} completed, 0 killed, {25 - completed} rejected" in found.stdout
    told = [line for line in found.stderr.splitlines() if "invariant" not in line and "compil" not in line]
    assert re.search(note, "\n".join(told)) if note else not told
