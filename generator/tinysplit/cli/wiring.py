"""`tinysplit wiring`: what to connect, and a test of the links between boards that finds their baud rates."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tinysplit.boards.board import ClockSource
from tinysplit.boards.catalog import load_all
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.boards.link_rates import RATES
from tinysplit.cli import completion
from tinysplit.cli.basic_options import Force, Json, emit, is_configured, messages
from tinysplit.cli.option import option
from tinysplit.cli.options import AUTO_BAUD, WIRING_PATH, WIRING_TEST, Clock, ProgrammerOption, Rig, parse_baud
from tinysplit.cli.search_options import LinkDriverOption, LinkOption
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import UsageError
from tinysplit.common.folder_lock import locked_folder
from tinysplit.common.output_file import check_output_file
from tinysplit.costs.link_options import LinkSettings, parse_links
from tinysplit.project.channels import marker_lines
from tinysplit.project.manifest import Project
from tinysplit.project.wiring_file import write_wiring
from tinysplit.project.wiring_picture import picture_of, wiring_lines
from tinysplit.settings.boards_and_links import BAUD, BOARD, LINK
from tinysplit.settings.result_files import OUT
from tinysplit_hil.bench.wiring import WiringRequest, run_wiring_test
from tinysplit_hil.bench.wiring_report import print_wiring

TestBytes = Annotated[
    int | None,
    typer.Option(
        help="Bytes that have to cross each link without an error, in both directions at once; by default 16384 on "
        "virtual boards, whose lines have no noise, and 262144 on real ones.",
        min=1,
    ),
]


def wiring(
    context: typer.Context,
    folder_of_project: Annotated[
        Path | None,
        typer.Argument(metavar="[OUT]", help="A generated folder: print what to connect, test nothing."),
    ] = None,
    board: Annotated[
        list[str] | None,
        typer.Option(
            "--board",
            "-b",
            help="A board of the test; repeat the option in the order of the project.",
            autocompletion=completion.boards,
        ),
    ] = None,
    baud: Annotated[
        str, typer.Option(help="auto: find the highest baud rate of each link. A number: test this rate only.")
    ] = AUTO_BAUD,
    link: LinkOption = None,
    link_driver: LinkDriverOption = None,
    clock: Clock = ClockSource.HSI,
    rig: Rig = VIRTUAL,
    programmer: ProgrammerOption = ProgrammerName.OPENOCD,
    test_bytes: TestBytes = None,
    out: Annotated[Path, option(OUT, f"Wiring file to write, for {BAUD('auto')}.")] = WIRING_PATH,
    folder: Annotated[Path, typer.Option(help="Folder for the programs of the test.")] = WIRING_TEST,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Test the links between boards and find their highest baud rates. With OUT, print what to connect."""
    if folder_of_project:
        if board and not is_configured(context, "board"):
            raise UsageError(f"a folder prints what to connect, {BOARD} tests it: give one of both")
        _print_picture(Project.read(folder_of_project), as_json)
        return
    check_output_file(out, force=force)
    request = wiring_request(board or (), link, baud, link_driver, clock, test_bytes)
    with locked_folder(folder):
        file = run_wiring_test(request, rig, folder, messages, programmer, force=force)
    write_wiring(out, file)
    emit(as_json, file.model_dump(mode="json"), lambda console: print_wiring(file, console))


def _print_picture(project: Project, as_json: bool) -> None:
    pictures = [asdict(picture_of(project, link)) for link in project.links]

    def show(console: Console) -> None:
        for line in (*wiring_lines(project), *marker_lines(project)):
            console.print(line, highlight=False, markup=False, soft_wrap=True)

    emit(as_json, {"links": pictures, "markers": marker_lines(project)}, show)


def wiring_request(
    names: Sequence[str],
    links: Sequence[str] | None,
    baud: str,
    driver: LinkDriver | None,
    clock: ClockSource,
    test_bytes: int | None = None,
) -> WiringRequest:
    """Return what is to be tested. Raises UsageError for a value that makes no sense."""
    if len(names) < 2:  # noqa: PLR2004 (a link has two ends)
        raise UsageError(f"a wiring test needs at least two boards: repeat {BOARD}, or name a generated folder")
    is_auto = baud == AUTO_BAUD
    named = parse_links(links or (), len(names))
    if any(link.half_duplex for link in named):
        raise UsageError(f"{LINK}: the wiring test sends in both directions at once: leave out :half")
    settings = LinkSettings(RATES[-1] if is_auto else parse_baud(baud), named, driver)
    boards = tuple(board.with_clock(clock) for board in load_all(names))
    return WiringRequest(boards, settings, is_auto, test_bytes)
