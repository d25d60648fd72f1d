"""Files that are too large, also those without an end."""

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from hpcdispatch.analysis import read_scenario
from hpcdispatch.base import InputError, files
from hpcdispatch.base.files import json_memory, open_regular, read_bounded, read_json
from hpcdispatch.bench.campaigns.campaign_file import read_campaign
from hpcdispatch.workloads import read
from hpcdispatch.workloads.formats.run_times import read_run_times
from hpcdispatch.workloads.slurm_conf import read_slurm_conf


def test_a_file_of_just_so_many_bytes_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert read_bounded(tmp_path / "file", "text", 3) == b"abc"
    with pytest.raises(InputError, match="file: expected text of at most 2 bytes, got more"):
        read_bounded(tmp_path / "file", "text", 2)


@pytest.mark.parametrize("reader", [read_scenario, read_campaign, read_slurm_conf, read, read_run_times])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(reader, tmp_path):
    """A device may have no end. The reader of a pipe without a writer waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(InputError, match=rf"^{path}: expected a regular file, got a device or a pipe"):
            reader(path)
    with pytest.raises(IsADirectoryError):
        reader(tmp_path)


def test_lines_that_go_on_and_on_are_one(tmp_path):
    (tmp_path / "slurm.conf").write_text("NodeName=n1 \\\n" + "CPUs=2 \\\n" * 50_000 + "RealMemory=5\n")
    assert read_slurm_conf(tmp_path / "slurm.conf").capacity.tolist() == [[2, 5 * 1024, 0]]


def test_no_file_has_a_zero_byte_in_its_name():
    with pytest.raises(InputError, match=r"^'a\\x00b': expected the name of a file, got one that no file has$"):
        open_regular(Path("a\0b"))


#: Parts of lists in JSON, each short and large once it is parsed.
PARTS = (
    "[]",
    "[0]",
    "[[[[[]]]]]",
    "{}",
    '{"a":0}',
    '{"a":0,"b":1}',
    '{"a":{"b":{}}}',
    '"ab"',
    '""',
    '"ab\u00e9"',
    '"abcdefgh\U0001f0a1"',
    "999",
    "0.5",
    "9" * 20,
    "[[0,0],[0,0]]",
)
TEXTS = {part: f"[{','.join([part] * 9999)}]" for part in PARTS}
TEXTS["keys"] = json.dumps(dict.fromkeys(map(str, range(30_000)), 0), separators=(",", ":"))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_parsed_json_takes_no_more_memory_than_estimated(text):
    data = text.encode()
    tracemalloc.start()
    parsed = json.loads(data.decode())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert parsed
    assert len(data) + most <= json_memory(data)


def test_json_that_takes_too_much_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([[]] * 100))
    monkeypatch.setattr(files, "MOST_MEMORY", 10_000)
    with pytest.raises(InputError, match=r"a\.json: expected x that takes at most 10,000 bytes of memory, got more"):
        read_json(path, "x")
