"""`tinysplit split`, `pareto` and `arrivals`: splits of a network over given boards."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tinysplit import pipeline
from tinysplit.boards.board import Board, ClockSource, board_title
from tinysplit.calibration.conditions import using_calibration
from tinysplit.cli.basic_options import Force, Json, Model, emit, messages
from tinysplit.cli.options import (
    Bits,
    CalibrationFile,
    Clock,
    CodeMemoryChoice,
    CodeMemoryOption,
    ObjectiveOption,
    SplitPath,
    TimelineSvg,
    TimelineTrace,
    check_bits,
)
from tinysplit.cli.search_options import FrontOptions, Replicate, SplitOptions, copies_to_search, flattened
from tinysplit.common.errors import TinysplitError, UsageError
from tinysplit.common.output_file import check_output_file
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.plan.predicted_memory import PredictedMemory
from tinysplit.plan.predicted_split import predict_split
from tinysplit.plan.wiring import planned_links
from tinysplit.project.split_file import read_split, write_split
from tinysplit.slices.search import Slices
from tinysplit.split.pareto import SecondObjective
from tinysplit.split.problem import Objective
from tinysplit.split.report.arrivals import Arrivals, print_arrivals
from tinysplit.split.report.front import print_front
from tinysplit.split.report.split import print_split
from tinysplit.split.simulation.loss import Loss
from tinysplit.split.solution import Split
from tinysplit_hil.bench.rig_file import RigLink, read_rig_of
from tinysplit_hil.bench.rig_links import check_links
from tinysplit_hil.timeline.report import write_timeline
from tinysplit_hil.timeline.simulated import timeline_of
from tinysplit_hil.timeline.terminal import print_timeline

Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="Use the cost model of Santamaria 2021: float32, the cycles per MAC of its Table 3, 8 bit times per "
        "byte, whole memories, all boards, and its period.",
    ),
]
LinksOfRig = Annotated[
    Path | None,
    typer.Option("--rig", help="Rig file whose links (`bench check`) have to include those of the split."),
]


@flattened
def split(
    model: Model,
    options: SplitOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="Split file to write.")] = Path("split.json"),
    bits: Bits = CostSettings.bits,
    objective: ObjectiveOption = Objective.LATENCY,
    code_memory: CodeMemoryOption = CodeMemoryChoice.AUTO,
    clock: Clock = ClockSource.HSI,
    bits_per_byte: Annotated[
        int | None, typer.Option(help="Bit times per byte on a link; 10 (8N1) by default.", min=8, max=12)
    ] = None,
    replicate: Replicate = None,
    paper: Paper = False,
    rig: LinksOfRig = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Assign the layers of a network to boards and write the split to a file."""
    check_output_file(out, force=force)
    if paper:
        _check_paper(options, bits_per_byte, replicate)
    settings = replace(
        options.settings(clock),
        bits=check_bits(bits),
        objective=objective,
        bits_per_byte=bits_per_byte or BITS_PER_BYTE,
        use_all=paper if options.use_all is None else options.use_all,
        paper=paper,
        code_memory=code_memory.requested,
    )
    context = pipeline.Context.load(model, options.board, settings, messages, clock, needs_weights=False)
    search = replace(options.search, copies=copies_to_search(replicate, one_pipeline=paper))
    with using_calibration(options.calibration, context.boards):
        found = pipeline.split_network(context, search)
        _check_links(rig, context, found)
        predicted = _predicted(context, found)
    file = pipeline.describe_split(context, found).with_predictions(predicted)
    write_split(out, file)
    data = {**file.model_dump(mode="json"), **found.report.data}
    emit(as_json, data, lambda console: _print(found, predicted, context.boards, console))


def _print(found: Split, predicted: Mapping[int, PredictedMemory], boards: Sequence[Board], console: Console) -> None:
    print_split(found, console)
    for number, memory in predicted.items():
        title, ram_bytes = board_title(number, boards[number - 1].name), memory.ram_bytes
        line = f"{title}: program of {memory.flash_bytes} bytes of flash (predicted; the table has upper bounds),"
        console.print(f"{line} {ram_bytes} of static RAM without copies of constants", highlight=False)


def _predicted(context: pipeline.Context, found: Split) -> Mapping[int, PredictedMemory]:
    """Return the predicted memory of the programs; none of published costs, and without a plan, as `generate` tells."""
    if context.settings.paper:
        return {}
    try:
        return predict_split(context.graph, context.boards, found, context.settings)
    except TinysplitError:
        return {}


def _check_links(rig: Path | None, context: pipeline.Context, found: Split) -> None:
    """Raise InputError unless the rig, if there is one, has the boards and all links of a split."""
    if rig is None:
        return
    file = read_rig_of(rig, {number: board.name for number, board in enumerate(context.boards, 1)})
    links = planned_links(context.boards, found.problem, found.assignments, context.settings.link_settings)
    check_links(rig, file, map(RigLink.of, links))


def _check_paper(options: SplitOptions, bits_per_byte: int | None, replicate: bool | None) -> None:
    if replicate:
        raise UsageError("--paper searches for one pipeline: it cannot be combined with --replicate")
    if options.slices not in {None, Slices.NONE}:
        raise UsageError("--paper knows whole layers only: it cannot be combined with --slices")
    other_links = options.link or options.is_auto
    if options.calibration:
        raise UsageError("--paper has the published cycles per MAC: leave --calibration out")
    if options.use_all is False or bits_per_byte is not None or other_links or options.host_transfers:
        raise UsageError(
            "--paper uses all boards, 8 bit times per byte, equal links and no host transfers: it cannot be combined "
            "with --no-use-all, --bits-per-byte, --link, --baud auto or --host-transfers"
        )


@flattened
def pareto(
    model: Model,
    options: FrontOptions,
    second_objective: Annotated[SecondObjective, typer.Option(help="Second objective of the front, besides latency.")],
    bits: Bits = CostSettings.bits,
    as_json: Json = False,
) -> None:
    """Find the Pareto front of latency and energy or throughput."""
    if options.slices not in {None, Slices.NONE}:
        raise UsageError("the front has splits of whole layers: leave --slices out")
    settings = replace(options.settings(), bits=check_bits(bits))
    context = pipeline.Context.load(model, options.board, settings, messages, needs_weights=False)
    with using_calibration(options.calibration, context.boards):
        front = pipeline.pareto_front(context, second_objective, options.search)
    emit(as_json, front.to_json(), lambda console: print_front(front, console))


FrameRate = Annotated[float | None, typer.Option(help="Inputs per second, at equal intervals.")]
ArrivalTimes = Annotated[
    Path | None, typer.Option(help="Text file with the time of each input in seconds, one a line, in place of a rate.")
]
InputCount = Annotated[int, typer.Option(help="Number of inputs at a rate.", min=1)]
LossRate = Annotated[float, typer.Option(help="Share of the bytes on links that are lost.")]
LossSeed = Annotated[int, typer.Option(help="Seed of the random losses.")]
ShowTimeline = Annotated[bool, typer.Option("--timeline", help="Print what boards and links do when.")]


def arrivals(
    model: Model,
    split_file: SplitPath,
    frame_rate: FrameRate = None,
    arrival_times: ArrivalTimes = None,
    input_count: InputCount = 50,
    loss_rate: LossRate = Loss.rate,
    loss_seed: LossSeed = Loss.seed,
    timeline: ShowTimeline = False,
    timeline_svg: TimelineSvg = None,
    timeline_trace: TimelineTrace = None,
    force: Force = False,
    calibration: CalibrationFile = None,
    as_json: Json = False,
) -> None:
    """Simulate inputs that arrive on a split: latency, waiting time, period, buffers and power.

    Copies of the whole network are simulated for comparison.
    """
    for path in (timeline_svg, timeline_trace):
        check_output_file(path, force=force)
    inputs, loss = _arrivals(frame_rate, arrival_times, input_count), Loss(loss_rate, loss_seed)
    file = read_split(split_file)
    context = pipeline.Context.load(model, file.board_names, file.settings, messages, needs_weights=False)
    keeps_events = bool(timeline or timeline_svg or timeline_trace)
    with using_calibration(calibration, context.boards):
        report = pipeline.simulate(context, file, inputs, loss, keeps_events=keeps_events)
    links = context.settings.link_settings
    shown = timeline_of(report, context.title, file.board_names, links) if keeps_events else None
    if shown:
        write_timeline(shown, timeline_svg, timeline_trace)

    def show(console: Console) -> None:
        print_arrivals(report, console)
        if shown and timeline:
            console.print()
            print_timeline(shown, console)

    emit(as_json, report.to_json() | ({"timeline": shown.to_json()} if shown else {}), show)


def _arrivals(frame_rate: float | None, arrival_times: Path | None, input_count: int) -> Arrivals:
    if (frame_rate is None) == (arrival_times is None):
        raise UsageError("give either --frame-rate or --arrival-times")
    if arrival_times:
        return Arrivals.of_trace(arrival_times)
    return Arrivals.at_rate(frame_rate or 0.0, input_count)
