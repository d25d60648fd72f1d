"""What a name means."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import generate
from hpcdispatch.workloads.sources import resolve, workload_of


def test_a_file_goes_before_a_generator(tmp_path):
    (tmp_path / "lublin").write_text("; nothing\n")
    assert resolve("lublin", tmp_path).file() == tmp_path / "lublin"
    assert resolve("lublin:jobs=5", tmp_path).spec == "lublin:jobs=5"


@pytest.mark.parametrize(("name", "sampled"), [("lublin", True), ("lublin:seed=3,jobs=5", False), ("kth-sp2", False)])
def test_a_seed_draws_another_sample_of_a_generator(name, sampled, tmp_path):
    assert resolve(name, tmp_path).sampled is sampled


def test_a_published_trace_is_fetched_by_its_name(monkeypatch, tmp_path):
    monkeypatch.setattr("hpcdispatch.workloads.sources.fetch", lambda name: tmp_path / name)
    assert resolve("KTH-SP2", tmp_path).file() == tmp_path / "KTH-SP2"


def test_the_sample_trace_has_a_name_everywhere(tmp_path):
    assert len(workload_of("example")) == 900
    (tmp_path / "example").write_text("; nothing\n")
    assert resolve("example", tmp_path).file() == tmp_path / "example"


def test_what_means_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^nowhere: no such file, and no workload of this name \(generators: accre"):
        resolve("nowhere", tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"^folder: expected a trace file, got a directory$"):
        resolve("folder", tmp_path)


def test_a_wrong_name_gets_the_nearest_file(tmp_path):
    (tmp_path / "trace.swf.gz").touch()
    with pytest.raises(InputError, match=r"no workload of this name \(did you mean 'trace.swf.gz'\? generators: "):
        resolve("trace.swf", tmp_path)


@pytest.mark.parametrize(
    "spec",
    ["lublin:jobs=100000000000", "accre:nodes=9223372036854775808", "theta:days=100000", "lublin:seed=" + "9" * 400],
)
def test_a_generator_draws_no_more_than_there_is_room_for(spec):
    with pytest.raises(InputError, match=r"must be a whole number .* and <= "):
        generate(spec)
