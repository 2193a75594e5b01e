"""Options and output of most commands. This module imports no stage, so that a command starts fast."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

messages = Console(stderr=True)

Model = Annotated[Path, typer.Argument(help="Trained network, an ONNX file.")]
Folder = Annotated[Path, typer.Argument(help="Folder written by `tinysplit generate`.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Overwrite files that tinysplit did not write, and generated folders with what was changed in them.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON to stdout instead of tables.")]


def emit(as_json: bool, data: dict[str, Any], show: Callable[[Console], None]) -> None:
    """Write a result to stdout: as JSON, or as `show` prints it."""
    if as_json:
        typer.echo(json.dumps(data, indent=2))
    else:
        show(Console())
