"""Files that are too large, also those without an end."""

import os
from pathlib import Path

import pytest

from hpcdispatch.analysis import read_scenario
from hpcdispatch.base import InputError
from hpcdispatch.base.files import read_bounded
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
