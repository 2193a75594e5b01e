"""`tinysplit split`, `pareto` and `arrivals`: splits of a network over given boards."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table

from tinysplit.boards.board import Board, ClockSource, board_title
from tinysplit.cli import completion
from tinysplit.cli.basic_options import Explain, Force, FrontPage, Json, Model, emit, messages, wrote
from tinysplit.cli.measure_options import TimelineSvg, TimelineTrace
from tinysplit.cli.option import option
from tinysplit.cli.options import (
    Bits,
    Clock,
    CodeMemoryChoice,
    CodeMemoryOption,
    CostTableFile,
    InputSourceOfSplit,
    ObjectiveOption,
    SplitPath,
    check_bits,
)
from tinysplit.cli.search_options import ChoiceOptions, FrontOptions, SplitOptions, flattened
from tinysplit.common.choices import SecondObjective
from tinysplit.common.errors import UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.progress import late_step
from tinysplit.costs.settings import CostSettings
from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.settings.costs import BATTERY_MAH, BITS_PER_BYTE, PAPER
from tinysplit.settings.result_files import OUT
from tinysplit.settings.search import FRAME_RATE, INPUT_COUNT, LOSS_RATE
from tinysplit.settings.setting import Heading
from tinysplit.split.problem import Objective, check_currents
from tinysplit.timing.loss import Loss

if TYPE_CHECKING:
    from tinysplit.context import Context
    from tinysplit.plan.predicted_memory import PredictedMemory
    from tinysplit.project.split_file import SplitFile
    from tinysplit.split.report.arrivals import ArrivalReport, Arrivals
    from tinysplit.split.report.split import Use
    from tinysplit.split.solution import Split
    from tinysplit_hil.measure.timeline.spans import Timeline

Paper = Annotated[bool, option(PAPER)]
BitsPerByte = Annotated[int | None, option(BITS_PER_BYTE)]
LinksOfRig = Annotated[
    Path | None,
    typer.Option(
        "--rig",
        help="Rig file whose links (`bench check`) have to include those of the split.",
        autocompletion=completion.rig_files,
        rich_help_panel=Heading.BOARDS,
    ),
]


@flattened
def split(
    model: Model,
    options: SplitOptions,
    choice: ChoiceOptions,
    out: Annotated[Path, option(OUT, "Split file to write.")] = Path("split.json"),
    bits: Bits = CostSettings.bits,
    objective: ObjectiveOption = Objective.LATENCY,
    code_memory: CodeMemoryOption = CodeMemoryChoice.AUTO,
    clock: Clock = ClockSource.HSI,
    bits_per_byte: BitsPerByte = None,
    paper: Paper = False,
    rig: LinksOfRig = None,
    battery_mah: Annotated[float | None, option(BATTERY_MAH)] = None,
    explain: Explain = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Assign the layers of a network to boards and write the split to a file."""
    from tinysplit import pipeline
    from tinysplit.context import Context
    from tinysplit.papers.published_costs import check_published
    from tinysplit.plan.predicted_split import predict_programs
    from tinysplit.project.split_file import write_split

    check_output_file(out, force=force)
    _check_battery(battery_mah)
    if paper:
        _check_paper(options, bits_per_byte)
    settings = replace(_conventions(options, clock, bits_per_byte, paper=paper), bits=check_bits(bits))
    settings = replace(settings, objective=objective, code_memory=code_memory.requested)
    search = choice.search(options, one_pipeline=paper)
    check_published(settings, search, has_cost_table=options.cost_table is not None)
    context = Context.load(
        model, options.board, settings, messages, clock, needs_weights=False, cost_table=options.cost_table
    )
    context = context.of_quantized_file()
    found = pipeline.split_network(context, search)
    _check_links(rig, context, found)
    predicted = predict_programs(context.table, context.graph, context.boards, found, settings)
    file = pipeline.describe_split(context, found).with_predictions(predicted)
    if choice.assign is None and found.timing:
        reasons = pipeline.reasons_of(context, search, found, file, tries_another_board=explain)
        file = file.model_copy(update={"reasons": reasons})
    write_split(out, file)
    data = {**file.model_dump(mode="json"), **found.report.data}
    lines: list[RenderableType] = []
    if battery_mah is not None:
        lines.append(_battery_life(found, battery_mah, data))
    if predicted and (explain or options.optimize or options.max_flash):
        lines.append(_flash_front(context, found, predicted, data))
    uses = _uses(predicted, context.boards)

    def show(console: Console) -> None:
        _print(found, uses, file, lines, console)
        if explain:
            _explain(found, uses, file, context.boards, console)

    emit(as_json, data, show)
    wrote(out)


def _conventions(options: SplitOptions, clock: ClockSource, bits_per_byte: int | None, *, paper: bool) -> CostSettings:
    """Return the settings of the options; --paper has its own defaults."""
    from tinysplit.papers.published_costs import COST_MODEL

    use_all = paper if options.use_all is None else options.use_all
    settings = options.settings(clock, may_be_tested=not paper)
    return replace(
        settings,
        bits_per_byte=bits_per_byte or CostSettings.bits_per_byte,
        use_all=use_all,
        cost_model=COST_MODEL if paper else None,
    )


def _check_battery(battery_mah: float | None) -> None:
    """Raise UsageError for a capacity that makes no sense."""
    if battery_mah is not None and not 0 < battery_mah < inf:
        raise UsageError(f"{BATTERY_MAH} {battery_mah:g}: expected a capacity above zero")


def _uses(predicted: Mapping[int, "PredictedMemory"], boards: Sequence[Board]) -> Mapping[int, "Use"]:
    """Return the memory of the programs by number of the board."""
    from tinysplit.split.report.split import Use

    devices = {number: boards[number - 1].device for number in predicted}
    return {
        number: Use(own.flash_bytes, devices[number].flash.size_bytes, own.ram_bytes, devices[number].ram_bytes)
        for number, own in predicted.items()
    }


def _print(
    found: "Split", uses: Mapping[int, "Use"], file: "SplitFile", lines: Sequence[RenderableType], console: Console
) -> None:
    """Print the answer, the best of each kind of placement, and further lines."""
    from tinysplit.split.report.split import print_split

    print_split(found, uses, console)
    if file.reasons and len(file.reasons.best_of_each_kind) > 1:
        console.print(file.reasons.table(file.objective))
    for line in lines:
        console.print(line, highlight=False, markup=False)


def _explain(
    found: "Split", uses: Mapping[int, "Use"], file: "SplitFile", boards: Sequence[Board], console: Console
) -> None:
    """Print how the figures come about, and what else was considered."""
    from tinysplit.split.report.split import print_details

    console.print()
    print_details(found, console)
    for number, use in uses.items():
        title = board_title(number, boards[number - 1].name)
        ram = f"{use.ram_bytes} of static RAM without constants in RAM, which times count on where there is room"
        line = f"{title}: program of {use.flash_bytes} bytes of flash (predicted; the table has upper bounds),"
        console.print(f"{line} {ram}", highlight=False)
    for line in file.reasons.lines(file.objective) if file.reasons else ():
        console.print(line, highlight=False, markup=False)


def _battery_life(found: "Split", battery_mah: float, data: dict[str, Any]) -> str:
    """Return how long a battery lasts, which `data` gets, too."""
    from tinysplit.split.report.figures import battery_life_s, battery_text

    mean_w = _mean_w(found)
    data["battery_life_s"] = battery_life_s(mean_w, battery_mah)
    return battery_text(mean_w, battery_mah)


def _flash_front(
    context: "Context", found: "Split", predicted: Mapping[int, "PredictedMemory"], data: dict[str, Any]
) -> Table:
    """Return the table of the choice between time and flash, which `data` gets, too."""
    from tinysplit import pipeline
    from tinysplit.plan.flash_front import flash_table

    front = pipeline.flash_front_of(context, found, predicted)
    data["flash_front"] = [point.to_json() for point in front]
    return flash_table(front, context.settings.objective, keeps_placement=len(context.boards) > 1)


def _mean_w(found: "Split") -> float:
    """Return the mean power of a split. Raises InputError where currents are not known, UsageError for other costs."""
    if found.power is None:
        check_currents(found.problem.devices)
        raise UsageError(f"{BATTERY_MAH} needs the costs of generated firmware")
    return found.power.sleeping_w


def _check_links(rig: Path | None, context: "Context", found: "Split") -> None:
    """Raise InputError unless the rig, if there is one, has the boards and all links of a split."""
    if rig is None:
        return
    from tinysplit.plan.wiring import planned_links
    from tinysplit_hil.rig.rig_file import RigLink, read_rig_of
    from tinysplit_hil.rig.rig_links import check_links

    file = read_rig_of(rig, {number: board.name for number, board in enumerate(context.boards, 1)})
    links = planned_links(
        context.boards, found.problem, found.assignments, context.settings.link_settings_on(context.boards)
    )
    check_links(rig, file, map(RigLink.of, links))


def _check_paper(options: SplitOptions, bits_per_byte: int | None) -> None:
    """Raise UsageError for options that are refused with --paper even where they have the values of the paper."""
    if options.use_all is False or bits_per_byte is not None:
        raise UsageError(
            f"{PAPER} uses all boards and 8 bit times per byte: it cannot be combined with {USE_ALL(False)} or "
            f"{BITS_PER_BYTE}"
        )


@flattened
def pareto(
    model: Model,
    options: FrontOptions,
    second_objective: Annotated[
        SecondObjective,
        typer.Option(help="Second objective of the front, besides latency.", rich_help_panel=Heading.SEARCH),
    ] = SecondObjective.ENERGY,
    bits: Bits = CostSettings.bits,
    html: FrontPage = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the Pareto front of latency and energy or throughput."""
    from tinysplit import pipeline
    from tinysplit.context import Context
    from tinysplit.split.report.front import print_front
    from tinysplit.split.report.front_page import front_page

    check_output_file(html, force=force)
    settings = replace(options.settings(), bits=check_bits(bits))
    context = Context.load(model, options.board, settings, messages, needs_weights=False, cost_table=options.cost_table)
    front = pipeline.pareto_front(context.of_quantized_file(), second_objective, options.search)
    data = front.to_json()
    emit(as_json, data, lambda console: print_front(front, console))
    if html:
        write_whole_file(html, front_page(context.graph.name, data))
        wrote(html)


FrameRate = Annotated[float | None, option(FRAME_RATE)]
ArrivalTimes = Annotated[
    Path | None, typer.Option(help="Text file with the time of each input in seconds, one a line, in place of a rate.")
]
InputCount = Annotated[int, option(INPUT_COUNT)]
LossRate = Annotated[float, option(LOSS_RATE)]
LossSeed = Annotated[int, typer.Option(help="Seed of the random losses.")]
ShowTimeline = Annotated[bool, typer.Option("--timeline", help="Print what boards and links do when.")]


def arrivals(
    model: Model,
    split_file: SplitPath,
    frame_rate: FrameRate = None,
    arrival_times: ArrivalTimes = None,
    input_count: InputCount = 50,
    input_source: InputSourceOfSplit = None,
    loss_rate: LossRate = Loss.rate,
    loss_seed: LossSeed = Loss.seed,
    timeline: ShowTimeline = False,
    timeline_svg: TimelineSvg = None,
    timeline_trace: TimelineTrace = None,
    force: Force = False,
    cost_table: CostTableFile = None,
    as_json: Json = False,
) -> None:
    """Simulate inputs that arrive on a split: latency, waiting time, period, buffers and power.

    Copies of the whole network are simulated for comparison.
    """
    from tinysplit import pipeline
    from tinysplit.context import Context
    from tinysplit.project.split_file import read_split
    from tinysplit_hil.measure.timeline.report import write_timeline
    from tinysplit_hil.measure.timeline.simulated import timeline_of

    for path in (timeline_svg, timeline_trace):
        check_output_file(path, force=force)
    inputs = _arrivals(frame_rate, arrival_times, input_count)
    loss = Loss(loss_rate, loss_seed)
    file = read_split(split_file)
    if input_source:
        file = file.model_copy(update={"input_source": input_source})
    context = Context.load(
        model, file.board_names, file.settings, messages, file.clock, needs_weights=False, cost_table=cost_table
    )
    keeps_events = bool(timeline or timeline_svg or timeline_trace)
    with late_step(messages, f"simulating {context.title}"):
        file = pipeline.reassign(context, file, title=str(split_file))
        report = pipeline.simulate(context, file, inputs, loss, keeps_events=keeps_events)
    names = [board.name for board in context.boards]
    links = context.settings.link_settings_on(context.boards)
    shown = timeline_of(report, context.title, names, links) if keeps_events else None
    if shown:
        write_timeline(shown, timeline_svg, timeline_trace)
        wrote(timeline_svg, timeline_trace)
    data = report.to_json() | ({"timeline": shown.to_json()} if shown else {})
    emit(as_json, data, lambda console: _print_arrivals(report, shown if timeline else None, console))


def _print_arrivals(report: "ArrivalReport", shown: "Timeline | None", console: Console) -> None:
    from tinysplit.split.report.arrivals import print_arrivals
    from tinysplit_hil.measure.timeline.terminal import print_timeline

    print_arrivals(report, console)
    if shown:
        console.print()
        print_timeline(shown, console)


def _arrivals(frame_rate: float | None, arrival_times: Path | None, input_count: int) -> "Arrivals":
    from tinysplit.split.report.arrivals import Arrivals

    if (frame_rate is None) == (arrival_times is None):
        raise UsageError(f"give either {FRAME_RATE} or --arrival-times")
    if arrival_times:
        return Arrivals.of_trace(arrival_times)
    return Arrivals.at_rate(frame_rate or 0.0, input_count)
