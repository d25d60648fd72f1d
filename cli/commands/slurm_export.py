"""``hpcdispatch slurm export``: the read-only commands whose output a complete answer needs."""

import shlex
import time
from pathlib import Path
from typing import Annotated

import click

from ...base import InputError
from ...bench.reports.number_formats import count
from ..app import OUTPUT, subcommand
from ..command_errors import say
from ..output import finish
from ..parameters import argument, option
from ..progress import spinner
from ..site_folder import DAYS, NOW, SACCT, Export, exports
from ..slurm_answers import CommandFailedError, answer, answer_with_columns


@subcommand("export", "hpcdispatch slurm export site", "hpcdispatch slurm export site --run --days 90")
def export(
    folder: Annotated[Path, argument(type=click.Path(file_okay=False, path_type=Path))],
    run: Annotated[bool, option("Call the commands. They change nothing.", group=OUTPUT)],
    days: Annotated[int, option("Days of accounting records.", "N", default=DAYS)],
) -> None:
    """Print the commands that write all that other commands need of a site into FOLDER; with --run, call them.

    All commands only read. Every command that takes files of a site takes the folder as --site FOLDER. A command that
    fails, such as sacctmgr without permission, leaves its file out, and a note says what is then guessed.
    """
    files = exports(days)
    if not run:
        lines = _lines(folder, files)
        for line in lines:
            click.echo(line)
        finish(f"Then: hpcdispatch what-if --site {shlex.quote(str(folder))}", {"folder": str(folder), "lines": lines})
        return
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with spinner("asking Slurm"):
        for each in files:
            try:
                texts = [_answer(command) for command in each.commands]
            except InputError as error:
                if each.needed or not isinstance(error, CommandFailedError):
                    raise
                (folder / each.name).unlink(missing_ok=True)
                say("note", f"{error}; {each.name} is left out: {each.lack}")
                continue
            (folder / each.name).write_bytes(b"\n".join(texts))
            written.append(each.name)
    told = f"{count(len(written), 'file')} written to {folder}; then: hpcdispatch what-if --site {folder}"
    finish(told, {"folder": str(folder), "files": written})


def _answer(command: tuple[str, ...]) -> bytes:
    if command[0] == "date":
        return f"{time.time():.0f}\n".encode()
    return answer_with_columns(list(command)) if command[0] == "sacct" else answer(list(command))


def _lines(folder: Path, files: tuple[Export, ...]) -> list[str]:
    """Return the lines of a shell script."""
    place = shlex.quote(str(folder))
    lines = [f"mkdir -p {place}", "export SLURM_TIME_FORMAT=%s"]
    for each in files:
        commands = "; ".join(map(shlex.join, each.commands))
        commands = f"({commands})" if len(each.commands) > 1 else commands
        lines.append(f"{commands} > {place}/{each.name}")
        if each.name == SACCT[0]:  # Slurm before 21.08 has no SubmitLine.
            lines[-1] += f" || {commands.removesuffix(',SubmitLine')} > {place}/{each.name}"
    return [line.replace("'+%s'", "+%s") if line.endswith(NOW) else line for line in lines]
