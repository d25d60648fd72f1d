"""The program: its commands, imported when they are needed, and how it ends."""

from __future__ import annotations

import difflib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, NoReturn

import click

from .command_errors import InterruptedRunError, RunFailedError, os_error_line, say
from .interrupts import Interrupts, raise_interrupts

#: Options whose names may be in the plural as well.
SINGULAR = {"dispatchers": "dispatcher", "predictors": "predictor", "seeds": "seed"}

COMMANDS = {
    "run": ("run", "Simulate one dispatcher on a workload and print its metrics."),
    "compare": ("compare", "Compare dispatchers and predictors on a workload."),
    "campaign": ("campaign", "Run every combination that a file lists; finished ones are kept."),
    "evict": ("evict", "Decide which running jobs give way for an on-demand job."),
    "partition": ("partition_size", "Say how many processors to ask for, and for how long."),
    "predict": ("predict", "Judge predictors of run times, and what they do to waits."),
    "report": ("report", "Write a page about saved results: tables, figures and their data."),
    "reproduce": ("reproduce", "Make the tables and figures of the papers again."),
    "sequence": ("sequence", "Say which times to request for jobs whose run times are a lottery."),
    "what-if": ("what_if_command", "Say how the recorded jobs of a Slurm site fare when its scheduler is changed."),
    "slurm": ("slurm_commands", "Beside a Slurm that runs here: its state, forecasts, eviction, submission."),
    "workload": ("workload_commands", "Describe, convert and generate workloads."),
    "compile": ("compile_ahead", "Compile beforehand what a first simulation would."),
    "list": ("list_parts", "List dispatchers, predictors and workloads with their options."),
}


def examples(*lines: str) -> str:
    """Return example commands as a block that click does not wrap."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


class Notices(logging.Handler):
    """Writes notices to stderr, above a bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        from ..base.printed import MOST_OF_MESSAGE, plain  # noqa: PLC0415 - as in _end

        click.echo(plain(record.getMessage(), MOST_OF_MESSAGE), err=True)


@dataclass(slots=True)
class Settings:
    """The options of the whole call."""

    debug: bool = False
    json: bool = False
    seconds: bool = False


def settings() -> Settings:
    """Return the options of the running call."""
    context = click.get_current_context(silent=True)
    return (context and context.find_object(Settings)) or Settings()


def _flag(name: str, help: str) -> click.Option:
    """Return an option that is kept in the settings."""

    def keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            setattr(ctx.ensure_object(Settings), name, True)

    return click.Option([f"--{name}"], is_flag=True, expose_value=False, callback=keep, help=help)


def _debug() -> click.Option:
    return _flag("debug", "Show the traceback of an error.")


#: The group of the options that every command has.
OUTPUT = "Output"
#: The group of options that many commands have; EXPLAINED_BY explains them, the others name them.
READING = "Reading the trace"
EXPLAINED_BY = "workload describe"


class Command(click.Command):
    """A command whose help has its options in groups; all have ``--json``, ``--seconds`` and ``--debug``."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params += [
            _flag("json", "Print one JSON object, and nothing else."),
            _flag("seconds", "Print times in seconds."),
            _debug(),
        ]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, which an interrupt ends from now on with what it has finished."""
        raise_interrupts()
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                groups.setdefault(getattr(parameter, "group", OUTPUT), []).append(record)
        last = groups.pop(OUTPUT)
        for title, records in [*groups.items(), (OUTPUT, last)]:
            with formatter.section(title):
                if title == READING and not ctx.command_path.endswith(EXPLAINED_BY):
                    names = ", ".join(name.partition(" ")[0] for name, _ in records)
                    formatter.write_text(f"{names}: see 'hpcdispatch {EXPLAINED_BY} --help'.")
                else:
                    formatter.write_dl(records)


class Group(click.Group):
    """A command of commands."""

    command_class = Command


def subcommand(name: str, *lines: str, **attributes: Any) -> Callable[[Callable[..., None]], Command]:
    """Return a decorator that makes a function a command, with lines of examples at the end of its help."""
    return click.command(name, cls=Command, epilog=examples(*lines), **attributes)


def options(group: str, *decorators: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that adds options, which stand in a group of the help, to a command."""

    def decorate(function: Any) -> Any:
        for option in reversed(decorators):
            function = option(function)
            function.__click_params__[-1].group = group
        return function

    return decorate


class Application(click.Group):
    """The top-level group: commands by name of their module, every ending a clean one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of :data:`COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".commands.{COMMANDS[cmd_name][0]}", __package__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which there are."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(COMMANDS)}"
            ctx.fail(f"No such command {args[0][:60]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run, and end with exit code 0, 1 (the run failed or was interrupted) or 2 (usage or input)."""
        kept = Settings()
        extra = {"obj": kept, **extra}
        try:
            code = super().main(
                args=args, prog_name="hpcdispatch", complete_var=complete_var, standalone_mode=False, **extra
            )
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()
        except KeyboardInterrupt:
            code = _end(click.Abort(), kept.debug)
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):  # as click ends where nobody reads any more
                raise
            code = _end(RunFailedError(f"a part ended the program (sys.exit({error.code!r}))"), kept.debug)
        except BaseException as error:  # noqa: BLE001 - the end of the program: everything becomes one line and a code
            code = _end(error, kept.debug)
        sys.exit(code if isinstance(code, int) else 0)


def _end(error: BaseException, debug: bool) -> int:
    """Say what went wrong; return the exit code."""
    from ..base import InputError  # noqa: PLC0415 - numpy, which it imports, takes longer than all of --help

    if isinstance(error, BrokenPipeError):
        # What is still in the buffer goes nowhere, so that the exit does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if Interrupts.told and not isinstance(error, click.Abort | InterruptedRunError):
        error = click.Abort()  # which may be reported as another exception where it was raised within compiled code
    if debug and not isinstance(error, click.ClickException | click.Abort | InterruptedRunError):
        from ..base.printed import plain  # noqa: PLC0415 - likewise

        trace = getattr(error, "trace", "") or "".join(traceback.format_exception(error))
        click.echo("\n".join(map(plain, trace.splitlines())), err=True)
    if isinstance(error, click.Abort | InterruptedRunError):
        say("interrupted", error) if str(error) else click.echo("hpcdispatch: interrupted", err=True)
        return 1
    if isinstance(error, click.UsageError):
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # since click 8.2
            click.echo(error.format_message(), err=True)
            return 2
        command = error.ctx.command_path if error.ctx else "hpcdispatch"
        text = error.format_message().rstrip(".").replace("is not a valid integer range", "is not a whole number")
        if "unexpected extra argument" in text:
            text += "; a list has commas and a value no blanks, as in easy,fcfs and 15m"
        if isinstance(error, click.NoSuchOption) and command == "hpcdispatch":
            text += "; options stand after the command, as in hpcdispatch run --dispatcher easy"
        say("error", f"{text} (see {command} --help)")
        return 2
    if isinstance(error, click.ClickException):
        say("error", error.format_message())
        return 2
    if isinstance(error, InputError | OSError):
        say("error", os_error_line(error) if isinstance(error, OSError) else error)
        return 2
    text = str(error) if isinstance(error, RunFailedError) else f"{type(error).__name__}: {error}"
    say("error", text if debug else f"{text} (--debug shows the traceback)")
    return 1


@click.group(
    cls=Application,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "token_normalize_func": lambda name: SINGULAR.get(name, name),
    },
    epilog=examples(
        "hpcdispatch compare", "hpcdispatch run trace.swf.gz --dispatcher easy --predictor last2", "hpcdispatch list"
    )
    + "\n\nExit codes: 0; 1 a run failed or was interrupted; 2 usage or input.",
)
@click.version_option(version("hpcdispatch"), prog_name="hpcdispatch")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Job dispatching on HPC machines, simulated: which waiting job starts when and where."""
    # A library's notices, of which there is one: that it compiles.
    logger, handler = logging.getLogger("hpcdispatch"), Notices()
    logger.addHandler(handler)
    ctx.call_on_close(lambda: logger.removeHandler(handler))


cli.params.append(_debug())
