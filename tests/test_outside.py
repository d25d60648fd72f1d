"""Tests see what they open outside the clone, also in their children."""

import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import outside
import pytest

FOLDERS = ("/clone/", "/tmp/")


@pytest.mark.parametrize(
    ("event", "arguments", "seen"),
    [
        ("open", ("/clone/README.md", "r", 0), None),
        ("open", (b"/tmp/x", "r", 0), None),
        ("open", (3, "r", 0), None),
        ("open", ("/clone/../nowhere/at/all", "r", 0), None),
        ("open", (os.__file__, "rb", 0), f"opened {os.__file__}"),
        ("socket.connect", (None, ("127.0.0.1", 80)), None),
        ("socket.connect", (None, "/tmp/socket"), None),
        ("socket.connect", (None, ("198.51.100.7", 80)), "called 198.51.100.7"),
        ("socket.connect", (SimpleNamespace(type=socket.SOCK_DGRAM), ("198.51.100.7", 80)), None),
        ("socket.getaddrinfo", ("localhost", 80, 0, 0, 0), None),
        ("socket.getaddrinfo", ("example.org", 80, 0, 0, 0), "called example.org"),
    ],
)
def test_what_is_outside(event, arguments, seen):
    assert outside.outside(event, arguments, FOLDERS) == seen


@pytest.mark.parametrize("inside", [True, False])
def test_a_child_reports_to_the_same_file(tmp_path, inside):
    """The child allows the folders of this clone. The file is beside them only if the temporary folder is another."""
    file = tmp_path / "file"
    file.write_text("x")
    reports = tmp_path / "reports"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    known = os.environ | {outside.REPORTS: str(reports), "TMPDIR": str(tmp_path if inside else elsewhere)}
    # Twice: the file of reports is there at the second time, and outside as well.
    subprocess.run([sys.executable, "-c", f"for _ in range(2): open({str(file)!r})"], env=known, check=True, timeout=60)
    assert reports.exists() is not inside
    assert inside or reports.read_text() == f"opened {file}\n" * 2


def test_the_folder_of_the_traces_is_empty():
    assert not any(os.scandir(os.environ["HPCDISPATCH_DATA"]))
