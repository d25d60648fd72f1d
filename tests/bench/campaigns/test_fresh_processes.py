"""Where multiprocessing has its sockets."""

import multiprocessing
import sys
import tempfile
from pathlib import Path

import pytest

from hpcdispatch.base.unfinished_files import TEMPORARY, remove
from hpcdispatch.bench.campaigns.fresh_processes import fresh_processes


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copies of a server on Linux only")
@pytest.mark.parametrize("name", ["t" * 90, "é" * 60])
def test_a_long_temporary_folder_has_its_sockets_in_a_short_one(tmp_path, monkeypatch, name):
    config = multiprocessing.current_process()._config
    monkeypatch.setitem(config, "tempdir", None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    fresh_processes()
    folder = Path(config["tempdir"])
    assert folder.is_dir()
    assert folder.parent == Path("/tmp")
    assert folder.name.startswith(TEMPORARY)
    remove(folder)
