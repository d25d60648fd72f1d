"""Options and arguments that the annotations of a command declare."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
from click.testing import CliRunner

from hpcdispatch.cli.app import subcommand
from hpcdispatch.cli.parameters import argument, option, parameters


@dataclass(frozen=True)
class Files:
    table: Annotated[Path, option("The table.", group="Input")]
    zone: Annotated[str | None, option("Of its times.", "ZONE")] = None


def declared(
    names: Annotated[tuple[str, ...], argument()],
    files: Files,
    kind: Annotated[Literal["a", "b"], option("Which.", default="b", name="--which")],
    wait: Annotated[int, option("How long.", "TIME", group="Run")],
    runs: Annotated[int | None, option("How many.", "N")],
    label: Annotated[tuple[str, ...], option("Labels.")],
    dry: Annotated[bool, option("Do nothing.")],
) -> None:
    """Print what is given."""
    click.echo(repr((names, files, kind, wait, runs, label, dry)))


def called(*words):
    return CliRunner().invoke(subcommand("made", "made x")(declared), words)


def test_values_follow_from_annotations():
    found = called("x", "y", "--table", "t.csv", "--wait", "2m", "--runs", "3", "--label", "p", "--label", "q", "--dry")
    files = Files(Path("t.csv"), None)
    assert found.output.strip() == repr((("x", "y"), files, "b", 120, 3, ("p", "q"), True))


def test_missing_optional_values():
    found = called("--table", "t.csv", "--wait", "5", "--zone", "UTC", "--which", "a")
    assert found.output.strip() == repr(((), Files(Path("t.csv"), "UTC"), "a", 5, None, (), False))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing option '--table'"),
        (("--table", "t"), "Missing option '--wait'"),
        (("--table", "t", "--wait", "soon"), "'--wait'"),
        (("--table", "t", "--wait", "1", "--runs", "0"), "'--runs'"),
        (("--table", "t", "--wait", "1", "--which", "c"), "'--which'"),
    ],
)
def test_wrong_values(words, message):
    found = called(*words)
    assert found.exit_code == 2
    assert message in found.output


def test_group_holds_for_following_options():
    groups = {each.name: getattr(each, "group", None) for each in parameters(declared)}
    assert groups == {
        "names": None,
        "table": "Input",
        "zone": "Input",
        "kind": "Input",
        "wait": "Run",
        "runs": "Run",
        "label": "Run",
        "dry": "Run",
    }
