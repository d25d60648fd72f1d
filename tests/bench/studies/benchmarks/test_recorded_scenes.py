"""Scenes of a few jobs on a Slurm: each job starts within 15 s of its real start."""

import pytest
from click.testing import CliRunner

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.benchmarks.slurm import main
from hpcdispatch.bench.studies.benchmarks.slurm.recorded_scenes import NEAR, scenes

CONF = "ClusterName=c\nNodeName=n[1-2] CPUs=4\nPartitionName=all Nodes=ALL\nKillWait=30\n"
HEADER = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|NNodes|NCPUS|State|NodeList|SubmitLine"
BEGIN = 1_795_000_000


def written(folder, name, *starts):
    """Write a scene of jobs of both nodes. Each runs for 60 s."""
    lines = [
        f"{place}|ann|a|all|{BEGIN + place}|{BEGIN + start}|{BEGIN + start + 60}|2|2|8|COMPLETED|n[1-2]|sbatch -N 2 "
        "--ntasks-per-node=4 x.sh"
        for place, start in enumerate(starts)
    ]
    (folder / name).write_text("\n".join([HEADER, *lines, ""]))


def test_each_scene_has_its_largest_distance(tmp_path):
    (tmp_path / "site.txt").write_text(CONF)
    written(tmp_path, "near.sacct", 0, 62, 124)
    written(tmp_path, "late.sacct", 0, 62, 300)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "site.txt").write_text(CONF)
    written(inside, "jobs.sacct", 0, 65)
    rows = {row[0]: row for row in scenes(tmp_path).rows}
    assert {name: row[-1] for name, row in rows.items()} == {"near": "yes", "late": "no", "inside": "yes"}
    assert int(rows["late"][2]) < -100
    assert rows["late"][3] == "2"
    done = CliRunner().invoke(main, ["--part", "scenes", "--replay", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "late" in done.stdout


def test_a_folder_without_scenes_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected files NAME\.sacct beside a site\.txt, got none"):
        scenes(tmp_path)
    done = CliRunner().invoke(main, ["--part", "scenes"])
    assert "--part scenes: expected a folder, --replay FOLDER, got none" in done.stderr


@pytest.mark.traces
def test_starts_are_near_the_real_ones(material):
    table = scenes(material("cases", "slurm", "site.txt").parent)
    far = [row for row in table.rows if row[-1] != "yes"]
    assert len(table.rows) >= 12
    assert not far, f"more than {NEAR} s off"
