"""`tinysplit bench report`: how true the virtual boards are to boards that somebody has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from tinysplit import __version__
from tinysplit.boards.board import ClockSource
from tinysplit.boards.catalog import load_all, load_board
from tinysplit.cli import completion
from tinysplit.cli.basic_options import Force, Json, emit, messages
from tinysplit.cli.option import option
from tinysplit.cli.options import BoardsOfRig, Clock, ProgrammerOption
from tinysplit.common import package_files
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.folder_lock import locked_folder
from tinysplit.common.output_file import check_output_file
from tinysplit.common.output_folder import check_output_folder
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.samples import load_samples
from tinysplit.run import RunRequest, run
from tinysplit.settings.boards_and_links import BOARD
from tinysplit.settings.measurement import RIG, TIMING
from tinysplit.settings.result_files import OUT
from tinysplit.settings.samples import SAMPLES
from tinysplit_hil.bench.flash import NOTHING_TO_FLASH
from tinysplit_hil.board_report.file import (
    BoardResult,
    LayerCycles,
    NetworkCycles,
    ReportFile,
    read_report,
    write_report,
)
from tinysplit_hil.board_report.report import ReportSettings, make_report
from tinysplit_hil.board_report.tables import DEFAULT_THRESHOLD_PERCENT, check_report, print_report
from tinysplit_hil.board_report.timing_file import adopt as adopt_report
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.rig.rig_file import names_in, read_rig_file, rig_text_of

FOLDER = Path("board_report")
_SAMPLE_COUNT = 3  # whose layers take the same cycles, but for interrupts
_EXAMPLES = package_files.examples()
_NETWORKS = (
    (_EXAMPLES / "tiny_cnn" / "tiny_cnn.onnx", _EXAMPLES / "tiny_cnn" / "samples.npz"),
    (_EXAMPLES / "keyword_spotting" / "keywords.onnx", _EXAMPLES / "keyword_spotting" / "calibration.npz"),
)
_TIMING = "Timing file with the rules that virtual boards have in the comparison; by default the shipped ones."


def report(
    rig: Annotated[
        str | None,
        typer.Option(
            "--rig",
            help="TOML file with the boards (`bench discover`), or `virtual` with --board.",
            autocompletion=completion.rigs,
        ),
    ] = None,
    board: BoardsOfRig = None,
    out: Annotated[Path | None, option(OUT, "Report to write; with --adopt the timing file.")] = None,
    adopt: Annotated[
        Path | None,
        typer.Option(
            "--adopt", metavar="REPORT", help="Measure nothing, and write a timing file from this report of one part."
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(help="Percent by which cycles of a virtual board may differ; more ends with exit code 1.", min=0),
    ] = DEFAULT_THRESHOLD_PERCENT,
    timing: Annotated[Path | None, option(TIMING, _TIMING)] = None,
    programmer: ProgrammerOption = ProgrammerName.OPENOCD,
    clock: Clock = ClockSource.HSI,
    network: Annotated[
        Path | None,
        typer.Option(help="ONNX file of a network to measure beside those of the examples, layer by layer."),
    ] = None,
    samples: Annotated[Path | None, option(SAMPLES, "Samples of this network.")] = None,
    folder: Annotated[Path, typer.Option(help="Folder for the programs of the boards.")] = FOLDER,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure pieces of code on boards, and say which rules of virtual boards are confirmed. Flashes a program.

    Needs no wires but those of the host ports.
    """
    check_output_file(out, force=force)
    if adopt:
        _adopt(adopt, out, board or [], rig, as_json=as_json)
        return
    if (network is None) != (samples is None):
        raise UsageError(f"--network and {SAMPLES} belong together: give both, or none")
    boards = tuple(each.with_clock(clock) for each in load_all(_names(rig, board)))
    settings = ReportSettings(str(rig), programmer, timing)
    networks = [*_NETWORKS, *([(network, samples)] if network and samples else [])]
    for model, inputs in networks:
        names = [each.name for each in boards]
        context = Context.load(model, names, CostSettings(), Console(quiet=True), clock)
        load_samples(inputs, context.graph)
        for number in range(1, len(boards) + 1):
            check_output_folder(_folder_of(folder, number, model), force=force)
    with locked_folder(folder):
        made = make_report(boards, folder, settings, messages, force=force)
    made = _with_networks(made, networks, settings, clock, folder, force=force)
    emit(as_json, made.model_dump(mode="json"), lambda console: print_report(made, console))
    if out:
        write_report(out, made)
        messages.print(f"wrote {out}", highlight=False, markup=False, soft_wrap=True)
    check_report(made, threshold)


def _with_networks(
    made: ReportFile,
    networks: Sequence[tuple[Path, Path]],
    settings: ReportSettings,
    clock: ClockSource,
    folder: Path,
    *,
    force: bool,
) -> ReportFile:
    """Return a report with the cycles of networks; boards that cannot be flashed, or have no room, do without."""
    if settings.rig != VIRTUAL and read_rig_file(Path(settings.rig)).runs_without_flashing:
        why_not = dict.fromkeys((model.stem for model, _ in networks), NOTHING_TO_FLASH)
        return made.model_copy(update={"boards": tuple(_without(board, why_not) for board in made.boards)})
    from tinysplit_hil.board_report.virtual_values import timing_of  # (requires Unicorn)

    boards = []
    for number, board in enumerate(made.boards, 1):
        with TemporaryDirectory() as temporary:
            rig = settings.rig
            if rig != VIRTUAL:
                alone = Path(temporary) / "rig.toml"
                alone.write_text(rig_text_of(Path(rig), number), encoding="utf-8")
                rig = str(alone)
            own = replace(settings, rig=rig, timing=timing_of(board.part, settings.timing))
            measured, why_not = [], {}
            for model, samples in networks:
                out = _folder_of(folder, number, model)
                try:
                    measured.append(_network(board.name, model, samples, own, clock, out, force=force))
                except CheckFailedError as error:
                    why_not[model.stem] = error.message
        boards.append(_without(board, why_not).model_copy(update={"networks": tuple(measured)}))
    return made.model_copy(update={"boards": tuple(boards)})


def _folder_of(folder: Path, number: int, model: Path) -> Path:
    """Return the folder of the program with a network for a board, beside that of the report's program."""
    return folder.with_name(f"{folder.name}_{number}_{model.stem}")


def _without(board: BoardResult, why_not: Mapping[str, str]) -> BoardResult:
    """Return a result that says what was left out in addition, with the reasons."""
    return board.model_copy(update={"left_out": {**board.left_out, **why_not}})


def _network(
    board: str, model: Path, samples: Path, settings: ReportSettings, clock: ClockSource, out: Path, *, force: bool
) -> NetworkCycles:
    """Return the cycles of a network on one board, which is flashed with it, and on its virtual board."""
    measuring = MeasureSettings(rig=settings.rig, sample_count=_SAMPLE_COUNT)
    request = RunRequest(
        model=model,
        boards=(board,),
        samples=samples,
        out=out,
        settings=CostSettings(),
        clock=clock,
        measuring=measuring,
        programmer=settings.programmer,
        force=force,
    )
    measured = run(request, messages).measurement
    virtual = measured
    if settings.rig != VIRTUAL or settings.timing:
        there = replace(measuring, rig=VIRTUAL, timing=settings.timing)
        virtual = measure_folder(measured.project, out, samples, there, messages)
    pairs = zip(measured.measurement.layers, virtual.measurement.layers, strict=True)
    return NetworkCycles(
        name=measured.project.model.name,
        sha256=measured.project.model.sha256,
        layers=tuple(
            LayerCycles(
                number=here.layer.number,
                name=here.layer.name,
                measured=round(here.cycles.median),
                virtual=round(there.cycles.median),
            )
            for here, there in pairs
        ),
    )


def _names(rig: str | None, names: list[str] | None) -> tuple[str, ...]:
    """Return the names of the boards. Raises UsageError or InputError where they are not known."""
    if rig is None:
        raise UsageError(f"give {RIG} for the boards to measure, or --adopt for a report that is there")
    if rig == VIRTUAL and not names:
        raise UsageError(f"{RIG} {rig}: repeat {BOARD} for each board of the report")
    return tuple(names or names_in(Path(rig)))


def _adopt(path: Path, out: Path | None, names: list[str], rig: str | None, *, as_json: bool) -> None:
    """Write the timing file of a board.

    Raises UsageError without a name for it or with a rig, and the errors of a report.
    """
    if rig is not None:
        raise UsageError(f"--adopt {path} measures nothing: leave {RIG} {rig} out")
    if out is None:
        raise UsageError(f"--adopt {path}: name the timing file to write with {OUT}")
    if len(names) > 1:
        raise UsageError(f"--adopt {path}: a timing file is of one part: give {BOARD} once, or not at all")
    part = load_board(names[0]).device.name if names else None
    report_file = read_report(path)
    if report_file.tinysplit_version != __version__:
        note = f"note: {path} was made by tinysplit {report_file.tinysplit_version}, whose rules may have been others"
        messages.print(note, highlight=False, markup=False, soft_wrap=True)
    found = adopt_report(path, report_file, out, part)

    def show(console: Console) -> None:
        for table, rules in found.items():
            for rule, value in rules.items():
                console.print(f"{table}.{rule} = {value}", highlight=False, markup=False)

    emit(as_json, {"timing": str(out), "rules": found}, show)
    messages.print(f"wrote {out}", highlight=False, markup=False, soft_wrap=True)
