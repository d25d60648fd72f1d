from __future__ import annotations

import hashlib
import io
import urllib.error
import urllib.request

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import fetch, fetching


@pytest.fixture
def archive(monkeypatch, tmp_path):
    """Publish one trace, with an empty cache and no network."""
    monkeypatch.delenv("HPCDISPATCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    digest = hashlib.sha256(b"trace").hexdigest()[:16]
    monkeypatch.setitem(fetching.TRACES, "kth-sp2", fetching.Published("k.swf.gz", "https://archive/l_k", digest))
    answers = {"data": b"trace"}

    def urlopen(url, timeout):
        if "data" not in answers:
            raise urllib.error.URLError("no route to host")
        return io.BytesIO(answers["data"])

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return answers


def test_download_then_cache(archive, tmp_path):
    path = fetch("KTH-SP2")
    assert path == tmp_path / "cache" / "hpcdispatch" / "k.swf.gz"
    del archive["data"]
    assert fetch("kth-sp2") == path
    assert [one.name for one in path.parent.iterdir()] == ["k.swf.gz"]


def test_run_times_are_published_too(archive, monkeypatch):
    digest = hashlib.sha256(b"trace").hexdigest()[:16]
    monkeypatch.setitem(fetching.RUN_TIMES, "slant-walltime", fetching.Published("s.log", "https://x", digest))
    assert fetch("slant-walltime").read_bytes() == b"trace"


def test_own_folder_first(archive, tmp_path, monkeypatch):
    del archive["data"]
    monkeypatch.setenv("HPCDISPATCH_DATA", str(tmp_path))
    (tmp_path / "k.swf.gz").write_bytes(b"trace")
    assert fetch("kth-sp2") == tmp_path / "k.swf.gz"


def test_offline(archive):
    del archive["data"]
    with pytest.raises(OSError, match=r"k\.swf\.gz: cannot be downloaded \(no route to host\); put k\.swf\.gz into"):
        fetch("kth-sp2")


def test_something_else_came(archive, tmp_path):
    archive["data"] = b"<html>"
    with pytest.raises(InputError, match=r"expected SHA-256 .*, got"):
        fetch("kth-sp2")
    assert not (tmp_path / "cache").exists()


def test_unknown_names_and_addresses(archive, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Beside a checkout there may be one.
    with pytest.raises(
        InputError, match="unknown trace 'kth'; known: kth-sp2, ctc-sp2, sdsc-sp2, hpc2n, lublin-256, theta-2022"
    ):
        fetch("kth")
    with pytest.raises(InputError, match="it has no address to download it from"):
        fetch("lublin-256")


@pytest.mark.parametrize("name", sorted(fetching.TRACES))
@pytest.mark.traces
def test_the_published_sums(trace, monkeypatch, name):
    path = trace(fetching.TRACES[name].file)
    monkeypatch.setenv("HPCDISPATCH_DATA", str(path.parent))
    assert fetch(name) == path
