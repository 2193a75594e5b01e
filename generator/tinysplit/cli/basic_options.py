"""Options, checks and output of most commands. What it imports is imported fast, as each command has it."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand
from typing_extensions import override

from tinysplit.boards.board_files import use_folder_beside
from tinysplit.cli.option import option
from tinysplit.common.texts.console import PlainConsole
from tinysplit.settings.result_files import FORCE


class _Messages(PlainConsole):
    """Messages on stderr and in the log."""

    @override
    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*objects, **options)
        logging.getLogger(__name__).info(" ".join(map(str, objects)))


messages = _Messages(stderr=True)


def _with_boards_beside(model: Path) -> Path:
    """Let names of boards be those of files in `boards/` beside the model, too."""
    use_folder_beside(model.parent)
    return model


def _with_boards_beside_all(models: list[Path]) -> list[Path]:
    return [_with_boards_beside(model) for model in models]


Model = Annotated[Path, typer.Argument(help="Trained network, an ONNX or .tflite file.", callback=_with_boards_beside)]
Models = Annotated[
    list[Path], typer.Argument(help="Trained networks: ONNX or .tflite.", callback=_with_boards_beside_all)
]
Folder = Annotated[Path, typer.Argument(help="Folder written by `tinysplit generate`.")]
Force = Annotated[bool, option(FORCE)]
FrontPage = Annotated[
    Path | None,
    typer.Option("--html", help="Also write an HTML file with the points, over axes that its reader chooses."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON to stdout instead of tables.")]


CommandLineError: Any = typer.BadParameter.__mro__[1]  # click's UsageError, which typer has in itself


def check_not_empty(command: Any, ctx: Any, args: list[str]) -> None:  # noqa: ANN401 (click's command and context)
    """Raise click's error of a command line for an argument or a value of an option that is empty."""
    given, _, order = command.make_parser(ctx).parse_args(args=list(args))
    for parameter in order:
        value = given.get(parameter.name)
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            is_option = parameter.param_type_name == "option"
            name = parameter.opts[0] if is_option else f"argument {parameter.name.upper()}"
            raise CommandLineError(f"{name} is empty, but needs a value", ctx=ctx)


class CheckedCommand(TyperCommand):
    """A command that refuses empty values: paths would be the current folder, texts and names no choice."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        check_not_empty(self, ctx, args)
        return super().parse_args(ctx, args)


def emit(as_json: bool, data: dict[str, Any], show: Callable[[Console], None]) -> None:
    """Write a result to stdout: as JSON, or as `show` prints it."""
    if as_json:
        typer.echo(json.dumps(data, indent=2))
    else:
        show(PlainConsole())


def value_mistake(error: Exception) -> str | None:
    """Return what is wrong with the value of an option ("0 has to be at least 1"), None if its text says that."""
    if error.__cause__ is None:
        return None
    from pydantic import ValidationError

    from tinysplit.common.file_schema import wrong_value

    return wrong_value(error.__cause__) if isinstance(error.__cause__, ValidationError) else None


def is_configured(context: typer.Context, parameter: str) -> bool:
    """Whether the value of a command's parameter is that of the config file."""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "DEFAULT_MAP"
