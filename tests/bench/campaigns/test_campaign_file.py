"""Campaign files: each mistake is one line. It names file, line, key, expected and received."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns import campaign_file
from hpcdispatch.bench.campaigns.campaign_file import read_campaign
from hpcdispatch.bench.campaigns.plan import plan_campaign
from hpcdispatch.bench.campaigns.toml_lines import line_of
from hpcdispatch.simulation.trimming import NOTHING
from hpcdispatch.workloads import closed_loop
from hpcdispatch.workloads.sources import workload_of

GOOD = """# a comment
dispatchers = ["fcfs", "easy"]

[[workload]]
source = "lublin:jobs=20"
"""


def written(tmp_path, text):
    path = tmp_path / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_left_out(tmp_path):
    table = read_campaign(written(tmp_path, GOOD))
    assert (table.predictors, table.overrun, table.same_instant, table.jitter) == (
        ["walltime"],
        ["run"],
        ["batch"],
        [0],
    )
    assert (table.seeds, table.warm_up, table.cool_down) == ([0], NOTHING, NOTHING)


def test_one_value_and_a_list_of_it_are_the_same(tmp_path):
    one = read_campaign(written(tmp_path, 'overrun = "kill"\njitter = 5\nseeds = 3\n' + GOOD))
    several = read_campaign(written(tmp_path, 'overrun = ["kill"]\njitter = ["5s"]\nseeds = [0, 1, 2]\n' + GOOD))
    assert one == several


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("sedes = 3\n", "", 1, "sedes: unknown key 'sedes' (did you mean seeds?); known: workload, dispatchers"),
        ("", "\n# more\n\nhaed = 3\n", 9, "workload 1 haed: unknown key 'haed' (did you mean head?); known: source"),
        ("", '[[workload]]\nsource = "x"\n', 7, "source: x: no such file, and no workload of this name"),
        ("", "[[workload]]\nhead = 3\n", 6, "workload 2 source: expected this key, got none"),
        ("", "head = 'x'\n", 6, "workload 1 head: expected a valid integer, got 'x'"),
        ("", "head = 0\n", 6, "workload 1 head: expected greater than or equal to 1, got 0"),
        ("", "head = true\n", 6, "workload 1 head: expected a valid integer, got True"),
        ("", "slice = [5, 5]\n", 6, "workload 1 slice: expected [FIRST, LAST] with FIRST < LAST, got [5, 5]"),
        ("", "slice = [5]\n", 6, "workload 1 slice: "),
        ("", "head = 2\nslice = [1, 5]\n", 7, "workload 1: expected head or slice, got both"),
        ("", "slice = [90, 95]\n", 6, "workload 1 slice: expected at least one job of it, got none"),
        ("", "lenient = true\n", 6, "workload 1 lenient: it says how to read a trace, and lublin:jobs=20 is generated"),
        ("", 'default_walltime = "long"\n', 6, "workload 1 default_walltime: "),
        ("", 'warm_up = "20 jobs"\n', 6, "workload 1, lublin:jobs=20: warm-up 20 jobs: no job of 20 is left"),
        ('cool_down = "100%"\n', "", 1, "workload 1, lublin:jobs=20: cool-down 100%: no job of 20 is left"),
        (
            "",
            'warm_up = "20"\n',
            6,
            "workload 1 warm_up: expected a share of the jobs such as 5%, a number",
        ),
        (
            "warm_up = 20\n",
            "",
            1,
            "1d12h or 2-00:00:00, in quotes, got 20",
        ),
        ("warmup = 20\n", "", 1, "warmup: unknown key 'warmup' (did you mean warm_up?)"),
        ("", '[[workload]]\nsource = "lublin:jobs=20"\n', 7, "workload 2: 'lublin:jobs=20' is given twice"),
        ("", '[[workload]]\nsource = "lublin:jobz=20"\n', 7, "workload 2: workload lublin: unknown option 'jobz'"),
        ("seeds = 0\n", "", 1, "seeds: expected 1 to 100000 seeds, or a list of seeds, got 0"),
        ("seeds = []\n", "", 1, "seeds: expected at least one seed, got an empty list"),
        ("seeds = [1, 1]\n", "", 1, "seeds: 1 is given twice"),
        ("jitter = -1\n", "", 1, "jitter"),
        ('jitter = "soon"\n', "", 1, "expected a time such as 90s"),
        (
            'predictors = ["walltime",\n"oracl"]\n',
            "",
            2,
            "predictors: unknown predictor 'oracl' (did you mean oracle?)",
        ),
        ('predictors = "last2:corection=sc15"\n', "", 1, "predictors: predictor last2: unknown option 'corection'"),
        ('overrun = "explode"\n', "", 1, "overrun: overrun: expected one of run, kill, resubmit, got 'explode'"),
        ('same_instant = "never"\n', "", 1, "same_instant"),
        ("seeds = \n", "", 1, "expected TOML, got an error in column 9"),
        ("seeds = 1\nseeds = 2\n", "", 2, "expected TOML, got an error in column"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, before, after, line, message):
    path = written(tmp_path, before + GOOD + after)
    with pytest.raises(InputError) as caught:
        plan_campaign(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["esy", "easy:placment=best-fit", "easy:placement=any"])
def test_a_dispatcher_or_an_option_that_does_not_exist(tmp_path, spec):
    path = written(tmp_path, GOOD.replace('"easy"', f'\n  "{spec}"'))
    with pytest.raises(InputError, match=r"campaign.toml:3: dispatchers: "):
        plan_campaign(path)


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_bytes(b'name = "\xe4"')
    with pytest.raises(InputError, match="expected text in UTF-8, got byte 0xe4"):
        read_campaign(path)


def test_lines_in_spite_of_texts_that_look_like_keys():
    text = 'a = """\nb = 1\n"""\nc = [\n  "d = 1",\n  "e",\n]\n[t]\nb = 2\n"c d" = 3\n'
    assert line_of(text, ("a",)) == 1
    assert line_of(text, ("t", "b")) == 9
    assert line_of(text, ("c", 1)) == 6
    assert line_of(text, ("t", "c d")) == 10
    assert line_of(text, ("t", "nowhere")) == 8
    assert line_of("", ("a",)) == 1


def test_brackets_and_quotes_in_texts_end_no_statement():
    text = 'a = """[\n{"\n""" # ]\nb = [ # [\n  "]",\n  \'{\', # }\n]\nc = { d = "\\"[" }\ne = 1\n'
    assert [line_of(text, (key,)) for key in "abce"] == [1, 4, 8, 9]
    assert line_of(text, ("b", 1)) == 6


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n" * 2_000 + "x = 1\n",
        "".join(f"x{number} = 1\n" for number in range(2_000)),
        "x = [\n" + "1,\n" * 5_000 + "]\n",
        "a." * 30_000 + "b = 1\n",
        "x = {" + "'a' . " * 10_000 + "b = 1}\n",
        "x = " + "[" * 60_000,
        "x" * 60_000 + " = 1",
    ],
)
def test_a_large_file_of_nonsense_is_refused_soon(tmp_path, text, monkeypatch):
    read = []
    loads = campaign_file.tomllib.loads
    monkeypatch.setattr(campaign_file.tomllib, "loads", lambda text: read.append(len(text)) or loads(text))
    with pytest.raises(
        InputError, match=r"campaign\.toml(:\d+)?: .*(expected this key|unknown key|at most 32 parts|nested|whole)"
    ):
        read_campaign(written(tmp_path, text))
    assert sum(read) < 60 * len(text)


def test_a_workload_is_molded(tmp_path):
    plan = plan_campaign(written(tmp_path, GOOD + 'mold = "amdahl:serial=0.1,choices=3"\n'))
    assert any(job.shapes for job in plan.workload(plan.cells[0].digest).jobs)
    plain = plan_campaign(written(tmp_path, GOOD))
    assert plan.cells[0].digest != plain.cells[0].digest


def test_users_of_a_workload_react(tmp_path):
    text = GOOD.replace("lublin:jobs=20", "example")
    plan = plan_campaign(written(tmp_path, text + "head = 50\n"))
    reacting = plan_campaign(written(tmp_path, text + 'head = 50\nusers = "react"\n'))
    expected = closed_loop(workload_of("example").head(50))
    assert reacting.workload(reacting.cells[0].digest).digest() == expected.digest()
    assert reacting.cells[0].digest != plan.cells[0].digest
    assert [cell.workload for cell in reacting.rows] == ["example, users react"] * 2
    with pytest.raises(
        InputError, match=r"campaign.toml:6: workload 1 users: expected 'replay' or 'react', got 'both'"
    ):
        read_campaign(written(tmp_path, GOOD + 'users = "both"\n'))


def test_a_speedup_that_is_none_is_named(tmp_path):
    with pytest.raises(InputError, match=r"campaign.toml:6: workload 1 mold: mold: expected downey.*, got 'luck'"):
        read_campaign(written(tmp_path, GOOD + 'mold = "luck"\n'))
