"""Parts of a user's own file on the command line."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click

from ..base.errors import InputError, raised
from ..base.installed import all_parts_of_script


def import_parts(path: str) -> None:
    """Import a file that registers parts. Its folder becomes known, so that worker processes can import it, too.

    Raises
    ------
    InputError
        If there is no such file, it cannot be imported, or it registers nothing.
    """
    file = Path(path)
    name = file.stem
    if file.suffix != ".py" or not file.is_file():
        raise InputError(f"--parts {path}: expected a file of Python, such as myparts.py")
    known = sys.modules.get(name)
    if known is not None and _is(getattr(known, "__file__", None), file):
        return
    spec = find_spec(name) if name.isidentifier() and known is None else None
    if not name.isidentifier() or known is not None or (spec is not None and not _is(spec.origin, file)):
        raise InputError(f"--parts {path}: {name} is the name of another module, or none; rename the file")
    before = len(all_parts_of_script())
    # Behind all others: a file beside it may have the name of a module that others import.
    sys.path.append(str(file.resolve().parent))
    try:
        import_module(name)
    except (Exception, SystemExit) as error:  # A user's file may raise anything.
        raise InputError(f"--parts {path}: {raised(error)}") from error
    if len(all_parts_of_script()) == before:
        raise InputError(f"--parts {path}: it registers nothing; call hpcdispatch.register(kind, name, factory) in it")


def _is(origin: str | None, file: Path) -> bool:
    """Return whether a module is from a file."""
    return origin is not None and Path(origin).resolve() == file.resolve()


def parts_option() -> click.Option:
    """Return the option of every command that imports such a file, before other options are checked."""

    def imported(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
        if not ctx.resilient_parsing:
            for path in value:
                import_parts(path)

    told = "A file whose hpcdispatch.register(...) gives names to parts of your own."
    return click.Option(
        ["--parts"], metavar="FILE.py", multiple=True, is_eager=True, expose_value=False, callback=imported, help=told
    )
