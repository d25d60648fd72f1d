"""The program: its commands, imported on demand, and its exit codes."""

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click
from click.shell_completion import CompletionItem

from ..base.errors import InputError
from ..base.printed import MOST_OF_MESSAGE, near_name, plain
from .command_errors import InterruptedRunError, RunFailedError, os_error_line, say
from .completion import ASKED
from .interrupts import Interrupts, raise_interrupts, settle
from .own_parts import parts_option
from .parameters import gathering, parameters

#: Options that may be in the plural as well.
SINGULAR = {"dispatchers": "dispatcher", "predictors": "predictor", "seeds": "seed"}

COMMANDS = {
    "run": ("run", "Simulate one dispatcher on a workload and print its metrics."),
    "compare": ("compare", "Compare dispatchers and predictors on a workload."),
    "campaign": ("campaign", "Run every combination in a file, and keep the finished ones."),
    "benchmark": ("benchmark", "Run a dispatcher on fixed jobs, for a table with others."),
    "evict": ("evict", "Decide which running jobs to evict for an on-demand job."),
    "partition": ("partition_size", "Choose the number of processors and the walltime of a job."),
    "predict": ("predict", "Judge predictors of run times, and their effect on waits."),
    "report": ("report", "Write a page about saved results: tables, figures and their data."),
    "reproduce": ("reproduce", "Reproduce the tables and figures of papers."),
    "sequence": ("sequence", "Choose the walltimes to request for jobs with stochastic run times."),
    "what-if": ("what_if_command", "Replay the recorded jobs of a Slurm site under a changed scheduler."),
    "slurm": ("slurm_commands", "Read a running Slurm: its state, forecasts of starts, eviction."),
    "workload": ("workload_commands", "Describe, convert and generate workloads."),
    "compile": ("compile_ahead", "Compile in advance what a first simulation needs."),
    "list": ("list_parts", "List dispatchers, predictors and workloads with their options."),
    "completion": ("completion_script", "Print the script by which a shell completes what you type."),
}


def examples(*lines: str) -> str:
    """Return example commands as a block that click does not wrap."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


class Notices(logging.Handler):
    """Writes notices to stderr, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        click.echo(plain(record.getMessage(), MOST_OF_MESSAGE), err=True)


def documentation() -> str | None:
    """Return the address of the documentation, or its first page in a clone; ``None`` if neither is known."""
    for line in metadata("hpcdispatch").get_all("Project-URL") or ():
        name, _, address = str(line).partition(", ")
        if name == "Documentation":
            return address
    page = Path(__file__).parents[1] / "docs" / "index.md"
    return str(page) if page.exists() else None


@dataclass(slots=True)
class CallSettings:
    """The options of the whole call."""

    debug: bool = False
    json: bool = False
    seconds: bool = False


def settings() -> CallSettings:
    """Return the options of the running call."""
    context = click.get_current_context(silent=True)
    return (context and context.find_object(CallSettings)) or CallSettings()


def _flag(name: str, help: str) -> click.Option:
    """Return an option that sets a flag of the settings."""

    def keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            setattr(ctx.ensure_object(CallSettings), name, True)

    return click.Option([f"--{name}"], is_flag=True, expose_value=False, callback=keep, help=help)


def _debug() -> click.Option:
    return _flag("debug", "Show the traceback of an error.")


#: The option group of every command.
OUTPUT = "Output"
#: An option group of many commands. The help of EXPLAINED_BY explains it, the others list its names.
READING = "Reading the trace"
EXPLAINED_BY = "workload describe"


class Command(click.Command):
    """A command with groups of options in its help. Each has ``--json``, ``--seconds``, ``--parts`` and ``--debug``."""

    def __init__(
        self, name: str | None, callback: Callable[..., None], params: Sequence[click.Parameter], **attributes: Any
    ) -> None:
        more = _flag("json", "Print one JSON object, and nothing else."), _flag("seconds", "Print times in seconds.")
        declared = [*parameters(callback), *params, *more, parts_option(), _debug()]
        super().__init__(name, callback=gathering(callback), params=declared, **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. From now on an interrupt ends it with its finished results."""
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
    """A group of commands."""

    command_class = Command


def subcommand(name: str, *lines: str, **attributes: Any) -> Callable[[Callable[..., None]], Command]:
    """Return a decorator that makes a function a command, with example lines at the end of its help."""
    return click.command(name, cls=Command, epilog=examples(*lines), **attributes)


class TopLevelGroup(click.Group):
    """The top-level group. It finds commands by their module, and ends every error with one line."""

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
        """Find the command, or list the known ones."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            hint = near_name(args[0], COMMANDS, "did you mean {}?") or f"expected one of {', '.join(COMMANDS)}"
            ctx.fail(f"No such command {args[0][:60]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, the exit codes, and where the documentation is."""
        super().format_epilog(ctx, formatter)
        where = documentation()
        if where is not None:
            formatter.write_paragraph()
            formatter.write(f"  Documentation: {where}\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Propose commands without importing them, or options."""
        named = [CompletionItem(name, help=told) for name, (_, told) in COMMANDS.items() if name.startswith(incomplete)]
        return named or super().shell_complete(ctx, incomplete)

    def main(self, args: Sequence[str] | None = None, *_: Any, **more: Any) -> NoReturn:
        """Run, and end with exit code 0, 1 (the run failed or was interrupted) or 2 (usage or input)."""
        if ASKED in os.environ:  # a shell asks for proposals, and click ends the program after them
            super().main(args, prog_name="hpcdispatch", complete_var=ASKED)
        kept = CallSettings()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warned
                code = super().main(args, **{"obj": kept, **more, "prog_name": "hpcdispatch", "standalone_mode": False})
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):  # click ends so when the reader of the output is gone
                raise
            code = _end(RunFailedError(f"a part ended the program (sys.exit({error.code!r}))"), kept.debug)
        except BaseException as error:  # noqa: BLE001 - the end of the program: everything becomes one line and a code
            code = _end(error, kept.debug)
        sys.exit(code if isinstance(code, int) else 0)


_show = warnings.showwarning


def _warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning of the library as one line: the place in the code tells a user of the program nothing."""
    if category.__module__.partition(".")[0] == __name__.partition(".")[0]:
        say("warning", message)
    else:
        _show(message, category, filename, lineno, file, line)


#: Options that left, by command, and what to use.
_LEFT_OPTIONS = {
    ("hpcdispatch sequence", "--memory"): "request the memory with sbatch --mem",
    ("hpcdispatch slurm evict", "--yes"): "the command prints what to run and changes nothing",
}


def _end(error: BaseException, debug: bool) -> int:
    """Print the error and return the exit code."""
    if isinstance(error, BrokenPipeError):
        # The rest of the buffer is discarded, so that the exit prints no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if Interrupts.told or isinstance(error, KeyboardInterrupt):
        settle(error)
        if not isinstance(error, click.Abort | InterruptedRunError):
            error = click.Abort()  # compiled code may report the interrupt as another exception
    if debug and not isinstance(error, click.ClickException | click.Abort | InterruptedRunError):
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
        if isinstance(error, click.NoSuchOption) and (command, error.option_name) in _LEFT_OPTIONS:
            text = f"{error.option_name} was removed in 0.2; {_LEFT_OPTIONS[command, error.option_name]}"
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
    cls=TopLevelGroup,
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
    """Simulate the job dispatcher of an HPC machine: when and where each waiting job starts."""
    # The library has one notice: that it compiles.
    logger = logging.getLogger("hpcdispatch")
    handler = Notices()
    logger.addHandler(handler)
    ctx.call_on_close(lambda: logger.removeHandler(handler))


cli.params.append(_debug())
