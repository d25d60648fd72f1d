"""The example of a third party's package is installed, found and run."""

import importlib
import importlib.metadata
import importlib.util
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from patience import PATIENCE

from hpcdispatch.dispatchers import EASY, ConstraintProgramming
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.testing import check_dispatcher, check_predictor, samples, tiny
from hpcdispatch.workloads import Job, Machine, Workload

PLUGIN = Path(__file__).parents[1] / "examples" / "plugin"

SIMULATE = """
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import cluster, tiny
print(simulate(tiny(), "smallest-area").jobs["start"].tolist())
workload = cluster()
result = simulate(workload, "smallest-area:patience=7200", predictor="usual:quantile=0.8", overrun="resubmit")
check(workload, result)
print(result.manifest["dispatcher"], result.manifest["predictor"], len(result.jobs))
result = simulate(tiny(), "hcp3:objective=core-hours:power=2,constraints=scratch:streams=1/queue=+deadline:at=99999")
check(tiny(), result)
print(result.jobs["start"].tolist(), result.jobs["reason"].tolist()[0])
result = simulate(workload, "easy:order=small-users:per=2")
check(workload, result)
print(result.summary()["same_day"])
"""

UNKNOWN = """
from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher
try:
    create_dispatcher("smallest-area:patience=long")
except InputError as error:
    print(error)
"""


def builds_wheels():
    """Return whether setuptools builds wheels by itself, as it does since 70.1."""
    try:
        major, minor = importlib.metadata.version("setuptools").split(".")[:2]
    except importlib.metadata.PackageNotFoundError:
        return False
    return (int(major), int(minor)) >= (70, 1)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install a copy of the package into a folder. Return the environment with it."""
    target = tmp_path_factory.mktemp("plugin")
    source = tmp_path_factory.mktemp("source")
    for path in PLUGIN.iterdir():
        if path.is_file():
            (source / path.name).write_bytes(path.read_bytes())
    isolation = ["--no-build-isolation"] if builds_wheels() else []
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *isolation, "--target", target, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PYTHONPATH": str(target)}


def python(environment, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_runs_by_name_with_its_options(installed):
    lines = python(installed, "-c", SIMULATE).splitlines()
    # a and b start; d (40) and e (200) fit beside them on arrival. They start before c (240), which needs all four
    # cores.
    assert lines[0] == "[0, 0, 250, 20, 50]"
    assert lines[1] == "smallest-area:patience=7200 usual:quantile=0.8 80"
    # Jobs a and c request several slots. Only one of them fits at a time. The others follow each other.
    assert lines[2] == "[-1, 0, -1, 50, 80] constraint scratch: takes 2 of streams, there are 1"
    assert 0 <= float(lines[3]) <= 1


def test_options_have_the_types_of_the_constructor(installed):
    message = python(installed, "-c", UNKNOWN).strip()
    assert message == "dispatcher smallest-area: option 'patience': expected a whole number, got 'long'"


def test_is_listed_on_the_command_line(installed):
    # Both calls in one process: a new one takes seconds.
    program = "from click.testing import CliRunner; from hpcdispatch.cli import cli; "
    program += (
        "print(*(CliRunner().invoke(cli, words).output for words in (['list', 'smallest-area'], ['list'])), sep='=')"
    )
    explained, _, listed = python(installed, "-c", program).partition("\n=")
    assert "patience" in explained
    for expected in (
        "smallest-area",
        "usual",
        "quantile",
        "core-hours",
        "scratch",
        "streams",
        "small-users",
    ):
        assert expected in listed


@pytest.mark.nightly
def test_three_commands_give_an_own_row_in_compare(installed, capsys):
    page = (PLUGIN.parents[1] / "docs" / "reference" / "plugins.md").read_text(encoding="utf-8")
    commands = page.partition("```console\n")[2].partition("```")[0].splitlines()
    assert commands[:2] == ["pip install .", "pip install ./examples/plugin"]  # Both are done.
    program, *arguments = shlex.split(commands[2])
    assert (program, len(commands)) == ("hpcdispatch", 3)
    arguments[1] = str(PLUGIN.parents[1] / arguments[1])
    begin = time.perf_counter()
    printed = python(installed, "-c", "from hpcdispatch.cli import main; main()", *arguments)
    seconds = time.perf_counter() - begin
    with capsys.disabled():
        sys.stdout.write(f"\nplugins.md: {seconds:.1f} s for the command that compares an own predictor\n")
    assert "usual" in printed
    assert "walltime" in printed


def module(name):
    spec = importlib.util.spec_from_file_location(f"{name}_example", PLUGIN / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def plugin():
    """Give what both files of the package define."""
    return SimpleNamespace(**vars(module("myhpc")) | vars(module("mysite")))


def test_keeps_the_rules(plugin):
    check_dispatcher(plugin.SmallestArea, samples(0.4), predictors=("walltime", "last2"))
    check_predictor(plugin.Usual, samples(0.4), dispatchers=("easy",))


def test_a_late_job_is_not_passed(plugin):
    # c waits since 10. From 21 on no job passes it. Job d (20) still does, e (30) does not.
    starts = simulate(tiny(), plugin.SmallestArea(patience=10)).jobs["start"].tolist()
    assert starts == [0, 0, 100, 20, 160]


@pytest.mark.parametrize("machine", [Machine.pool(4), Machine.homogeneous(4, core=1)], ids=["pool", "nodes"])
@pytest.mark.parametrize(
    "form", [{}, {"iterations": 0}, {"formulation": "pcp"}, {"formulation": "pcp", "horizon": "all"}]
)
def test_every_part_of_a_dispatcher_sees_the_constraint(plugin, machine, form):
    # Both fit beside 3. Jobs 1 and 2 write to the file system. They do so in turn, not before 5.
    queues = {"1": "io", "2": "io", "3": "batch"}
    jobs = [Job(id_, 0, 10 * int(id_), 10 * int(id_), queue=queue) for id_, queue in queues.items()]
    workload = Workload(tuple(jobs), machine)
    free = simulate(workload, ConstraintProgramming(**form))
    kept = simulate(workload, ConstraintProgramming(**form, constraints=plugin.Scratch(1, opens=5)))
    check(workload, kept)
    assert free.jobs["start"].tolist() == [0, 0, 0]
    assert kept.jobs["start"].tolist() == [5, 15, 0]
    # The validator, by itself.
    with pytest.raises(InvariantError, match=r"constraint scratch: 2 of streams taken at t=0, there are 1"):
        check(workload, free, [plugin.Scratch(1, opens=5)])
    with pytest.raises(InvariantError, match=r"constraint scratch: job 1 starts at 0, may from 5 on"):
        check(workload, free, [plugin.Scratch(2, opens=5)])


@pytest.mark.parametrize("seed", [5, 7, 8])
def test_lists_the_local_search_and_cp_sat_plan_with_the_constraint(plugin, seed):
    rng = np.random.default_rng(seed)
    drawn = zip(rng.integers(5, 60, 10).tolist(), rng.integers(1, 4, 10).tolist(), strict=True)
    jobs = [Job(str(i), 0, t, t, nodes=n, queue="io" if i % 2 else "batch") for i, (t, n) in enumerate(drawn)]
    workload = Workload(tuple(jobs), Machine.pool(7))
    made = {}
    for name, effort in (
        ("search", {"iterations": 100, "d": 1e-7, "d_max": 1e-7, "k": 0}),
        ("solver", {"iterations": 0}),
    ):
        result = simulate(workload, ConstraintProgramming(**effort, constraints=plugin.Scratch(3)))
        check(workload, result)
        assert result.decisions["postponed"].sum() == 0  # What was planned for now could start.
        made[name] = set(result.decisions["used"])
    assert made["search"] >= {"list", "local search"}
    assert made["solver"] >= {"list", "cp-sat"}


def test_the_objective_decides_which_job_starts(plugin):
    # Job 2 is short and 3 wide. The slowdown starts 2 first, the cores 3.
    rows = [("1", 0, 100, 4), ("2", 10, 10, 1), ("3", 10, 50, 4)]
    workload = Workload(tuple(Job(id_, at, run, run, nodes=n) for id_, at, run, n in rows), Machine.pool(4))
    assert simulate(workload, "hcp3").jobs["start"].tolist() == [0, 100, 110]
    dispatcher = ConstraintProgramming(objective=plugin.CoreHours(power=4))
    assert simulate(workload, dispatcher).jobs["start"].tolist() == [0, 150, 100]


def test_they_keep_the_rules(plugin):
    dispatcher = ConstraintProgramming(
        iterations=50, objective=plugin.CoreHours(), constraints=[plugin.Scratch(4, queue="")]
    )
    check_dispatcher(dispatcher, [tiny()], ("kill",), ("last2",))


def test_the_order_decides_which_user_comes_first(plugin):
    # From 100 on three cores are free. u has a core at work, v has none: the longer job of v goes first.
    rows = [("0", 0, 100, 3, "w"), ("1", 0, 1000, 1, "u"), ("2", 1, 10, 3, "u"), ("3", 2, 50, 3, "v")]
    jobs = [Job(id_, at, run, run, nodes=nodes, user=user) for id_, at, run, nodes, user in rows]
    workload = Workload(tuple(jobs), Machine.pool(4))
    assert simulate(workload, "easy:order=sjf").jobs["start"].tolist() == [0, 0, 100, 110]
    assert simulate(workload, EASY(order=plugin.SmallUsersFirst())).jobs["start"].tolist() == [0, 0, 150, 100]
    # In steps of 64 cores both have none: the shortest first.
    assert simulate(workload, EASY(order=plugin.SmallUsersFirst(64))).jobs["start"].tolist() == [0, 0, 100, 110]
    check_dispatcher(EASY(order=plugin.SmallUsersFirst(2)), [tiny()], ("kill",), ("last2",))
    with pytest.raises(ValueError, match="per must be at least 1, got 0"):
        plugin.SmallUsersFirst(0)


def test_the_metric_counts_jobs_of_the_day(plugin):
    # Job 1 has the machine until 5 h of the next day, when job 2 starts. Job 3 comes by night, and does not count.
    hour = 3600
    rows = [("1", 9 * hour, 20 * hour, 4), ("2", 10 * hour, hour, 4), ("3", 20 * hour, hour, 4)]
    jobs = [Job(id_, at, run, run, nodes=nodes) for id_, at, run, nodes in rows]
    result = simulate(Workload(tuple(jobs), Machine.pool(4)), "fcfs")
    assert plugin.overnight(result) == {"same_day": 0.5}
    by_night = simulate(Workload(tuple(jobs[2:]), Machine.pool(4)), "fcfs")
    assert np.isnan(plugin.overnight(by_night)["same_day"])


def test_a_predictor_refuses_a_bad_option(plugin):
    with pytest.raises(ValueError, match=r"quantile must be in \[0, 1\), got 1"):
        plugin.Usual(quantile=1)
