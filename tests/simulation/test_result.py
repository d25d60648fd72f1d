"""Records, metrics, and files."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from hpcdispatch.base import InputError
from hpcdispatch.simulation import Result, job_metrics, simulate
from hpcdispatch.testing import assert_same_records, cluster, overrunning, tiny
from hpcdispatch.workloads import Job, Shape

THREE = [(0, 100, 100, 2), (10, 50, 60, 4), (20, 5, 5, 1)]


class TestSummary:
    def test_has_what_is_guaranteed(self):
        promised = (
            "jobs wait_mean wait_p95 wait_max slowdown_mean bounded_slowdown_mean turnaround_mean utilization makespan"
            " decisions decision_ms_mean decision_ms_p95 decision_ms_max prediction_s simulation_s"
        )
        summary = simulate(tiny(), "easy").summary()
        assert set(promised.split()) <= set(summary)
        for metric in ("wait", "turnaround", "slowdown", "bounded_slowdown"):
            for statistic in ("mean", "median", "p95", "p99", "max"):
                for suffix in ("", "_short", "_medium", "_long"):
                    assert f"{metric}_{statistic}{suffix}" in summary
        assert all(isinstance(value, int | float) for value in summary.values())

    def test_of_three_jobs(self, run):
        # 1 [0, 100), 2 [100, 150), 3 [150, 155).
        summary = run(THREE).summary()
        expected = {
            "jobs": 3,
            "completed": 3,
            "wait_mean": 220 / 3,
            "wait_median": 90,
            "wait_p95": 126,
            "wait_p99": 129.2,
            "wait_max": 130,
            "turnaround_mean": 125,
            "turnaround_max": 140,
            "slowdown_mean": (1 + 2.8 + 27) / 3,
            "slowdown_max": 27,
            "bounded_slowdown_mean": (1 + 2.8 + 13.5) / 3,
            "bounded_slowdown_max": 13.5,
            "utilization": 405 / 620,
            "occupancy": 405 / 620,
            "lost": 0,
            "makespan": 155,
            "decisions": 5,
        }
        for name, value in expected.items():
            assert summary[name] == pytest.approx(value), name
        assert 0 < summary["decision_ms_mean"] <= summary["decision_ms_max"]
        assert 0 <= summary["prediction_s"] < summary["simulation_s"]

    def test_the_geometric_mean_counts_nothing_as_a_second(self, run):
        # Turnarounds 100, 200 and 0.
        summary = run([(0, 100, 100, 4), (0, 100, 100, 4), (200, 0, 5, 4)]).summary()
        assert summary["turnaround_gmean"] == pytest.approx((100 * 200 * 1) ** (1 / 3))

    def test_efficiency_is_sequential_work_over_what_was_held(self, run):
        shapes = (Shape(4, 40, 50), Shape(1, 100, 110))
        wide = {
            dispatcher: run([Job("1", 0, 60, 60, 2, shapes=shapes)], dispatcher).summary()["efficiency"]
            for dispatcher in ("sa:by=widest", "sa:by=narrowest", "fcfs")
        }
        assert wide == pytest.approx({"sa:by=widest": 100 / 160, "sa:by=narrowest": 1, "fcfs": 100 / 120})
        # Rigid jobs waste only what does not count: 200 of 200 + 4 x 50.
        assert run(THREE).summary()["efficiency"] == 1
        killed = run([(0, 50, 50, 4), (0, 80, 50, 4)], overrun="kill")
        assert killed.summary()["efficiency"] == pytest.approx(0.5)

    def test_what_ran_is_in_the_jobs(self, run):
        result = run([Job("1", 0, 60, 60, 2, shapes=(Shape(4, 40, 50),)), (0, 9, 9, 5), (1, 5, 7, 2)], "sa:by=widest")
        ran = result.jobs[["nodes", "shape", "run_nodes", "run_walltime", "sequential_work"]]
        assert ran.to_numpy().tolist() == [[2, 0, 4, 50, 120], [5, -1, 0, 0, 45], [2, -1, 2, 7, 10]]

    def test_records_of_before_have_no_efficiency(self, run):
        result = run(THREE)
        old = replace(result, jobs=result.jobs.drop(columns="sequential_work"))
        assert np.isnan(old.summary()["efficiency"])

    def test_classes_by_run_time(self, run):
        # Each waits for those before it.
        runs = (3599, 3600, 18000, 18001)
        summary = run([(0, length, length, 4) for length in runs]).summary()
        assert [summary[f"jobs_{name}"] for name in ("short", "medium", "long")] == [1, 2, 1]
        assert summary["wait_mean_short"] == 0
        assert summary["wait_mean_medium"] == (3599 + 3599 + 3600) / 2
        assert summary["wait_max_long"] == 3599 + 3600 + 18000
        assert np.isnan(run([(0, 9, 9, 1)]).summary()["wait_mean_long"])

    def test_a_job_of_zero_seconds(self, run):
        metrics = job_metrics(run([(0, 30, 30, 4), (0, 0, 5, 4)]).jobs)
        assert metrics["slowdown"].tolist() == [1, 30]
        assert metrics["bounded_slowdown"].tolist() == [1, 3]

    def test_a_job_that_came_back(self, run):
        # 40 s lost, then 60 s lost, then 70 s of work: turnaround 170.
        metrics = job_metrics(run([(0, 70, 40, 4)], overrun="resubmit").jobs)
        assert metrics[["wait", "turnaround", "run"]].iloc[0].tolist() == [0, 170, 70]
        assert metrics["slowdown"].iloc[0] == pytest.approx(170 / 70)

    def test_ends_can_be_left_out(self):
        result = simulate(overrunning(), "easy")
        whole, left = result.summary(), result.summary(warm_up="25%", cool_down="1 job")
        count = len(result.jobs)
        kept = result.jobs.sort_values("submit", kind="stable").iloc[int(0.25 * count) : count - 1]
        assert left["jobs"] == len(kept) < whole["jobs"]
        assert left["wait_mean"] == pytest.approx(kept["wait"].mean())
        assert (left["makespan"], left["lost"]) == (whole["makespan"], whole["lost"])
        with pytest.raises(InputError, match="warm_up: expected a share of the jobs such as 5%"):
            result.summary(warm_up=5)


class TestFiles:
    @pytest.fixture
    def saved(self, tmp_path):
        return simulate(overrunning(), "easy", "last2", overrun="resubmit:cap=9000").save(tmp_path / "new" / "folder")

    def test_round_trip(self, tmp_path):
        result = simulate(cluster(), "easy-sjbf", "heuristic", overrun="kill", seed=7)
        loaded = Result.load(result.save(tmp_path))
        assert_same_records(result, loaded)
        assert loaded.summary() == pytest.approx(result.summary(), nan_ok=True)
        assert loaded.manifest == result.manifest
        for table in ("jobs", "attempts", "decisions", "timings"):
            assert getattr(loaded, table).dtypes.astype(str).tolist() == (
                getattr(result, table).dtypes.astype(str).tolist()
            )

    def test_what_is_written(self, saved):
        assert sorted(path.name for path in saved.iterdir()) == [
            "SHA256SUMS",
            "attempts.parquet",
            "decisions.parquet",
            "jobs.parquet",
            "manifest.json",
            "timings.parquet",
            "timings.sha256",
        ]
        manifest = json.loads((saved / "manifest.json").read_text())
        assert (manifest["dispatcher"], manifest["predictor"], manifest["seed"]) == ("easy", "last2", 0)
        assert manifest["overrun"] == "resubmit:factor=1.5,cap=9000"
        assert manifest["workload"]["sha256"] == overrunning().digest()
        assert {"hpcdispatch", "accasim", "numpy", "python"} <= set(manifest["versions"])

    def test_without_any_job(self, run, tmp_path):
        for rows in ([], [(0, 9, 9, 5)]):
            result = run(rows)
            assert_same_records(result, Result.load(result.save(tmp_path)))

    def test_a_missing_file(self, saved, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere.manifest.json: no such file; expected a directory"):
            Result.load(tmp_path / "nowhere")
        (saved / "attempts.parquet").unlink()
        with pytest.raises(FileNotFoundError, match=r"attempts.parquet: no such file"):
            Result.load(saved)

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("manifest.json", "{", r"manifest.json:1: expected JSON, got other text \(expecting property name"),
            ("manifest.json", '{"format": 99}', r"manifest of a result, got one without a schema number"),
            ("manifest.json", "[]", r"manifest.json: expected a JSON object, got list"),
            ("manifest.json", "\udcff", r"manifest.json: expected the manifest of a result in UTF-8"),
            ("jobs.parquet", "nonsense", r"jobs.parquet: expected a sound Parquet file: .*"),
            ("jobs.parquet", "", r"jobs.parquet: expected a sound Parquet file: .*"),
        ],
    )
    def test_a_broken_file(self, saved, name, text, message):
        (saved / name).write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(InputError, match=f"got a damaged result: {name} is not what was written"):
            Result.load(saved)
        for sums in ("SHA256SUMS", "timings.sha256"):
            (saved / sums).unlink()
        with pytest.raises(InputError, match=message) as raised:
            Result.load(saved)
        assert "\n" not in str(raised.value)


def test_some_tables_are_read_alone(tmp_path):
    result = simulate(tiny(), "easy")
    result.save(tmp_path / "kept")
    found = Result.load(tmp_path / "kept", ("jobs", "attempts"))
    whole = Result.load(tmp_path / "kept")
    assert found.manifest == whole.manifest
    assert_frame_equal(found.jobs, whole.jobs)
    assert_frame_equal(found.attempts, whole.attempts)
    assert found.decisions.empty
    assert found.timings.empty
