"""Options, checks and output of most commands. What it imports is imported fast, as each command has it."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typing_extensions import override

from tinysplit.boards.board_files import use_folder_beside
from tinysplit.cli import completion
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


Model = Annotated[
    Path,
    typer.Argument(
        help="Trained network, an ONNX or .tflite file.",
        autocompletion=completion.networks,
        callback=_with_boards_beside,
    ),
]
Models = Annotated[
    list[Path],
    typer.Argument(
        help="Trained networks: ONNX or .tflite.", autocompletion=completion.networks, callback=_with_boards_beside_all
    ),
]
Folder = Annotated[Path, typer.Argument(help="Folder written by `tinysplit generate`.")]
Force = Annotated[bool, option(FORCE)]
FrontPage = Annotated[
    Path | None,
    typer.Option("--html", help="Also write an HTML file with the points, over axes that its reader chooses."),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Also print why: all parts and figures, and how they come about.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON to stdout instead of tables.")]


def emit(as_json: bool, data: dict[str, Any], show: Callable[[Console], None]) -> None:
    """Write a result to stdout: as JSON, or as `show` prints it."""
    if as_json:
        typer.echo(json.dumps(data, indent=2))
    else:
        show(PlainConsole())


def wrote(*paths: Path | None, what: str = "") -> None:
    """Say on stderr which files were written; `what` is what to do with them."""
    if names := ", ".join(str(path) for path in paths if path):
        messages.print(f"wrote {names}{what}", highlight=False, markup=False, soft_wrap=True)


def is_configured(context: typer.Context, parameter: str) -> bool:
    """Whether the value of a command's parameter is that of the config file."""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "DEFAULT_MAP"
