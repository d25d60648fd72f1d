"""Saved policies from strangers: damaged, enormous and irregular files give one error of one line."""

import os
import zipfile
from io import BytesIO

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.learn import load_policy


def weights(*shape, data=b""):
    """Return a file of an array whose header may promise more than follows."""
    file = BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue() + data


def archive(path, first, how=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", how) as file:
        file.writestr("weight0.npy", first)
        file.writestr("bias0.npy", weights(1, data=bytes(8)))
        file.writestr("rules.npy", weights(1, data=bytes(8)))


def changed(path, at, new):
    """Write over each place of a text in an archive."""
    path.write_bytes(path.read_bytes().replace(at, at[: -len(new)] + new))


HEADER = b"PK\x01\x02\x14\x03\x14\x00"
FILES = {
    "more than there is": lambda path: archive(path, weights(10**13, 8)),
    "negative": lambda path: archive(path, weights(-3, 8)),
    "bomb": lambda path: archive(path, weights(2 * 10**7, 8, data=bytes(16 * 10**7)), zipfile.ZIP_DEFLATED),
    "secret": lambda path: (archive(path, weights(8, 8)), changed(path, HEADER + b"\x00\x00", b"\x01\x00")),
    "unknown packing": lambda path: (archive(path, weights(8, 8)), changed(path, HEADER + bytes(4), b"\x63\x00")),
    "pickle": lambda path: np.savez(path, weight0=np.array([{}], dtype=object), bias0=np.zeros(1)),
    "array": lambda path: path.write_bytes(weights(8, 8, data=bytes(512))),
    "empty": lambda path: path.write_bytes(b""),
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_no_policy_is_refused(tmp_path, kind):
    path = tmp_path / "policy.npz"
    FILES[kind](path)
    with pytest.raises((InputError, IsADirectoryError), match=r"policy\.npz") as caught:
        load_policy(path)
    assert len(str(caught.value).splitlines()) == 1
