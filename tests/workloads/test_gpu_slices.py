"""GPUs that are whole or sliced into profiles, in Python, in machine files, in tables and in Slurm's configuration."""

import json

import numpy as np
import pandas as pd
import pytest

from hpcdispatch import Job
from hpcdispatch.base import InputError
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.workloads import Machine, Workload
from hpcdispatch.workloads.gpu_slices import PROFILES, slices_of
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_workload import slurm_workload


def test_a_gpu_is_whole_or_sliced():
    machine = Machine.homogeneous(2, core=8, gpu=4).sliced("0", "a100-40gb", ["7x1g.5gb", ["3g.20gb", "4g.20gb"]])
    assert machine.resources == ("core", "gpu", "gpu/1g.5gb", "gpu/3g.20gb", "gpu/4g.20gb")
    assert machine.capacity.tolist() == [[8, 2, 7, 1, 1], [8, 4, 0, 0, 0]]


@pytest.mark.parametrize(
    ("profiles", "fit"),
    [
        ("7x1g.5gb", True),
        ("8x1g.5gb", False),
        (["3g.20gb", "3g.20gb"], True),
        (["3g.20gb", "3g.20gb", "1g.5gb"], False),
        ({"4g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}, True),
        ("3g.20gb,2g.10gb,2x1g.5gb", True),
        (["7g.40gb", "1g.5gb"], False),
        ("4x1g.10gb", True),
        ("5x1g.10gb", False),
    ],
)
def test_profiles_fit_the_size_of_a_gpu(profiles, fit):
    if fit:
        assert slices_of("here", "a100-40gb", profiles).total() >= 1
    else:
        with pytest.raises(ValueError, match=r"here: .* slices of (processors|memory), and a a100-40gb has"):
            slices_of("here", "a100-40gb", profiles)


def test_the_largest_profile_is_the_whole_gpu():
    for gpu, profiles in PROFILES.items():
        largest = max(profiles, key=lambda name: profiles[name])
        with pytest.raises(ValueError, match="leave some out"):
            slices_of("here", gpu, [largest, next(iter(profiles))])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("0", "a100-40gb", ["2g.20gb"]), r"GPU 0: expected profiles of a100-40gb: 1g.5gb, .* got '2g.20gb'"),
        (("0", "a200", ["1g.5gb"]), "expected a GPU among a100-40gb, .* got 'a200'"),
        (("0", "a100-40gb", ["1g.5gb"] * 5), "slices 5 GPUs of each node, and node 0 has 4 whole ones"),
        (("0-9", "a100-40gb", ["1g.5gb"]), r"nodes must lie in 0\.\.1, got 9"),
        (("0", "a100-40gb", "1g.5gb"), "expected one entry per sliced GPU"),
        (("0", "a100-40gb", [[]]), "expected profiles such as"),
        (("0", "a100-40gb", [3]), "expected profiles of a100-40gb"),
    ],
)
def test_bad_slices_are_one_line(arguments, message):
    with pytest.raises(ValueError, match=message) as error:
        Machine.homogeneous(2, gpu=4).sliced(*arguments)
    assert "\n" not in str(error.value)


def test_slices_are_used_once():
    machine = Machine.homogeneous(2, gpu=1, core=8).sliced("0", "a100-40gb", ["2x3g.20gb"])
    jobs = [Job(str(n), 0, 10, 10, 1, {"gpu/3g.20gb": 1}) for n in range(3)]
    jobs += [Job(f"whole{n}", 0, 10, 10, 1, {"gpu": 1}) for n in range(2)]
    workload = Workload(jobs, machine)
    result = simulate(workload, "easy")
    check(workload, result)
    assert result.jobs["start"].tolist() == [0, 0, 10, 0, 10]
    for row, node in ((2, 0), (4, 1)):  # A third slice, and a second whole GPU.
        broken = simulate(workload, "easy")
        for frame in (broken.jobs, broken.attempts):
            at = frame["id"].tolist().index(jobs[row].id)
            frame.loc[at, ["start", "end"]] = 0, 10
            placements = frame["placement"].tolist()
            placements[at] = np.array([node])
            frame["placement"] = pd.Series(placements, index=frame.index, dtype=object)
        with pytest.raises(InvariantError, match=r"gpu"):
            check(workload, broken)


def test_a_machine_file_has_slices(tmp_path):
    file = {"groups": {"g": {"core": 8, "gpu": 2}}, "resources": {"g": 2}}
    slices = [{"nodes": "1", "gpu": "h100-80gb", "gpus": ["7x1g.10gb"]}]
    (tmp_path / "m.json").write_text(json.dumps(file | {"slices": slices}))
    machine = Machine.from_file(tmp_path / "m.json")
    assert machine.resources == ("core", "gpu", "gpu/1g.10gb")
    assert machine.capacity.tolist() == [[8, 2, 0], [8, 1, 7]]
    (tmp_path / "m.json").write_text(json.dumps(file | {"slices": [{"nodes": "1", "gpus": []}]}))
    with pytest.raises(InputError, match=r"m\.json: machine: slices must be objects with nodes, gpu and gpus"):
        Machine.from_file(tmp_path / "m.json")


def test_slurm_names_slices_as_types(tmp_path):
    conf = "NodeName=n1 CPUs=8 Gres=gpu:a100:2,gpu:1g.5gb:7,gpu:3g.20gb:2(S:0)\nNodeName=n2 CPUs=8\n"
    (tmp_path / "slurm.conf").write_text(f"{conf}PartitionName=p Nodes=ALL\n")
    site = read_slurm_conf(tmp_path / "slurm.conf")
    assert {kind: counts.tolist() for kind, counts in site.gpus.items()} == {
        "a100": [2, 0],
        "1g.5gb": [7, 0],
        "3g.20gb": [2, 0],
    }
    header = "JobID|Partition|Submit|Start|End|TimelimitRaw|ReqNodes|NNodes|NCPUS|State|ReqTRES|AllocTRES|SubmitLine"
    rows = [
        "1|p|1000|1000|1060|2|1|1|1|COMPLETED||gres/gpu:1g.5gb=2,gres/gpu=2|sbatch --gres=gpu:1g.5gb:2 a",
        "2|p|1001|1001|1060|2|1|1|1|COMPLETED||gres/gpu:3g.20gb=1,gres/gpu=1|sbatch --gres=gpu:3g.20gb a",
        "3|p|1002|1002|1060|2|1|1|1|COMPLETED||gres/gpu:a100=1,gres/gpu=1|sbatch -G a100:1 a",
    ]
    (tmp_path / "jobs.sacct").write_text("\n".join([header, *rows, ""]))
    workload = slurm_workload(tmp_path / "jobs.sacct", tmp_path / "slurm.conf")
    asked = [{k: v for k, v in job.per_node.items() if k.startswith("gpu")} for job in workload.jobs]
    assert asked == [{"gpu": 2, "gpu/1g.5gb": 2}, {"gpu": 1, "gpu/3g.20gb": 1}, {"gpu": 1, "gpu/a100": 1}]
    check(workload, simulate(workload, "easy"))
