"""Plausible mistakes at the commands: one line each, which says what to do."""

import shutil
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "examples"
TRACE = "examples/trace.swf.gz"
SITE = "--config examples/slurm/slurm.conf --sacct examples/slurm/jobs.sacct"


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """Work in a folder with the samples."""
    shutil.copytree(SAMPLES, tmp_path / "examples")
    (tmp_path / "empty.swf").touch()
    (tmp_path / "paper.pdf").write_text("%PDF-1.4 hello")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("compar", "No such command 'compar'; did you mean compare?"),
        ("simulate x.swf", "No such command 'simulate'; expected one of run, compare, campaign"),
        ("--dispatcher easy", "options stand after the command, as in hpcdispatch run --dispatcher easy"),
        ("sequence --memory 4", "--memory was removed in 0.2; request the memory with sbatch --mem"),
        ("slurm evict --yes", "--yes was removed in 0.2; the command prints what to run"),
        ("run --dispacher easy", "Did you mean one of: '--dispatcher'"),
        (f"run {TRACE} --dispatcher EASY", "unknown dispatcher 'EASY' (did you mean easy?)"),
        (f"run {TRACE} --dispatcher esy-sjbf", "did you mean easy-sjbf?"),
        (f"run {TRACE} --dispatcher backfill", "unknown dispatcher 'backfill'; known: atoptimal, classic-hpc"),
        (f"run {TRACE} --dispatcher easy,placement=best-fit", "options follow a colon: easy:placement=best-fit"),
        (f"run {TRACE} --dispatcher easy:placment=best-fit", "unknown option 'placment'; known: placement, reserve_by"),
        (f"run {TRACE} --dispatchers easy,fcfs", "expected one dispatcher, got 2; 'hpcdispatch compare' takes several"),
        (f"run {TRACE} --predictors last2,walltime", "expected one predictor, got 2"),
        ("run trace.swf.gz", "trace.swf.gz: no such file, and no workload of this name (generators: accre"),
        ("run examples", "examples: expected a trace file, got a directory"),
        ("run empty.swf", "empty.swf: expected a trace, got an empty file"),
        ("run paper.pdf", "paper.pdf:1: expected a trace, got a PDF"),
        (f"run {TRACE} --seed x", "'--seed': 'x' is not a whole number"),
        (f"run {TRACE} --machine {TRACE}", "examples/trace.swf.gz:1: expected JSON, got"),
        (f"run {TRACE} --overrun resubmit:cap=soon", "cap: expected a time such as 90s, 15m"),
        (f"run {TRACE} --out examples/runs.csv", "expected a directory for --out, got a file"),
        (f"compare {TRACE} easy fcfs", "a list has commas and a value no blanks, as in easy,fcfs"),
        (f"compare {TRACE} --dispatchers easy fcfs", "a list has commas"),
        (f"compare {TRACE} --jitter 60sec", "'--jitter': expected a time such as 90s, 15m"),
        (
            f"compare {TRACE} --seeds 1,2,3",
            "'--seeds': expected a number of samples such as 10, or a range such as 20-29, got '1,2,3'",
        ),
        ("compare --dispatchers easy,,fcfs", "--dispatchers: expected names separated by commas, got an empty one"),
        ("compare lublin:job=30", "unknown option 'job'; known: jobs, processors, load"),
        ("evict examples/scenario.json --nodes 512", "Missing option '--deadline'"),
        ("evict examples/scenario.json --nodes 512 --deadline 15m now", "a value no blanks, as in easy,fcfs and 15m"),
        (f"evict {TRACE} --nodes 5 --deadline 15m", "got a trace; --at TIME takes what ran at one time"),
        ("evict examples/scenario.json --nodes 5 --deadline 1m --plot x.pdf", "ending in .png or .svg, got suffix"),
        ("sequence examples/runs.csv --max 1h", "--max: expected at least the longest run time, "),
        ("sequence examples/workflows.csv", "expected the name of a column, as there are 3: 'name, bytes, minutes'"),
        (f"partition --trace {TRACE} --runs examples/myruns.csv", "expected FILE@TIME, as in trace.swf@30d"),
        (f"partition --trace {TRACE}@14d", "expected --requests or --runs, got neither"),
        ("report results", "expected a folder of saved results, got none (compare --out results makes one)"),
        ("report examples", "expected saved results (compare --out examples writes them), got none"),
        ("campaign examples/campaign.toml", "Missing option '--out'"),
        ("campaign examples/runs.csv --out store", "examples/runs.csv:1: expected TOML"),
        (
            "what-if --config examples/slurm/jobs.sacct --sacct examples/slurm/slurm.conf",
            "expected KEY=VALUE, got",
        ),
        (f"what-if {SITE} --scenario bf_interval", "--scenario: expected NAME=VALUE with one of nodes, add-nodes,"),
        (f"what-if {SITE} --scenario bf_intervall=3", "unknown option 'bf_intervall'"),
        (f"workload convert {TRACE} out.txt", "out.txt: expected a file name ending in .swf or .jsonl"),
        ("workload generate out.swf lublin", "unknown workload 'out.swf'; known: accre"),
        (
            "workload analyze examples/workflows.csv --size-column size --time-column minutes",
            "columns: 'name'",
        ),
        ("list eazy", "'eazy': no part of this name (did you mean easy?)"),
        (
            "report examples --warm-up 5",
            "--warm-up: expected a share of the jobs such as 5%, a number",
        ),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(invoke, command, advice):
    found = invoke(*command.split())
    assert found.exit_code == 2
    assert found.stdout == ""
    lines = [line for line in found.stderr.splitlines() if not line.startswith("hpcdispatch: note: ")]
    assert len(lines) == 1
    assert lines[0].startswith("hpcdispatch: error: ")
    assert advice in lines[0]
    assert len(lines[0]) < 600
    assert "Traceback" not in found.stderr
