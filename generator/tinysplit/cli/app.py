"""The command line: one command per stage, and `run` for all of them.

Results go to stdout (tables, or JSON with --json), messages and progress to stderr. Exit codes: 0 success, 1 a check
failed, 2 usage error, 3 unusable input file, 4 tool or hardware failure, 130 interrupted.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tinysplit.cli.basic_options import messages
from tinysplit.common.errors import INTERRUPTED, TinysplitError, ToolError, UsageError

# Module of `cli` and function of each command, in the order of --help. They are imported when they are used.
_COMMANDS = {
    "boards": ("boards", "boards"),
    "analyze": ("analyze", "analyze"),
    "wiring": ("wiring", "wiring"),
    "split": ("split", "split"),
    "pareto": ("split", "pareto"),
    "explore": ("explore", "explore"),
    "arrivals": ("split", "arrivals"),
    "quantize": ("quantize", "quantize"),
    "reproduce": ("reproduce", "reproduce"),
    "generate": ("run", "generate"),
    "build": ("build", "build"),
    "flash": ("bench", "flash"),
    "info": ("info", "info"),
    "library": ("library", "library"),
    "measure": ("run", "measure"),
    "compare": ("compare", "compare"),
    "virtual": ("virtual", "virtual"),
    "import-trace": ("trace", "import_trace"),
    "run": ("run", "run"),
    "calibrate": ("calibrate", "calibrate"),
    "bench": ("bench", "bench"),
}

_CommandLineError: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, which typer has in itself


class _Commands(Mapping[str, Any]):
    """The commands of click by their names, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 (click's command)
        module, function = _COMMANDS[name]
        target = getattr(import_module(f"tinysplit.cli.{module}"), function)
        if not isinstance(target, typer.Typer):
            function, target = target, typer.Typer(add_completion=False)
            target.command(name)(function)
        command = typer.main.get_command(target)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _ErrorsAsLines(TyperGroup):
    """Prints every TinysplitError and every mistake in the arguments as one line on stderr, and ends with its code."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 (typer's own signature)
        super().__init__(**attributes)
        self.commands: Any = _Commands()

    def make_context(self, info_name: str | None, args: list[str], *others: Any, **options: Any) -> Any:  # noqa: ANN401
        """See click: reads the options before the command."""
        has_arguments = bool(args)  # without any the help is shown
        try:
            return super().make_context(info_name, args, *others, **options)
        except _CommandLineError as error:
            if not has_arguments:
                raise
            raise _usage(error) from None

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 (typer's own signature)
        """See click: reads the arguments of the command and runs it."""
        try:
            return super().invoke(ctx)
        except _CommandLineError as error:
            raise _usage(error) from None
        except TinysplitError as error:
            _print_error(str(error))
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:
            raise  # typer ends quietly when the reader has closed the pipe
        except OSError as error:  # a full disk, a read-only folder, a program that cannot be started
            _print_error(f"{error.filename or 'the output'}: {error.strerror or error}")
            _drop_unwritten_output()
            raise typer.Exit(ToolError.exit_code) from None
        except KeyboardInterrupt:
            messages.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None


def _usage(error: Any) -> typer.Exit:  # noqa: ANN401 (click's exception, see _CommandLineError)
    text = error.format_message().replace("Value error, ", "").rstrip(".")
    command = error.ctx.command_path if error.ctx else "tinysplit"
    _print_error(f"{text[0].lower()}{text[1:]}{'' if text.endswith('?') else ':'} see `{command} --help`")
    return typer.Exit(UsageError.exit_code)


def _drop_unwritten_output() -> None:
    """Discard what stdout still buffers if it cannot be written: Python would end with exit code 120 otherwise."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(text: str) -> None:
    messages.print(f"error: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tinysplit {version('tinysplit')}")
        raise typer.Exit


app = typer.Typer(
    cls=_ErrorsAsLines,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Split a trained CNN over several STM32 boards, generate and build their firmware, and measure it.",
)


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
