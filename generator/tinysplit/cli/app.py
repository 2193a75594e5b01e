"""The command line: one command per stage, and `run` for all of them.

Results go to stdout (tables, or JSON with --json), messages and progress to stderr. Exit codes: 0 success, 1 a check
failed, 2 usage error, 3 unusable input file, 4 tool or hardware failure; of a signal 128 and its number (130 Ctrl-C).
"""

import ast
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typing_extensions import override

from tinysplit import __version__
from tinysplit.cli.config.command import (
    CheckedCommand,
    CommandLineError,
    ConfiguredCommand,
    PlainGroup,
    check_not_empty,
    value_mistake,
    without_checks_of_defaults,
)
from tinysplit.common import package_files
from tinysplit.common.choices import RENAMED
from tinysplit.common.errors import INTERRUPTED, TinysplitError, ToolError, UsageError

_log = logging.getLogger(__name__)

# Module of `cli` and function of each command, in the order of --help. They are imported when they run.
_COMMANDS = {
    "init": ("config.init", "init"),
    "boards": ("boards", "boards"),
    "example": ("example", "example"),
    "analyze": ("analyze", "analyze"),
    "operators": ("analyze", "operators"),
    "keep-state": ("states", "keep_state"),
    "wiring": ("wiring", "wiring"),
    "split": ("split", "split"),
    "pareto": ("split", "pareto"),
    "explore": ("explore", "explore"),
    "arrivals": ("split", "arrivals"),
    "quantize": ("quantize", "quantize"),
    "reproduce": ("reproduce", "reproduce"),
    "generate": ("run", "generate"),
    "build": ("build", "build"),
    "flash": ("bench.commands", "flash"),
    "update": ("bench.commands", "update"),
    "info": ("info", "info"),
    "library": ("build", "library"),
    "validate": ("quantize", "validate"),
    "measure": ("run", "measure"),
    "monitor": ("monitor", "monitor"),
    "compare": ("compare", "compare"),
    "report": ("compare", "report"),
    "virtual": ("virtual", "virtual"),
    "import-trace": ("compare", "import_trace"),
    "run": ("run", "run"),
    "calibrate": ("calibrate", "calibrate"),
    "bench": ("bench.commands", "bench"),
}

# Commands that take nothing from the config file, which is not read then.
_WITHOUT_CONFIG = {
    "boards",
    "build",
    "calibrate",  # its options have the names of keys and a meaning of their own
    "compare",
    "example",
    "import-trace",
    "info",
    "init",
    "keep-state",
    "library",
    "operators",
    "report",
    "reproduce",
    "virtual",
}

# What --help shows, by command.
_EXAMPLES = {
    "init": ("init",),
    "example": (
        "example",
        "example tiny_cnn -o tiny_cnn",
    ),
    "boards": (
        "boards",
        "boards nucleo_g071rb",
        "boards --core m4 --ram 128 --sort power",
        "boards --new stm32f411ret6",
    ),
    "analyze": ("analyze net.onnx --bits 16",),
    "operators": ("operators",),
    "keep-state": ("keep-state net.onnx h0=hn c0=cn -o streaming.onnx",),
    "wiring": (
        "wiring out",
        "wiring -b nucleo_g071rb -b nucleo_l452re --rig rig.toml",
    ),
    "split": (
        "split net.onnx -b nucleo_g071rb -b nucleo_l452re --baud 921600",
        "split net.onnx -b nucleo_g071rb -b nucleo_g071rb --objective throughput -o split.json",
    ),
    "pareto": ("pareto net.onnx -b nucleo_h743zi -b nucleo_l4r5zi --second-objective throughput",),
    "explore": (
        "explore net.onnx -b all --max-boards 2",
        "explore net.onnx -b nucleo_g071rb -b nucleo_l452re --objective energy --max-latency 0.1",
        "explore net.onnx -b nucleo_g071rb -b nucleo_g071rb --serve",
    ),
    "arrivals": ("arrivals net.onnx --split split.json --frame-rate 12 --timeline",),
    "quantize": ("quantize net.onnx -s samples.npz --bits 8 --statistics",),
    "reproduce": ("reproduce",),
    "generate": ("generate net.onnx --split split.json -s calibration.npz -o out",),
    "build": ("build out",),
    "flash": (
        "flash out --rig rig.toml",
        "flash out --rig rig.toml --dry-run",
    ),
    "update": ("update out --rig rig.toml",),
    "info": (
        "info out",
        "info /dev/ttyACM0",
    ),
    "library": ("library out -o library",),
    "validate": ("validate out -s samples.npz",),
    "measure": (
        "measure out -s samples.npz",
        "measure out -s samples.npz --rig rig.toml --save new.json",
    ),
    "compare": ("compare old.json new.json --threshold 1",),
    "report": ("report out -o report.html",),
    "monitor": ("monitor out --rig rig.toml",),
    "virtual": ("virtual out --tcp 5000",),
    "import-trace": ("import-trace out trace.vcd",),
    "run": (
        "run net.onnx -b nucleo_g071rb -b nucleo_g071rb -s samples.npz -o out",
        "run net.onnx -b nucleo_g071rb -b nucleo_l452re -s samples.npz -o out --rig rig.toml",
    ),
    "calibrate": ("calibrate -b nucleo_g071rb --rig rig.toml -o calibration.json",),
    "bench": ("bench discover -o rig.toml",),
    "bench discover": ("bench discover -o rig.toml",),
    "bench check": ("bench check --rig rig.toml -o rig.toml",),
    "bench report": ("bench report --rig virtual -b nucleo_g071rb -o report.json",),
    "bench reset": ("bench reset --rig rig.toml --board 1",),
    "bench udev": ("bench udev",),
}

# What --help shows of commands with more than eight options, by parameter; --help-all shows all.
_FIRST_OPTIONS = {
    "wiring": ("board", "rig", "baud", "link", "out", "folder", "as_json"),
    "split": ("board", "objective", "bits", "baud", "slices", "use_all", "explain", "out"),
    "pareto": ("board", "second_objective", "bits", "baud", "slices", "html", "as_json"),
    "explore": ("board", "max_boards", "objective", "max_latency", "bits", "html", "serve", "as_json"),
    "arrivals": ("split_file", "frame_rate", "arrival_times", "input_count", "loss_rate", "timeline", "as_json"),
    "quantize": ("samples", "bits", "max_accuracy_drop", "statistics", "board", "calibration_count", "as_json"),
    "generate": ("split_file", "samples", "out", "bits", "weights", "standalone", "host_protocol", "force"),
    "measure": ("samples", "rig", "sample_count", "pipelined", "timeline", "save", "junit", "as_json"),
    "virtual": ("tcp", "pty", "real_time", "debug", "erased", "out"),
    "run": ("board", "samples", "out", "rig", "objective", "bits", "baud", "slices"),
    "calibrate": ("board", "rig", "out", "bits", "only", "parts", "power"),
    "bench report": ("rig", "board", "out", "network", "samples", "threshold", "adopt"),
}


class _ImportedCommand(TyperCommand):
    """A command whose module is imported when it runs, or prints its own help; the list of commands has its help."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=_help_of(*_COMMANDS[name]))

    @override
    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return imported_command(str(self.name)).make_context(*arguments, **options)


def imported_command(name: str) -> Any:  # noqa: ANN401 (click's command)
    """Return a command with its options: this imports its module."""
    module, function = _COMMANDS[name]
    target = getattr(import_module(f"tinysplit.cli.{module}"), function)
    if not isinstance(target, typer.Typer):
        function = target
        target = typer.Typer(add_completion=False, rich_markup_mode=None)
        target.command(name, cls=CheckedCommand if name in _WITHOUT_CONFIG else ConfiguredCommand)(function)
    command = typer.main.get_command(target)
    command.name = name
    parts = {f"{name} {part}": each for part, each in getattr(command, "commands", {}).items()}
    for full_name, each in {name: command, **parts}.items():
        each.epilog = "\n\n".join(f"Example: tinysplit {example}" for example in _EXAMPLES[full_name])
        each.first_options = _FIRST_OPTIONS.get(full_name, ())
    return command


def _help_of(module: str, function: str) -> str:
    """Return the help of a command without importing its module: the docstring, or that of its group of commands."""
    path = Path(__file__).parent / f"{module.replace('.', '/')}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) if name == function:
                return ast.get_docstring(node) or ""
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(keywords=keywords)) if name == function:
                return next(str(ast.literal_eval(each.value)) for each in keywords if each.arg == "help")
    raise KeyError(function)


class _Commands(Mapping[str, Any]):
    """The commands of click by their names, each made when it is asked for."""

    @override
    def __getitem__(self, name: str) -> _ImportedCommand:
        return _ImportedCommand(name)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    @override
    def __len__(self) -> int:
        return len(_COMMANDS)


class _ErrorsAsLines(PlainGroup):
    """Prints every TinysplitError and every mistake in the arguments as one line on stderr, and ends with its code."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 (typer's own signature)
        super().__init__(**attributes)
        self.commands: Any = _Commands()

    @override
    def make_context(self, info_name: str | None, args: list[str], *others: Any, **options: Any) -> Any:
        _replace_what_stdout_lacks()
        has_arguments = bool(args)  # without any the help is shown
        try:
            return super().make_context(info_name, args, *others, **options)
        except CommandLineError as error:
            if not has_arguments:
                raise
            raise _usage(error) from None
        except BrokenPipeError:
            raise  # typer ends quietly when the reader has closed the pipe
        except OSError as error:  # of --help
            raise _system_error(error) from None

    @override
    def get_params(self, ctx: Any) -> list[Any]:
        return without_checks_of_defaults(super().get_params(ctx))

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        check_not_empty(self, ctx, args)
        return super().parse_args(ctx, args)

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandLineError as error:
            raise _usage(error) from None
        except TinysplitError as error:
            _print_error(str(error))
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:
            raise  # typer ends quietly when the reader has closed the pipe
        except OSError as error:  # a full disk, a read-only folder, a program that cannot be started
            raise _system_error(error) from None
        except KeyboardInterrupt:
            from tinysplit.cli.basic_options import messages

            messages.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None


def _usage(error: Any) -> typer.Exit:  # noqa: ANN401 (click's exception, see CommandLineError)
    wrong = value_mistake(error)
    text = f"{error.param.opts[0]} {wrong}" if wrong else error.format_message().replace("Value error, ", "")
    if renamed := RENAMED.get(getattr(error, "option_name", "").lstrip("-")):
        text = f"{error.option_name} is now --{renamed}"
    command = error.ctx.command_path if error.ctx else "tinysplit"
    text = " ".join(text.split()).rstrip(".")
    _print_error(f"{text[0].lower()}{text[1:]}{'' if text.endswith('?') else ':'} see `{command} --help`")
    return typer.Exit(UsageError.exit_code)


def _replace_what_stdout_lacks() -> None:
    """Let a terminal of another encoding show ? for characters that it lacks, such as those of bars."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _system_error(error: OSError) -> typer.Exit:
    _print_error(f"{error.filename or 'the output'}: {error.strerror or error}")
    _drop_unwritten_output()
    return typer.Exit(ToolError.exit_code)


def _drop_unwritten_output() -> None:
    """Discard what stdout still buffers if it cannot be written: Python would end with exit code 120 otherwise."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(text: str) -> None:
    from tinysplit.cli.basic_options import messages

    _log.debug("where the error comes from:", exc_info=True)
    messages.print(f"error: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tinysplit {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_ErrorsAsLines,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # of all commands
    help="Split a trained CNN over several STM32 boards, generate and build their firmware, and measure it.",
    epilog=f"Documentation: {package_files.docs()}",
)


@app.callback()
def _options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    _config: Annotated[
        bool, typer.Option("--config/--no-config", help="Take options from tinysplit.toml, where there is one.")
    ] = True,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Print on stderr the programs that are started, and where an error comes from."),
    ] = False,
    log: Annotated[
        Path | None, typer.Option("--log", help="File to append all messages to, and what --verbose prints.")
    ] = None,
) -> None:
    from tinysplit.common.log import logged

    context.with_resource(logged(log, is_verbose=verbose))
