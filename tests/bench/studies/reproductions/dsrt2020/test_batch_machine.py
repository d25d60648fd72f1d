"""The figure of on-demand delay against batch loss, at the smallest scale."""

import pandas as pd
import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings, draw, find

NAME = "dsrt2020/policies"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return find(NAME).run(StudySettings("smoke", tmp_path_factory.mktemp("made")))


def test_it_is_listed_as_ours(made):
    assert "ours, not in the paper" in find(NAME).title
    assert made.notes[0].startswith("Not in the paper")


def test_every_policy_has_its_numbers_and_its_point(made):
    rows = {(row.subject, row.metric): row.measured for row in made.rows}
    names = ["least loss", "greedy", "kill only", "wait", "256 nodes apart", "512 nodes apart", "FCFS"]
    assert list(dict.fromkeys(row.subject for row in made.rows)) == names
    data = pd.DataFrame(made.drawing.data).set_index("subject")
    assert data.index.tolist() == names
    assert rows["kill only", "mean delay of on-demand jobs, min"] == 0
    assert rows["wait", "mean delay of on-demand jobs, min"] > 15
    assert rows["wait", "lost node-hours"] == 0 < rows["least loss", "lost node-hours"]
    assert rows["least loss", "lost node-hours"] < rows["kill only", "lost node-hours"]
    assert rows["256 nodes apart", "jobs rejected"] > rows["512 nodes apart", "jobs rejected"]


def test_one_sample_decides_nothing(made):
    assert {claim.holds for claim in made.claims} == {None}


def test_the_picture(made, tmp_path):
    files = {path.suffix: path for path in draw(find(NAME), made.drawing, tmp_path)}
    assert files[".png"].read_bytes().startswith(b"\x89PNG")
    text = files[".svg"].read_text()
    assert "mean delay of on-demand jobs (min)" in text
    assert "512 nodes apart" in text
    assert len(pd.read_csv(files[".csv"])) == 7
