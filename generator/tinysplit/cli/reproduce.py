"""`tinysplit reproduce`: published tables and figures, computed again."""

from pathlib import Path
from typing import Annotated

import typer

from tinysplit.cli.basic_options import Force, Json, emit, messages
from tinysplit.common.errors import UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.progress import late_step
from tinysplit.papers.plots.page import figures_page
from tinysplit.papers.reproduce.reproduction_tables import print_reproduction
from tinysplit.papers.reproduce.tables import Platform
from tinysplit.papers.reproduce.tables import reproduce as reproduce_tables


def reproduce(
    platform: Annotated[
        Platform | None,
        typer.Option(help="Only the models of messages, layers and memory with the constants of this platform."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Also draw Figures 2 and 3 of Santamaria 2021, 4 and 5 of Mukherjee 2022."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compute the tables and figures of four publications and compare them with the published values."""
    if html and platform:
        raise UsageError(f"--html draws figures of other publications than {platform}: leave out --platform")
    check_output_file(html, force=force)
    with late_step(messages, "computing the tables"):
        reproduction = reproduce_tables(platform)
    emit(as_json, reproduction.to_json(), lambda console: print_reproduction(reproduction, console))
    if html:
        write_whole_file(html, figures_page(reproduction))
    reproduction.check()
