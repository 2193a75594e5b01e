"""The command line: one command per stage, and `run` for all of them.

Results go to stdout (tables, or JSON with --json), messages and progress to stderr. Exit codes: 0 success, 1 a check
failed, 2 usage error, 3 unusable input file, 4 tool or hardware failure, 130 interrupted.
"""

import os
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tinysplit.boards.catalog import boards_to_json, load_boards, print_boards
from tinysplit.cli.bench import bench, flash
from tinysplit.cli.calibrate import calibrate
from tinysplit.cli.compare import compare
from tinysplit.cli.explore import explore
from tinysplit.cli.info import info
from tinysplit.cli.library import library
from tinysplit.cli.options import Bits, Json, Model, check_bits, emit, messages
from tinysplit.cli.quantize import quantize
from tinysplit.cli.run import build, generate, measure, run
from tinysplit.cli.split import arrivals, pareto, split
from tinysplit.cli.trace import import_trace
from tinysplit.cli.virtual import virtual
from tinysplit.cli.wiring import wiring
from tinysplit.common.errors import INTERRUPTED, TinysplitError, ToolError, UsageError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.network.analyze import analyze as analyze_graph
from tinysplit.network.analyze import print_analysis
from tinysplit.onnx_import import import_model
from tinysplit.reproduce.report import print_reproduction
from tinysplit.reproduce.tables import reproduce as reproduce_tables

_CommandLineError: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, which typer has in itself


class _ErrorsAsLines(TyperGroup):
    """Prints every TinysplitError and every mistake in the arguments as one line on stderr, and ends with its code."""

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


@app.command()
def boards(as_json: Json = False) -> None:
    """List the supported boards with core, clock, memories, power and UARTs."""
    known = load_boards()
    emit(as_json, {"boards": boards_to_json(known)}, lambda console: print_boards(known, console))


@app.command()
def analyze(model: Model, bits: Bits = CostSettings.bits, as_json: Json = False) -> None:
    """Show the layers of a network: shapes, MACs, and memory for weights and activations in float32 and fixed point."""
    analysis = analyze_graph(import_model(model), check_bits(bits))
    emit(as_json, analysis.to_json(), lambda console: print_analysis(analysis, console))


app.command()(wiring)
app.command()(split)
app.command()(pareto)
app.command()(explore)
app.command()(arrivals)
app.command()(quantize)


@app.command()
def reproduce(as_json: Json = False) -> None:
    """Compute the tables and figures of three publications and compare them with the published values."""
    reproduction = reproduce_tables()
    emit(as_json, reproduction.to_json(), lambda console: print_reproduction(reproduction, console))
    reproduction.check()


app.command()(generate)
app.command()(build)
app.command()(flash)
app.command()(info)
app.command()(library)
app.command()(measure)
app.command()(compare)
app.command()(virtual)
app.command("import-trace")(import_trace)
app.command()(run)
app.command()(calibrate)
app.add_typer(bench, name="bench")
