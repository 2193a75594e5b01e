"""`tinysplit split`, `pareto` and `arrivals`: splits of a network over given boards."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tinysplit import pipeline
from tinysplit.boards.board import ClockSource
from tinysplit.cli.basic_options import Force, Json, Model, emit, messages
from tinysplit.cli.options import (
    Bits,
    Clock,
    CodeMemoryChoice,
    CodeMemoryOption,
    ObjectiveOption,
    SplitPath,
    check_bits,
)
from tinysplit.cli.search_options import FrontOptions, Replicate, SplitOptions, copies_to_search, flattened
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.output_file import check_output_file
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.plan.wiring import planned_links
from tinysplit.project.split_file import read_split, write_split
from tinysplit.slices.search import Slices
from tinysplit.split.pareto import SecondObjective
from tinysplit.split.problem import Objective
from tinysplit.split.report.arrivals import print_arrivals
from tinysplit.split.report.front import print_front
from tinysplit.split.report.split import print_split
from tinysplit.split.solution import Split
from tinysplit_hil.bench.rig_file import RigLink, read_rig_of
from tinysplit_hil.bench.rig_links import check_links

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
    typer.Option("--rig", help="Rig file whose [[link]]s (`bench check`) have to include those of the split."),
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
    context = pipeline.Context.load(model, options.board, settings, messages, clock)
    search = replace(options.search, copies=copies_to_search(replicate, one_pipeline=paper))
    found = pipeline.split_network(context, search)
    if rig:
        _check_links(rig, context, found)
    file = pipeline.describe_split(context, found)
    write_split(out, file)
    data = {**file.model_dump(mode="json"), **found.report.data}
    emit(as_json, data, lambda console: print_split(found, console))


def _check_links(rig: Path, context: pipeline.Context, found: Split) -> None:
    """Raise InputError unless the rig has the boards and all links of a split."""
    file = read_rig_of(rig, {number: board.name for number, board in enumerate(context.boards, 1)})
    links = planned_links(context.boards, found.problem, found.assignments, context.settings.link_settings)
    check_links(rig, file, map(RigLink.of, links))


def _check_paper(options: SplitOptions, bits_per_byte: int | None, replicate: bool | None) -> None:
    if replicate:
        raise UsageError("--paper searches for one pipeline: it cannot be combined with --replicate")
    if options.slices not in {None, Slices.NONE}:
        raise UsageError("--paper knows whole layers only: it cannot be combined with --slices")
    other_links = options.link or options.is_auto
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
    context = pipeline.Context.load(model, options.board, settings, messages)
    front = pipeline.pareto_front(context, second_objective, options.search)
    emit(as_json, front.to_json(), lambda console: print_front(front, console))


def arrivals(
    model: Model,
    split_file: SplitPath,
    frame_rate: Annotated[float, typer.Option(help="Inputs per second, at equal intervals.")],
    input_count: Annotated[int, typer.Option(help="Number of inputs.", min=1)] = 50,
    as_json: Json = False,
) -> None:
    """Simulate inputs at a frame rate: latency and waiting time with a split, and with copies of the whole network."""
    file = read_split(split_file)
    if file.slices:
        raise InputError(
            f"{split_file} divides layers over boards, which arrivals does not know: split without --slices"
        )
    context = pipeline.Context.load(model, file.board_names, file.settings, messages)
    report = pipeline.simulate(context, file, frame_rate, input_count)
    emit(as_json, report.to_json(), lambda console: print_arrivals(report, console))
