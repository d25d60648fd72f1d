"""One grammar of commands: help, names of options, durations, units and JSON."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hpcdispatch.cli.app import COMMANDS, Command, cli

ROOT = Path(__file__).parents[2]
SPEC = "lublin:jobs=60,processors=32,load=0.9"


def leaves(command, context, names=()):
    """Yield each command without subcommands, with its names."""
    if not isinstance(command, click.Group):
        yield names, command
        return
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), context, (*names, name))


LEAVES = dict(leaves(cli, click.Context(cli)))
#: An option that is singular in some commands and plural in others.
BOTH = [
    (names, parameter.opts[0])
    for names, command in LEAVES.items()
    for parameter in command.params
    if parameter.opts[0].rstrip("s") in ("--dispatcher", "--predictor", "--seed")
    and names != ("reproduce",)  # the first seed and the number of draws are two things
]


@pytest.mark.parametrize("names", [(), ("slurm",), ("workload",), *LEAVES], ids=" ".join)
def test_help_is_grouped(invoke, names):
    found = invoke(*names, "--help", columns=80)
    lines = found.stdout.splitlines()
    assert found.exit_code == 0
    if names in LEAVES:
        assert isinstance(LEAVES[names], Command)
        groups = [line for line in lines if re.match(r"[A-Z][^:]*:$", line)]
        assert groups[-1] == "Output:"
        assert "Options:" not in groups
        for option in ("--json", "--seconds", "--debug", "--help"):
            assert any(option in line for line in lines[lines.index("Output:") :])


def test_help_names_every_option(invoke):
    for names, command in LEAVES.items():
        text = invoke(*names, "--help", columns=100).stdout.replace("\n  ", "")
        for parameter in command.params:
            shown = isinstance(parameter, click.Option) and not parameter.hidden
            assert not shown or parameter.opts[0] in text.replace(" ", ""), parameter.opts


def test_help_imports_neither_numpy_nor_numba():
    code = (
        "import sys; sys.argv = ['hpcdispatch', '--help']\n"
        "from hpcdispatch.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numpy', 'numba', 'pandas', 'rich'} & set(sys.modules), set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("names", "option"), BOTH, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value
)
def test_singular_and_plural_are_one_option(names, option):
    other = option.removesuffix("s") if option.endswith("s") else f"{option}s"
    assert other not in [name for parameter in LEAVES[names].params for name in parameter.opts]
    values = {"--dispatcher": "easy", "--predictor": "last2", "--seed": "3"}
    found = [_parsed(names, [name, values[option.removesuffix("s")]]) for name in (option, other)]
    assert found[0] == found[1]
    assert found[0]


def _parsed(names, given):
    """Return what a command makes of options, which are not run."""
    context = cli.make_context("hpcdispatch", [*names, *given], resilient_parsing=True)
    command = LEAVES[names]
    made = command.make_context(names[-1], list(given), parent=context, resilient_parsing=True)
    return {name: value for name, value in made.params.items() if value not in (None, (), False, 0)}


def test_one_name_is_taken_where_several_are_and_several_are_refused_where_one_is(invoke):
    one = invoke("compare", SPEC, "--dispatcher", "easy", "--predictor", "walltime", "--seed", 2, "--workers", 1)
    assert one.exit_code == 0, one.stderr
    assert "2 samples" in one.stdout
    assert invoke("run", SPEC, "--dispatchers", "easy", "--predictors", "last2", "--seeds", 1).exit_code == 0
    several = invoke("run", SPEC, "--dispatchers", "easy,fcfs")
    assert several.exit_code == 2
    assert "expected one dispatcher, got 2; 'hpcdispatch compare' takes several" in several.stderr


@pytest.mark.parametrize("text", ["5400", "90m", "1h30m", "1.5h", "1:30:00", "0-01:30"])
def test_every_duration_is_read_alike(invoke, tmp_path, text):
    (tmp_path / "runs.csv").write_text("60\n4000\n")
    found = json.loads(invoke("sequence", tmp_path / "runs.csv", "--max", text, "--json").stdout)
    assert found["requests"][-1]["time"] == 5400
    shifted = json.loads(
        invoke("compare", SPEC, "--jitter", text, "--dispatchers", "easy", "--workers", 1, "--json").stdout
    )
    assert shifted["jitter_s"] == 5400
    capped = invoke("run", SPEC, "--overrun", f"resubmit:cap={text}", columns=200)
    assert "cap=5400" in capped.stdout


def test_no_option_of_time_takes_numbers_alone():
    """Options in seconds have their own type. Each therefore takes each form."""
    numbers = {
        (*names, parameter.opts[0])
        for names, command in LEAVES.items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and re.search(r"SECONDS|\bs\b", f"{parameter.metavar or ''}")
    }
    assert numbers == {(*names, "--now") for names in LEAVES if names[0] == "slurm" and _has(names, "--now")}


def _has(names, option):
    return any(option in parameter.opts for parameter in LEAVES[names].params)


def test_units_are_those_of_people_unless_seconds_are_wanted(invoke):
    plain, raw = (invoke("run", SPEC, *more).stdout for more in ((), ("--seconds",)))
    assert re.search(r"^  wait +\d+\w", plain, re.MULTILINE)
    assert re.search(r"^  wait \(s\) +[\d,.]+ ", raw, re.MULTILINE)
    assert re.search(r"a job waits \d+[dhms]", plain.splitlines()[-1])
    assert re.search(r"a job waits [\d,.]+ on average", raw.splitlines()[-1])


#: Calls of commands that need only the repository. The keys of their JSON.
CALLS = {
    ("run",): ("run", SPEC),
    ("compare",): ("compare", SPEC, "--seeds", "2", "--workers", "1"),
    ("evict",): ("evict", str(ROOT / "examples" / "scenario.json"), "--nodes", "512", "--deadline", "5m"),
    ("sequence",): ("sequence", "runs.csv"),
    ("predict",): ("predict", SPEC, "--predictors", "last2"),
    ("workload", "describe"): ("workload", "describe", SPEC),
    ("workload", "generate"): ("workload", "generate", SPEC, "out.swf"),
    ("workload", "convert"): ("workload", "convert", SPEC, "out.swf"),
    ("list",): ("list",),
    ("compile",): ("compile", "fcfs", "--workers", "1"),
    ("reproduce",): ("reproduce", "--list"),
}


@pytest.mark.parametrize("names", CALLS, ids=" ".join)
def test_json_is_one_object_whose_keys_are_documented(invoke, tmp_path, monkeypatch, names):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text("".join(f"{60 + 7 * one % 90}\n" for one in range(40)))
    found = invoke(*CALLS[names], "--json")
    assert found.exit_code == 0, found.stderr
    shown = json.loads(found.stdout)
    assert (shown["schema"], shown["command"]) == (1, " ".join(names))
    assert re.fullmatch(r"[^.].*\.", shown["answer"])
    assert "\n" not in shown["answer"]
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{' '.join(names)}` |"))
    keys = set(re.findall(r"`([\w]+)`", row.partition("|")[2].partition("|")[2]))
    if names != ("run",):  # its metrics are those of Result.summary
        assert set(shown) - {"schema", "command", "answer"} == keys
    plain = invoke(*CALLS[names])
    assert plain.stdout.splitlines()[-1] == re.sub(r"\s+", " ", shown["answer"])


def test_every_command_has_a_row_on_the_page():
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert [names for names in LEAVES if f"| `{' '.join(names)}` |" not in page] == []
    assert {names[0] for names in LEAVES} == set(COMMANDS)


def test_the_help_names_the_documentation(invoke):
    assert "Documentation: " in invoke("--help").output.splitlines()[-1]
