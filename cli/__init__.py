"""The command line: thin commands over the other packages. Heavy imports wait until a command needs them."""

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from .app import cli

__all__ = ["cli", "main"]


def main() -> NoReturn:
    """Run the command line. A termination ends it as Ctrl-C does: finished results are kept."""
    from .interrupts import leave, stand_by  # noqa: PLC0415 - signals are seen to before anything is imported

    stand_by()
    from .app import cli  # noqa: PLC0415

    try:
        cli.main()
    except SystemExit as error:
        leave(error.code if isinstance(error.code, int) else int(error.code is not None))


def __getattr__(name: str) -> Any:
    if name == "cli":
        from .app import cli  # noqa: PLC0415

        return cli
    raise AttributeError(name)
