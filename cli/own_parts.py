"""Parts of a user's own file on the command line."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import click

from ..base.errors import InputError, raised
from ..base.installed import KINDS, all_parts_of_script


def import_parts(path: str) -> None:
    """Import a file that registers parts. Its folder becomes known, so that worker processes can import it, too.

    Raises
    ------
    InputError
        If there is no such file, it cannot be imported, or it registers nothing.
    """
    if Path(path).stem in sys.modules and _is(getattr(sys.modules[Path(path).stem], "__file__", None), Path(path)):
        return
    before = len(all_parts_of_script())
    _imported(path, "--parts")
    if len(all_parts_of_script()) == before:
        raise InputError(f"--parts {path}: it registers nothing; call hpcdispatch.register(kind, name, factory) in it")


def part_of_file(path: str, kind: str, method: str) -> str:
    """Import a file and return the name of the one part of a kind in it.

    The part is registered in the file, or is its one class with a method. That class gets the name of the file.

    Parameters
    ----------
    path
        The file.
    kind, method
        As in ``"dispatcher"``, ``"dispatch"``.

    Raises
    ------
    InputError
        If it cannot be imported, or has no such part, or several.
    """
    module = _imported(path, f"--{kind}")
    own = {
        name: factory
        for group, name, factory in all_parts_of_script()
        if group == f"hpcdispatch.{KINDS[kind]}" and getattr(factory, "__module__", None) == module.__name__
    }
    if not own:
        from ..base import register  # noqa: PLC0415 - numpy, which it imports, takes longer than all of --help

        defined = [each for each in vars(module).values() if isinstance(each, type)]
        classes = [each for each in defined if each.__module__ == module.__name__ and hasattr(each, method)]
        if len(classes) != 1:
            names = ", ".join(each.__name__ for each in classes) or "none"
            raise InputError(
                f"--{kind} {path}: expected one class with {method}(), got {names}; give it a name with "
                f'hpcdispatch.register("{kind}", name, factory)'
            )
        register(kind, module.__name__, classes[0])
        return module.__name__
    if len(own) > 1:
        first = next(iter(own))
        raise InputError(f"--{kind} {path}: it registers {', '.join(own)}; choose one: --parts {path} --{kind} {first}")
    return next(iter(own))


def _imported(path: str, option: str) -> ModuleType:
    """Return the module of a file."""
    file = Path(path)
    name = file.stem
    if file.suffix != ".py" or not file.is_file():
        raise InputError(f"{option} {path}: expected a file of Python, such as myparts.py")
    known = sys.modules.get(name)
    if known is not None and _is(getattr(known, "__file__", None), file):
        return known
    spec = find_spec(name) if name.isidentifier() and known is None else None
    if not name.isidentifier() or known is not None or (spec is not None and not _is(spec.origin, file)):
        raise InputError(f"{option} {path}: {name} is the name of another module, or none; rename the file")
    # Behind all others: a file beside it may have the name of a module that others import.
    sys.path.append(str(file.resolve().parent))
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # A user's file may raise anything.
        raise InputError(f"{option} {path}: {raised(error)}") from error


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
