"""Named parts: specs, options, and one-line errors."""

import json
import shutil
import sys
from importlib.metadata import EntryPoint
from typing import Literal

import pytest

from hpcdispatch.base import InputError, Registry, convert_options, options_of, parse_spec
from hpcdispatch.dispatchers import EASY, FCFS


class Part:
    """A part.

    With more to it.
    """

    def __init__(self, count: int = 1, share: float | None = None, rule: Literal["a", "b"] = "a", on: bool = False):
        if count < 0:
            raise ValueError(f"count must be >= 0, got {count}")
        self.given = (count, share, rule, on)


class Unreadable:
    def __init__(self, size: "NotAnywhere" = 1):  # noqa: F821
        pass


@pytest.fixture
def parts(monkeypatch):
    registry = Registry("part", "somewhere")
    names = {"part": "Part", "unreadable": "Unreadable", "gone": "Nothing"}
    entries = {name: EntryPoint(name, f"{__name__}:{value}", "somewhere") for name, value in names.items()}
    monkeypatch.setattr(EntryPoint, "load", lambda entry: globals()[entry.value.partition(":")[2]])
    monkeypatch.setattr("hpcdispatch.base.registry.entry_points_of", lambda group: entries)
    return registry


def test_a_spec_is_a_name_and_options():
    assert parse_spec("easy") == ("easy", {})
    assert parse_spec("x:a=1, b = two") == ("x", {"a": "1", "b": "two"})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("x:a", "expected NAME:key=value,key=value, got 'a' as an option"),
        ("x:=1", "got '=1' as an option"),
        ("x:a=1,a=2", "option 'a' is given twice"),
    ],
)
def test_a_broken_spec(spec, message):
    with pytest.raises(InputError, match=message):
        parse_spec(spec)


def test_values_get_the_types_of_the_signature(parts):
    assert parts.create("part:count=3,share=0.5,rule=b,on=yes").given == (3, 0.5, "b", True)
    assert parts.create("part:share=none", count=4).given == (4, None, "a", False)
    assert parts.summary("part") == "A part."


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("part:count=x", "part part: option 'count': expected a whole number, got 'x'"),
        ("part:share=x", "part part: option 'share': expected a number, got 'x'"),
        ("part:rule=c", "part part: option 'rule': expected one of a, b, got 'c'"),
        ("part:on=maybe", "part part: option 'on': expected true or false, got 'maybe'"),
        ("part:size=1", "part part: unknown option 'size'; known: count, share, rule, on"),
        ("part:count=-1", "part part: count must be >= 0, got -1"),
        ("parts", r"unknown part 'parts' \(did you mean part\?\); known: gone, part, unreadable"),
        ("gone", "part 'gone': cannot load .*: KeyError: 'Nothing'"),
        ("unreadable", "part 'unreadable': cannot read its options: NameError: .*NotAnywhere"),
    ],
)
def test_what_is_wrong_is_named(parts, spec, message):
    with pytest.raises(InputError, match=message):
        parts.create(spec)


def test_a_required_option_must_be_given():
    def part(size: int):
        return size

    with pytest.raises(InputError, match=r"thing: option 'size' must be given \(a whole number\)"):
        convert_options("thing", options_of(part), {})


def package(folder, name, value, key="easy"):
    made = folder / f"{name}-1.0.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(f"[hpcdispatch.dispatchers]\n{key} = {value}\n")


def test_no_package_takes_the_name_of_another_part(tmp_path, monkeypatch):
    """A name that two packages register is refused, in any order on the path. None of them has to be built in."""
    registry = Registry("dispatcher", "hpcdispatch.dispatchers")
    monkeypatch.setattr("sys.path", [str(tmp_path / "first"), *sys.path, str(tmp_path / "last")])
    for place, name in (("first", "early"), ("last", "late")):
        package(tmp_path / place, name, "json:loads")
        with pytest.raises(InputError, match=rf"'easy': expected one package .*{name} \(json:loads\)"):
            registry.factory("easy")
        assert registry.factory("fcfs") is FCFS
        shutil.rmtree(tmp_path / place)
        assert registry.factory("easy") is EASY
    package(tmp_path / "first", "one", "json:loads", "own")
    assert registry.factory("own") is json.loads
    package(tmp_path / "last", "two", "json:dumps", "own")
    with pytest.raises(InputError, match=r"got one \(json:loads\) and two \(json:dumps\); uninstall all but one"):
        registry.create("own")
