"""``hpcdispatch completion``: print the script by which a shell completes commands, options and names."""

from typing import Annotated, Literal

import click
from click.shell_completion import get_completion_class

from ..app import settings, subcommand
from ..completion import ASKED
from ..output import finish
from ..parameters import argument


@subcommand(
    "completion",
    "hpcdispatch completion bash > ~/.local/share/bash-completion/completions/hpcdispatch",
    "hpcdispatch completion zsh > ~/.zfunc/_hpcdispatch",
    "hpcdispatch completion fish > ~/.config/fish/completions/hpcdispatch.fish",
)
def command(shell: Annotated[Literal["bash", "zsh", "fish"], argument("SHELL")]) -> None:
    """Print the script by which bash, zsh or fish completes commands, options and names of parts.

    The script asks hpcdispatch at each key press, so that it knows plug-ins that come later.
    """
    root = click.get_current_context().find_root().command
    made = get_completion_class(shell)
    assert made is not None, "click completes these three shells"
    script = made(root, {}, "hpcdispatch", ASKED).source()
    if settings().json:
        finish(f"The script for {shell}.", {"shell": shell, "script": script})
    else:
        click.echo(script.strip())
