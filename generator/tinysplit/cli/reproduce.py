"""`tinysplit reproduce`: published tables and figures, computed again."""

from typing import Annotated

import typer

from tinysplit.cli.basic_options import Json, emit, messages
from tinysplit.common.progress import late_step
from tinysplit.reproduce.report import print_reproduction
from tinysplit.reproduce.tables import Platform
from tinysplit.reproduce.tables import reproduce as reproduce_tables


def reproduce(
    platform: Annotated[
        Platform | None,
        typer.Option(help="Only the models of messages, layers and memory with the constants of this platform."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the tables and figures of four publications and compare them with the published values."""
    with late_step(messages, "computing the tables"):
        reproduction = reproduce_tables(platform)
    emit(as_json, reproduction.to_json(), lambda console: print_reproduction(reproduction, console))
    reproduction.check()
