"""`tinysplit import-trace`: times of layers and transfers as a logic analyser has seen them."""

from pathlib import Path
from typing import Annotated

import typer

from tinysplit.cli.basic_options import Folder, Json, emit
from tinysplit.project.channels import parse_channels
from tinysplit.project.manifest import Project
from tinysplit_hil.trace.files import read_trace
from tinysplit_hil.trace.report import print_trace
from tinysplit_hil.trace.times import times_of


def import_trace(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="VCD or CSV file of sigrok (PulseView, sigrok-cli).")],
    channel: Annotated[
        list[str] | None,
        typer.Option(
            help="Channel of a marker, if its name in the file is another one: board1_layer=D0. Repeat for several."
        ),
    ] = None,
    sample_rate: Annotated[
        float | None, typer.Option(help="Samples per second of a CSV file that does not tell it.", min=1)
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the times of layers and transfers in the trace of a logic analyser at the markers of the boards."""
    project = Project.read(folder)
    names = parse_channels(project, channel or [])
    report = times_of(project, read_trace(file, sample_rate), names)
    emit(as_json, report.to_json(), lambda console: print_trace(report, console))
