"""The report: its page and files. Names stay text. The page stays small for any number of jobs."""

import base64
import csv
import html
import json
import re
import resource
import shutil
import subprocess
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pandas as pd
import pytest
from kept_cells import renew_sums
from patience import PATIENCE

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.comparison import Generated, compare
from hpcdispatch.bench.campaigns.execution import Store
from hpcdispatch.bench.reports.figures import figures_of
from hpcdispatch.bench.reports.number_formats import ratio, seconds
from hpcdispatch.bench.reports.page import write_report
from hpcdispatch.bench.reports.saved_results import runs_of
from hpcdispatch.bench.reports.static_figures import images
from hpcdispatch.bench.reports.study import study
from hpcdispatch.bench.reports.summaries import tables_of
from hpcdispatch.bench.reports.tables import PrintedCell, Table, Times
from hpcdispatch.bench.reports.verdict import verdict
from hpcdispatch.simulation import Result, simulate
from hpcdispatch.simulation.result import FILES
from hpcdispatch.simulation.trimming import Cut, Window
from hpcdispatch.workloads import Provenance, generate, jitter, resample

SPEC = "lublin:jobs=150,processors=32,load=0.9"
NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;$x_1$ =1+1 <!-- ]]> | ` \\ %"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    out = tmp_path_factory.mktemp("saved")
    for name, seed in product(("fcfs", "easy", "sjf"), range(3)):
        simulate(generate(SPEC, seed=seed), name, seed=seed).save(out / f"{name}_walltime_seed{seed}")
    return out


@pytest.fixture(scope="module")
def shown(saved):
    return study(runs_of(saved))


@pytest.fixture(scope="module")
def written(saved, tmp_path_factory):
    """Return the page about them, with all its files."""
    out = tmp_path_factory.mktemp("written") / "page.html"
    write_report(study(runs_of(saved)), out)
    return out


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the files of figures, which take their time."""
    monkeypatch.setattr("hpcdispatch.bench.reports.html_page.images", lambda figure: {"svg": b"<svg/>"})


@pytest.fixture
def changed(saved, tmp_path):
    """Return a copy that a test may damage."""
    return shutil.copytree(saved, tmp_path / "changed")


def large(jobs, dispatcher="big", seed=0, users=500):
    """Return an invented result, as `jobs` jobs would leave it."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 30 * jobs, jobs))
    runtime, wait = (rng.lognormal(mean, 2, jobs).astype(np.int64) for mean in (6, 5))
    ids = pd.Series(np.arange(1, jobs + 1)).astype(str)
    units = rng.integers(1, 257, jobs)
    start = submit + wait
    frame = pd.DataFrame(
        {
            "id": ids,
            "submit": submit,
            "runtime": runtime,
            "walltime": 2 * runtime + 60,
            "nodes": 1,
            "user": pd.Categorical.from_codes(
                rng.integers(0, users, jobs), [f"user {number}" for number in range(users)]
            ),
            "start": start,
            "end": start + runtime,
            "wait": wait,
            "run": runtime,
            "predicted": 2 * runtime + 60,
            "attempts": 1,
            "units": units,
            "lost": 0,
            "status": pd.Categorical.from_codes(np.zeros(jobs, int), ["completed", "killed", "rejected"]),
        }
    )
    order = np.argsort(start + runtime, kind="stable")
    attempts = pd.DataFrame(
        {
            "id": ids.to_numpy()[order],
            "start": start[order],
            "end": (start + runtime)[order],
            "useful": runtime[order],
            "units": units[order],
            "nodes": 1,
        }
    )
    decisions = pd.DataFrame({"time": np.sort(start), "queued": 1, "running": 0})
    what = ["decision"] * jobs + ["prediction", "simulation"]
    timings = pd.DataFrame({"what": pd.Categorical(what), "index": 0, "seconds": rng.lognormal(-9, 1, jobs + 2)})
    manifest = {
        "format": 1,
        "dispatcher": dispatcher,
        "predictor": "walltime",
        "overrun": "run",
        "same_instant": "batch",
        "seed": seed,
        "workload": {"source": "large", "sha256": "0" * 64, "jobs": jobs, "notes": []},
        "machine": {"name": "m", "resources": ["core"], "total": [2048], "nodes": 1, "primary": "core"},
    }
    return Result(frame, attempts, decisions, timings, manifest)


def rename(folder, **names):
    """Change what the manifest in a folder says."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | names))
    renew_sums(folder)


class Reader(HTMLParser):
    """Collects tags with attributes, texts of cells, and data scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.cells = []
        self._inside = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        self._inside = self._inside if tag == "wbr" else (tag, found)

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, text):
        if self._inside and self._inside[0] == "td":
            self.cells.append(text)


def made_page(folder, out, **options):
    made = study(runs_of(folder), **options)
    write_report(made, out)
    return Reader(out.read_text(encoding="utf-8"))


def test_the_page_has_all_of_it_and_needs_nothing_else(written, shown):
    read = Reader(written.read_text(encoding="utf-8"))
    headings = {attributes["id"] for tag, attributes in read.tags if tag == "h3"}
    figures = {"paired-figure" if key == "paired" else key for key in figures_of(shown, shown.workloads[0])}
    assert headings == figures | set(tables_of(shown, shown.workloads[0]))
    assert {"leaderboard", "paired", "paired-figure", "queue", "ecdf-wait", "fairness", "schedule"} < headings
    assert not [tag for tag, _ in read.tags if tag in ("link", "iframe") and _.get("rel") != "icon"]
    pictures = [attributes["src"] for tag, attributes in read.tags if tag == "img"]
    assert len(pictures) == len(figures)
    assert all(re.fullmatch(r"data:image/(svg\+xml|png);base64,[\w+/=]+", picture) for picture in pictures)
    assert written.stat().st_size < 2_000_000
    assert not [attributes for tag, attributes in read.tags if tag == "script" and "src" in attributes]
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in read.tags
    for tag, attributes in read.tags:
        if tag == "a" and not attributes["href"].startswith("#"):
            assert (written.parent / attributes["href"]).is_file()


def test_the_page_begins_with_its_answer_and_its_contents(written, shown):
    text = written.read_text(encoding="utf-8")
    title, answer = re.search(r"<h1>(.*?)</h1>\s*<p class=\"answer\">(.*?)</p>", text, re.DOTALL).groups()
    assert title == f"3 dispatchers compared on {shown.workloads[0]}"
    assert html.unescape(answer) == verdict(shown.runs, "easy", days=shown.days)
    assert re.fullmatch(
        r"\w+ has the least mean wait, .*, (better|worse|not decided) \(.*\); its longest.*\.", html.unescape(answer)
    )
    read = Reader(text)
    known = {attributes["id"] for tag, attributes in read.tags if "id" in attributes}
    listed = [attributes["href"][1:] for tag, attributes in read.tags if attributes.get("href", "").startswith("#")]
    assert set(listed) <= known
    assert {attributes["id"] for tag, attributes in read.tags if tag == "h3"} <= set(listed)
    assert text.index("</nav>") < text.index('id="leaderboard"')
    assert text.index("<img") < text.index("<nav")


def test_long_tables_are_folded_below_a_chart(written):
    text = written.read_text(encoding="utf-8")
    for split in ("run-time", "width"):
        assert text.index(f'aria-labelledby="waits-by-{split}"') < text.index(f'<summary><h3 id="by-{split}"')
    for part in text.split("<table>")[1:]:
        folded = text.partition(part)[0].rpartition("<h3")[0].endswith("<summary>")
        assert folded or part.partition("</table>")[0].count("<tr>") <= 20


@pytest.mark.parametrize(
    ("kept", "title"),
    [(["easy_walltime_seed0"], "easy on "), (["easy_walltime_seed0", "fcfs_walltime_seed0"], "fcfs against easy on ")],
)
def test_a_page_of_few_runs_has_no_empty_parts(saved, undrawn, tmp_path, kept, title):
    for name in kept:
        shutil.copytree(saved / name, tmp_path / "few" / name)
    read = made_page(tmp_path / "few", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<h1>{title}" in text
    assert "Nothing to show" not in text
    headings = {attributes["id"] for tag, attributes in read.tags if tag == "h3"}
    assert ("paired" in headings) == ("paired-figure" in headings) == (len(kept) > 1)
    assert "Wilcoxon" not in text


@pytest.mark.nightly
def test_samples_are_recognized_in_saved_results(tmp_path):
    drawn = [("drawn", generate(SPEC, seed=seed), seed) for seed in range(3)]
    trace = replace(generate("lublin:jobs=200,processors=16,load=0.25", seed=9), provenance=Provenance("mine"))
    copies = [("shifted", jitter(trace, 60, np.random.default_rng(seed)), seed) for seed in range(3)]
    samples = [("resampled", resample(trace, seed), seed) for seed in range(3)]
    for name, (kind, workload, seed) in product(("fcfs", "easy"), [*drawn, *copies, *samples, ("trace", trace, 0)]):
        simulate(workload, name, seed=seed).save(tmp_path / f"{name}{kind}{seed}")
    made = study(runs_of(tmp_path))
    kinds = made.runs.groupby("workload")["basis"].unique().map(list).to_dict()
    assert [kinds[name] for name in sorted(kinds) if not name.startswith("lublin")] == [
        ["trace"],
        ["resamples"],
        ["shifts"],
    ]
    assert [kinds[name] for name in kinds if name.startswith("lublin")] == [["independent"]]
    tables = {name: tables_of(made, name)["paired"] for name in made.workloads}
    assert all(
        "verdict" in table.columns and not any("p," in each for each in table.columns) for table in tables.values()
    )
    assert [name for name, table in tables.items() if "range over shifts" in table.columns] == [
        name for name in made.workloads if "shifted" in name
    ]


def test_every_figure_and_table_is_a_file_too(written, tmp_path, shown):
    folder = written.with_name("page_files")
    for key in figures_of(shown, shown.workloads[0]):
        name = "paired-figure" if key == "paired" else key
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text(encoding="utf-8")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert len((folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()) > 1
    for key in tables_of(shown, shown.workloads[0]):
        assert r"\toprule" in (folder / f"{key}.tex").read_text(encoding="utf-8")
        assert (folder / f"{key}.md").read_text(encoding="utf-8").count("\n|") >= 3


@pytest.mark.nightly
def test_the_same_results_give_the_same_files(written, tmp_path, shown):
    again = write_report(shown, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == written.read_bytes()
    assert all(
        file.read_bytes() == (written.with_name("page_files") / file.name).read_bytes() for file in again.iterdir()
    )
    figure = figures_of(shown, shown.workloads[0])["ecdf-wait"]
    for kind, data in images(figure).items():
        assert data == (written.with_name("page_files") / f"ecdf-wait.{kind}").read_bytes()


def test_the_numbers_are_those_of_the_summaries(saved, shown):
    summaries = [Result.load(saved / f"easy_walltime_seed{seed}").summary() for seed in range(3)]
    runs = shown.runs[shown.runs["contender"] == "easy"]
    for name in ("wait_mean", "wait_p95", "wait_max", "bounded_slowdown_mean", "utilization", "makespan", "decisions"):
        assert runs[name].tolist() == pytest.approx([summary[name] for summary in summaries])
    row = next(row for row in tables_of(shown, shown.workloads[0])["leaderboard"].cells if row[0].text == "easy")
    assert row[2].value == pytest.approx(np.mean([summary["wait_mean"] for summary in summaries]))
    assert [shown.baseline, shown.order] == ["easy", ["easy", "fcfs", "sjf"]]


def test_the_curve_of_the_waits_is_their_distribution(saved, shown):
    data = figures_of(shown, shown.workloads[0])["ecdf-wait"].data
    waits = np.concatenate([Result.load(saved / f"fcfs_walltime_seed{seed}").jobs["wait"] for seed in range(3)])
    curve = data[data["contender"] == "fcfs"]
    expected = [100 * (waits <= place).mean() for place in curve["wait"]]
    assert curve["share_percent"].to_numpy() == pytest.approx(expected)
    assert curve["share_percent"].iloc[-1] == 100
    assert len(curve) <= 2000


def test_a_warm_up_shows_in_the_metrics_of_jobs(saved):
    made = study(runs_of(saved), warm_up=Cut.parse("10%"), cool_down=Cut.parse("20%"))
    assert set(made.runs["jobs"]) == {105}
    assert set(made.runs["cut"]) == {45}
    jobs = Result.load(saved / "sjf_walltime_seed1").jobs.iloc[15:120]
    row = made.runs[(made.runs["contender"] == "sjf") & (made.runs["seed"] == 1)].iloc[0]
    assert row["wait_mean"] == pytest.approx(jobs["wait"].mean())
    with pytest.raises(InputError, match=r"warm-up 99%, cool-down 50%: no job of 150 is left between"):
        study(runs_of(saved), warm_up=Cut.parse("99%"), cool_down=Cut.parse("50%"))


def test_the_window_of_the_schedules_is_chosen(saved):
    made = study(runs_of(saved), window=Window.parse("50%:60%"))
    submit = np.sort(Result.load(saved / "easy_walltime_seed0").jobs["submit"])
    assert made.windows == {made.workloads[0]: (submit[75] - submit[0], submit[90] - submit[0])}
    figure = figures_of(made, made.workloads[0])["schedule"]
    assert "after the first submission, as asked for with 50%:60%." in figure.note
    end = next(name for name in figure.data if name.startswith("end_"))
    assert figure.data[end].min() > 0
    assert figure.data[figure.x].max() < figure.shown[1]
    whole = figures_of(study(runs_of(saved)), made.workloads[0])["schedule"]
    assert "in the middle of the trace." in whole.note


def test_names_stay_text_everywhere(changed, undrawn, tmp_path):
    for seed in range(3):
        folder = changed / f"sjf_walltime_seed{seed}"
        rename(folder, dispatcher=NASTY)
        jobs = pd.read_parquet(folder / "jobs.parquet")
        jobs["user"] = pd.Categorical([NASTY] * len(jobs))
        jobs.to_parquet(folder / "jobs.parquet", index=False)
        renew_sums(folder)
    out = tmp_path / "page.html"
    read = made_page(changed, out)
    assert {attributes["src"][:5] for tag, attributes in read.tags if tag == "img"} == {"data:"}
    assert "iframe" not in {tag for tag, _ in read.tags}
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    assert sum(tag == "script" for tag, _ in read.tags) == 1
    assert NASTY in "".join(read.cells)
    text = out.read_text(encoding="utf-8")
    assert "alert(1)</script>" not in text
    assert "onerror=alert(2)>" not in text
    folder = tmp_path / "page_files"
    with open(folder / "schedule.csv", encoding="utf-8", newline="") as file:
        assert NASTY in {row["contender"] for row in csv.DictReader(file)}
    assert "<script>" not in (folder / "leaderboard.md").read_text(encoding="utf-8")
    tex = (folder / "leaderboard.tex").read_text(encoding="utf-8")
    assert r"\textless{}/script\textgreater{}" in tex
    assert r"\$x\_1\$" in tex
    made = study(runs_of(changed))
    drawn = images(figures_of(made, made.workloads[0])["queue"])
    assert b"<script" not in drawn["svg"]


def test_a_name_that_is_no_text_is_escaped(changed, undrawn, tmp_path):
    for folder in changed.iterdir():
        manifest = json.loads((folder / "manifest.json").read_text())
        rename(folder, workload=manifest["workload"] | {"source": "t\udcff.swf"})
    write_report(study(runs_of(changed)), tmp_path / "page.html")
    assert r"t\udcff.swf" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_link_in_the_place_of_the_files_is_replaced(saved, undrawn, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "page_files").symlink_to(tmp_path / "other")
    write_report(study(runs_of(saved)), tmp_path / "page.html")
    assert not list((tmp_path / "other").iterdir())
    assert not (tmp_path / "page_files").is_symlink()
    assert list((tmp_path / "page_files").iterdir())


def test_a_name_that_begins_with_an_underscore_is_in_the_legend(changed):
    rename(changed / "sjf_walltime_seed0", dispatcher="_hidden")
    made = study(runs_of(changed))
    assert b"<!-- _hidden -->" in images(figures_of(made, made.workloads[0])["queue"])["svg"]


def test_damaged_results_are_named_and_left_out(changed, undrawn, tmp_path):
    (changed / "fcfs_walltime_seed0" / "timings.parquet").unlink()
    (changed / "fcfs_walltime_seed1" / "jobs.parquet").write_bytes(b"PAR1 no more")
    (changed / "easy_walltime_seed0" / "manifest.json").write_text('{"format": 1')
    (changed / "easy_walltime_seed1" / "manifest.json").write_text('{"format": 1}')
    jobs = pd.read_parquet(changed / "sjf_walltime_seed2" / "jobs.parquet").drop(columns="predicted")
    jobs.to_parquet(changed / "sjf_walltime_seed2" / "jobs.parquet", index=False)
    renew_sums(changed / "sjf_walltime_seed2")
    shutil.copytree(changed / "sjf_walltime_seed0", changed / "twice")
    made = study(runs_of(changed))
    assert len(made.runs) == 4
    said = "\n".join(made.left_out)
    assert said.count("\n") == 5
    for part in (
        r"fcfs_walltime_seed0: expected a file timings.parquet, got none",
        r"fcfs_walltime_seed1: expected what was written, got a damaged result: jobs.parquet is not what was written",
        r"easy_walltime_seed0.manifest.json:1: expected JSON",
        r"easy_walltime_seed1.manifest.json: field 'dispatcher': expected it, got none",
        r"sjf_walltime_seed2.jobs.parquet: expected a column predicted, got none",
        r"twice: expected each run once",
    ):
        assert re.search(part, said), part
    write_report(made, tmp_path / "page.html")
    assert "got a damaged result" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_contenders_without_a_common_seed_are_not_paired(changed, undrawn, tmp_path):
    for seed in (0, 1):
        shutil.rmtree(changed / f"sjf_walltime_seed{seed}")
    shutil.rmtree(changed / "easy_walltime_seed2")
    made = study(runs_of(changed))
    table = tables_of(made, made.workloads[0])["paired"]
    assert {row[0].text for row in table.cells} == {"fcfs"}
    assert {row[2].text for row in table.cells} == {"2"}
    write_report(made, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "have not all the same seeds" in text
    assert text.count("Seed 0 only; without sjf, not run on it.") == 3


def test_several_workloads_and_predictors(undrawn, tmp_path):
    for jobs in (40, 60):
        compare(Generated(SPEC.replace("150", str(jobs))), ["easy"], ["walltime", "last2"], out=tmp_path / "all")
    made = study(runs_of(tmp_path / "all"), baseline="easy, last2")
    assert made.order == ["easy, last2", "easy, walltime"]
    assert study(runs_of(tmp_path / "all")).baseline == "easy, walltime"
    assert len(made.workloads) == 2
    folder = write_report(made, tmp_path / "page.html")
    assert (folder / "1-leaderboard.csv").is_file()
    assert (folder / "2-schedule.csv").is_file()
    with pytest.raises(InputError, match="--baseline: expected one of easy, last2; easy, walltime, got 'easy'"):
        study(runs_of(tmp_path / "all"), baseline="easy")


@pytest.mark.nightly
def test_a_million_jobs(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    large(1_000_000).save(tmp_path / "big")
    made = study(runs_of(tmp_path))
    assert made.runs["jobs"].tolist() == [1_000_000]
    figures = figures_of(made, "large")
    assert all(len(figure.data) <= 2_000 for figure in figures.values())
    assert "left out" in figures["schedule"].note
    write_report(made, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 2_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000


#: Uses the page as a reader would, and says what came of it.
PROBE = """
const table = document.querySelector("table"), heads = table.querySelectorAll("th button");
const wide = document.documentElement.scrollWidth > innerWidth;
const sorted = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[2].dataset.value));
heads[2].click(); const up = sorted(); heads[2].click(); const down = sorted();
heads[0].click(); const names = [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
const drawn = [...document.querySelectorAll("figure img")].every((one) => one.complete && one.naturalWidth > 100);
const found = { up, down, names, wide, drawn };
const place = document.createElement("pre");
place.id = "probe"; place.textContent = JSON.stringify(found); document.body.append(place);
"""


def opened(page, folder):
    """Open a page that allows the probe beside its own scripts. Return the browser's output and the probe."""
    digest = base64.b64encode(sha256(PROBE.encode()).digest()).decode()
    text = page.read_text(encoding="utf-8").replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    page.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=20000"]
    options += ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    options += ["--disable-quic", f"--user-data-dir={folder / 'profile'}", "--window-size=900,900"]
    ran = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    said = re.search(r'<pre id="probe">(.*?)</pre>', ran.stdout, flags=re.DOTALL)
    return ran, json.loads(html.unescape(said[1]))


@pytest.mark.nightly
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_the_page_works_under_its_own_policy(changed, tmp_path):
    rename(changed / "sjf_walltime_seed0", dispatcher=NASTY)
    out = tmp_path / "page.html"
    made_page(changed, out)
    ran, found = opened(out, tmp_path)
    assert "CONSOLE" not in ran.stderr
    assert 'onerror="' not in ran.stdout
    assert found["up"] == sorted(found["up"]) == found["down"][::-1]
    assert set(found["names"]) == {"easy", "fcfs", "sjf", NASTY}
    assert not found["wide"]
    assert found["drawn"]


def test_the_page_allows_its_own_scripts_and_no_network(written):
    text = written.read_text(encoding="utf-8")
    meta = Reader(text).tags
    [policy] = [found["content"] for tag, found in meta if found.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digests = {f"'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts}
    assert set(rules.pop("script-src").split()) == digests
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert len(scripts) == 1


def test_tables_as_text():
    table = Table(
        "A & B", ["name", "x (s)"], [["a|b_c", PrintedCell("1.0", "[0.5, 2.0]", 1.0)]], 1, "50% of <it>", "key"
    )
    assert table.markdown(escaped=True) == (
        "**A &amp; B**\n\n| name | x (s) |\n| --- | ---: |\n| a\\|b\\_c | 1.0 \\[0.5, 2.0\\] |\n\n50% of &lt;it&gt;\n"
    )
    assert r"a\textbar{}b\_c & 1.0 [0.5, 2.0] \\" in table.latex()
    assert r"\caption{A \& B. 50\% of \textless{}it\textgreater{}}" in table.latex()
    hours = Table("", ["name", Times("wait")], [["a", PrintedCell("1h", "", 3600.0)]])
    assert "| wait |" in hours.markdown()
    assert hours.frame().to_dict("records") == [{"name": "a", "wait (s)": 3600.0}]
    assert table.frame().to_dict("records") == [{"name": "a|b_c", "x (s)": 1.0, "x (s): interval": "[0.5, 2.0]"}]


@pytest.mark.parametrize(
    ("show", "value", "expected"),
    [
        (seconds, 1234.5, "1,234"),
        (seconds, -0.01, "0.0"),
        (ratio, 0.00021, "0.00021"),
        (ratio, 0.5, "0.500"),
        (ratio, 12.345, "12.35"),
        (ratio, 123.45, "123.5"),
        (ratio, float("nan"), "-"),
    ],
)
def test_numbers_as_text(show, value, expected):
    assert show(value) == expected


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["lublin:jobs=9,seed=0", "lublin:jobs=9,seed=1"], {"lublin:jobs=9"}),
        (["lublin:seed=0,jobs=9", "lublin:seed=1,jobs=9"], {"lublin:jobs=9"}),
        (["lublin:seed=0", "lublin:seed=1"], {"lublin"}),
        (["lublin:jobs=9,seed=0", "lublin:jobs=9,seed=0"], {"lublin:jobs=9,seed=0"}),
        (["seed=0/a.swf", "seed=0/a.swf"], {"seed=0/a.swf"}),
    ],
)
def test_the_seed_that_was_drawn_is_no_part_of_the_name(tmp_path, sources, expected):
    for seed, source in enumerate(sources):
        one = large(20, seed=seed)
        one.manifest["workload"]["source"] = source
        one.save(tmp_path / str(seed))
    assert {run.workload for run in runs_of(tmp_path).runs} == expected


def test_workloads_of_one_name_are_told_apart_by_size(tmp_path):
    for jobs in (20, 30):
        large(jobs).save(tmp_path / str(jobs))
    assert {run.workload for run in runs_of(tmp_path).runs} == {"large, 20 jobs", "large, 30 jobs"}


def test_the_store_of_a_campaign(tmp_path, undrawn):
    store = Store(tmp_path)
    store.open()
    for seed in range(2):
        for name in ("easy", "fcfs"):
            saved = tmp_path / "saved" / f"{name}{seed}"
            large(30, name, seed).save(saved)
            files = {"cell.json": f"{seed}{name}".encode()} | {file: (saved / file).read_bytes() for file in FILES}
            store.put(sha256(files["cell.json"]).hexdigest(), files)
    large(30).save(tmp_path / "cells" / "0e" / ".unfinished-somewhere-1-1")
    record = {"label": "large, sjf, seed 0", "error": {"type": "KeyError", "message": "'x'"}}
    (tmp_path / "failed" / "key.json").write_text(json.dumps(record))
    (tmp_path / "failed" / "other.json").write_text("{")
    found = runs_of(tmp_path)
    runs = sorted((run.seed, run.dispatcher) for run in found.runs)
    assert runs == [(0, "easy"), (0, "fcfs"), (1, "easy"), (1, "fcfs")]
    assert found.left_out == (
        "large, sjf, seed 0: failed with KeyError: 'x'",
        f"{tmp_path / 'failed' / 'other.json'}: expected the record of a failed run, got something else",
    )
    assert write_report(study(found), tmp_path / "report.html") == tmp_path / "report_files"
    assert len(runs_of(tmp_path).runs) == 4


@pytest.mark.parametrize("jobs", [0, 1])
def test_hardly_any_job(tmp_path, undrawn, jobs):
    large(jobs).save(tmp_path / "results" / "small")
    made = study(runs_of(tmp_path / "results"))
    write_report(made, tmp_path / "page.html")
    figures = figures_of(made, "large")
    assert all(images(figures[key])["png"] for key in ("paired", "ecdf-wait", "schedule"))


def test_every_job_rejected(tmp_path, undrawn):
    one = large(5)
    one.jobs["status"] = pd.Categorical(["rejected"] * 5)
    for name, value in (("start", -1), ("wait", 0), ("run", 0), ("attempts", 0), ("end", one.jobs["submit"])):
        one.jobs[name] = value
    Result(one.jobs, one.attempts.iloc[:0], one.decisions, one.timings, one.manifest).save(tmp_path / "none")
    made = study(runs_of(tmp_path))
    assert (made.runs["jobs"].item(), made.runs["rejected"].item()) == (0, 5)
    write_report(made, tmp_path / "page.html")
