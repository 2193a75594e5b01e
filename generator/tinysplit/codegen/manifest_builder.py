"""The manifest of a generated folder (`tinysplit.json`) from a quantized network and the plan of its boards."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tinysplit import __version__
from tinysplit.codegen.activities import board_activities
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.codegen.memory_report import describe_memory
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.costs.handoff import powers_of
from tinysplit.kernels.code_waits import code_waits
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.code_in_ram import remaining_waits
from tinysplit.memory.layout import MOVE_CYCLES
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Part
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.plan.streams import HandOff
from tinysplit.plan.wiring import Link
from tinysplit.project.activity import ExternalPower
from tinysplit.project.layer_formats import ProjectFormats
from tinysplit.project.manifest import (
    EstimatedSpan,
    Project,
    ProjectBoard,
    ProjectCut,
    ProjectLayer,
    ProjectLink,
    ProjectModel,
    ProjectPart,
)
from tinysplit.split.evaluate.one_board import one_board_period_s
from tinysplit.split.problem import LayerCosts, Period, Problem
from tinysplit.timing.figures import Timing
from tinysplit.timing.results import Activity, Event
from tinysplit.timing.topology import Cut


def build_manifest(
    quantized: QuantizedGraph,
    sources: Sequence[Sequence[LayerSource]],
    model: ProjectModel,
    plans: Sequence[Plan],
    bauds: tuple[int, int],
    calibration_samples: int,
) -> Project:
    """Return the manifest with the project hash 0, which is set when all files are written.

    `plans` are those of the copies of the network, `sources` the kernels of all layers of each copy in their order;
    `bauds` are the baud rates of links and host ports.
    """
    copies = list(zip(plans, sources, strict=True))
    layers = [tuple(_layers(quantized, own, plan)) for plan, own in copies]
    problem = _as_generated(plans[0].problem, layers)
    whole = quantized.whole.layers if quantized.whole else ()
    timing = Timing(tuple(plan.program(problem) for plan in plans))
    return Project(
        tinysplit_version=__version__,
        model=model,
        bits=quantized.bits,
        baud=bauds[0],
        host_baud=bauds[1],
        calibration_samples=calibration_samples,
        project_hash=0,
        estimated_period_s=timing.period_s,
        one_board_period_s=one_board_period_s(problem),
        copies=tuple(tuple(board_plan.number for board_plan in plan.boards) for plan in plans),
        boards=tuple(_board(own, board_plan, plan) for plan, own in copies for board_plan in plan.boards),
        links=tuple(chain.from_iterable(map(_links, plans))),
        layers=tuple(chain.from_iterable(layers)),
        cuts=tuple(chain.from_iterable(_cuts(plan, quantized.graph.parts) for plan in plans)),
        estimated_saved_s=timing.l_s + timing.t_s - timing.i_s,
        network_formats=tuple(ProjectFormats.of(layer.formats) for layer in whole),
        estimated_alone=board_activities(plans, timing.activities_alone, (1.0,) * len(plans)),
        estimated_spans=tuple(_spans(timing.events_alone)),
        estimated_in_stream=board_activities(plans, timing.activities_in_stream, timing.shares),
    )


def _spans(events: Sequence[Event]) -> Iterator[EstimatedSpan]:
    """Yield what boards compute and copy, and what links carry."""
    for event in events:
        if event.activity in {Activity.LAYER, Activity.COPY, Activity.WIRE}:
            first, last = event.layers
            yield EstimatedSpan(
                activity=event.activity,
                board=event.device + 1,
                layers=(first + 1, last + 1) if event.activity is Activity.LAYER else None,
                cut=event.transfer + 1 if event.transfer >= 0 else None,
                start_s=event.start_s,
                end_s=event.end_s,
            )


def _layers(quantized: QuantizedGraph, sources: Sequence[LayerSource], plan: Plan) -> Iterator[ProjectLayer]:
    """Yield the layers of one copy of the network."""
    boards = {board_plan.index: board_plan for board_plan in plan.boards}
    widths = BitWidths.of_quantized(quantized)
    for index, device in enumerate(plan.assignment):
        if not quantized.graph.layers[index].is_view:
            yield _layer(index, quantized, sources[index], widths, boards[device])


def _as_generated(problem: Problem, copies: Sequence[Sequence[ProjectLayer]]) -> Problem:
    """Return the problem with the estimates of the generated layers, which know formats and fused layers.

    `copies` has the layers of each copy of the network. The times of boards that do not have a layer change by the
    same factor as on the first one that has it: formats are common to all boards.
    """

    def seconds(costs: LayerCosts, generated: Sequence[ProjectLayer]) -> tuple[float, ...]:
        before_s = costs.seconds[generated[0].board - 1]
        factor = generated[0].estimated_s / before_s if before_s else 1.0
        own = {layer.board: layer.estimated_s for layer in generated}
        return tuple(own.get(number, factor * own_s) for number, own_s in enumerate(costs.seconds, 1))

    by_number: dict[int, list[ProjectLayer]] = defaultdict(list)
    for layer in chain.from_iterable(copies):
        by_number[layer.number].append(layer)
    generated = tuple(
        replace(
            costs, seconds=seconds(costs, by_number[number]) if number in by_number else costs.seconds, constants=()
        )
        for number, costs in enumerate(problem.layers, 1)
    )
    fused = tuple(replace(each, producer_seconds=()) for each in problem.fused)
    return replace(problem, layers=generated, fused=fused, period_definition=Period.FIRMWARE)


def _layer(
    index: int, quantized: QuantizedGraph, source: LayerSource, widths: BitWidths, board_plan: BoardPlan
) -> ProjectLayer:
    graph, layer, planned = quantized.dequantized, quantized.layers[index], board_plan.memory
    memory = describe_memory(graph, widths, board_plan, index)
    board, own, layer_widths = board_plan.board, planned.layer(graph, index), widths.of_layer(layer.layer)
    times = planned.calls(graph, index)
    cycles = kernel_cycles(board_plan.table, own, board.device.core, layer_widths, source.kernel, times, layer)
    waits = code_waits(board_plan.table, own, board, layer_widths, source.kernel, times, layer)
    cycles += remaining_waits(waits, board_plan.code.in_ram)
    cycles += memory.moved_bytes / WORD_BYTES * MOVE_CYCLES + _constant_cycles(quantized, index, board_plan)
    return ProjectLayer(
        number=index + 1,
        name=layer.layer.name,
        kind=layer.layer.kind,
        board=board_plan.number,
        inputs=tuple(tensor + 1 for tensor in graph.predecessors[index]),
        macc=layer.layer.macc,
        formats=ProjectFormats.of(source.fixed_formats),
        weights_bytes=source.weights_bytes,
        memory=memory,
        estimated_cycles=round(cycles),
        estimated_s=cycles / board.clock.core_hz,
        part=ProjectPart.of(graph.parts[index]) if graph.is_distributed else None,
    )


def _constant_cycles(quantized: QuantizedGraph, index: int, board_plan: BoardPlan) -> float:
    """Return the cycles that constants cost in the time of a layer: of fused ones, the producer's copies all."""
    memory, graph = board_plan.memory, quantized.graph
    own = board_plan.constants.get(index)
    waits = own.waits_in_flash if own and not own.is_copied else 0.0
    if memory.producer(graph, index) is not None:
        return waits
    layers = (index, memory.consumer(graph, index)) if index in memory.fused else (index,)
    placed = (board_plan.constants[layer] for layer in layers if layer in board_plan.constants)
    return waits + sum(each.cost_cycles for each in placed if each.is_copied)


def _board(sources: Sequence[LayerSource], board_plan: BoardPlan, plan: Plan) -> ProjectBoard:
    board, number = board_plan.board, board_plan.number
    power = powers_of(board_plan.table, board)
    return ProjectBoard(
        number=number,
        name=board.name,
        directory=f"board{number}_{board.name}",
        weights_bytes=sum(sources[index].weights_bytes for index in board_plan.layers),
        external_weights_bytes=sum(sources[index].weights_bytes for index in board_plan.external),
        arena_bytes=board_plan.arena_bytes,
        staged_cuts=tuple(sorted(number + 1 for number in board_plan.stages.cuts)),
        staged_input=board_plan.stages.input is not None,
        staged_output=board_plan.stages.output is not None,
        code_memory=board_plan.code.memory,
        ram_code_bytes=board_plan.code.ram_bytes,
        code_memory_reason=board_plan.code.reason,
        core_hz=board.clock.core_hz,
        takes_input=board_plan.takes_input,
        gives_output=plan.output_board == board_plan.index,
        run_w=power.run_w or None,
        idle_w=power.idle_w if power.run_w else None,
        external_power=_external_power(board_plan),
    )


def _external_power(board_plan: BoardPlan) -> ExternalPower | None:
    external = board_plan.board.external
    if not external or not board_plan.external:
        return None
    return ExternalPower(standby_w=external.standby_w, read_w=external.read_w - external.standby_w)


def _links(plan: Plan) -> Iterator[ProjectLink]:
    boards = {board_plan.index: board_plan for board_plan in plan.boards}
    return (_link(link, boards) for link in plan.links)


def _link(link: Link, boards: Mapping[int, BoardPlan]) -> ProjectLink:
    return ProjectLink(
        boards=(link.boards[0] + 1, link.boards[1] + 1),
        uarts=(link.uarts[0].name, link.uarts[1].name),
        connectors=(link.uarts[0].connector, link.uarts[1].connector),
        drivers=(boards[link.boards[0]].link_driving.driver, boards[link.boards[1]].link_driving.driver),
        baud=link.baud,
    )


def _cuts(plan: Plan, parts: Sequence[Part]) -> Iterator[ProjectCut]:
    for number, (cut, hand_off) in enumerate(zip(plan.cuts, plan.hand_offs, strict=True), 1):
        acknowledgement_s = plan.problem.handoff_parts.reply_s[cut.receiver][cut.sender]
        yield _cut(number, cut, acknowledgement_s, hand_off, parts[cut.after_layer] if parts else None)


def _cut(number: int, cut: Cut, acknowledgement_s: float, hand_off: HandOff, part: Part | None) -> ProjectCut:
    return ProjectCut(
        number=number,
        after_layer=cut.after_layer + 1,
        from_board=cut.sender + 1,
        to_board=cut.receiver + 1,
        payload_bytes=cut.payload_bytes,
        estimated_s=cut.seconds,
        acknowledgement_s=acknowledgement_s,
        is_sent_by_rows=hand_off.gives is not None,
        is_taken_by_rows=hand_off.takes is not None,
        why_whole=hand_off.reason,
        part=ProjectPart.of(part) if part else None,
    )
