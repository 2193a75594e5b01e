"""The manifest of a generated folder (`tinysplit.json`) from the programs of its boards."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tinysplit import __version__
from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.codegen.activities import board_activities
from tinysplit.codegen.board_files import firmware_parts
from tinysplit.codegen.board_program import BoardProgram, board_directory
from tinysplit.costs.handoff import powers_of
from tinysplit.costs.stop_mode import without_host
from tinysplit.network.distribution import Part
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.plan.planned_split import split_of_plans
from tinysplit.plan.wiring import Link
from tinysplit.project.activity import EstimatedSpan, ExternalPower
from tinysplit.project.layer_formats import ProjectFormats
from tinysplit.project.manifest import (
    Project,
    ProjectBoard,
    ProjectCut,
    ProjectLayer,
    ProjectLink,
    ProjectModel,
    ProjectPart,
    ProjectWeightsFile,
)
from tinysplit.project.removed_channels import lists_of
from tinysplit.project.standalone import ProjectStandalone, StandaloneEstimate
from tinysplit.split.evaluate.one_board import one_board_period_s
from tinysplit.split.figures import PlacementFigures
from tinysplit.split.problem import LayerCosts, Period, Problem
from tinysplit.timing.figures import Timing
from tinysplit.timing.results import Activity, Event


def build_manifest(
    copies: Sequence[Sequence[BoardProgram]],
    model: ProjectModel,
    baud: int,
    calibration_samples: int,
    project_hash: int,
    weights_files: Mapping[int, ProjectWeightsFile],
) -> Project:
    """Return the manifest of the programs of all boards of each copy of the network.

    `baud` is the baud rate of the links, `weights_files` are those of the boards by number, if there are any.
    """
    first, plans = copies[0][0], [programs[0].plan for programs in copies]
    quantized, options = first.quantized, first.options
    layers = [_layers(programs) for programs in copies]
    problem = _as_generated(first.plan.problem, layers)
    complete = quantized.complete
    timing = Timing(tuple(plan.program(problem) for plan in plans))
    return Project(
        tinysplit_version=__version__,
        model=model,
        bits=quantized.bits,
        baud=baud,
        host_baud=first.host_baud,
        host_protocol=options.host_protocol,
        has_diagnostics=options.has_diagnostics,
        standalone=_standalone(plans, problem, options.standalone) if options.standalone else None,
        calibration_samples=calibration_samples,
        predicted_compiler=first.plan.table.compiler,
        project_hash=project_hash,
        weights_counter=options.weights_counter,
        signing_key=options.signing_key,
        figures=PlacementFigures.of(split_of_plans(plans)),
        estimated_period_s=timing.period_s,
        one_board_period_s=one_board_period_s(problem),
        copies=tuple(tuple(program.number for program in programs) for programs in copies),
        boards=tuple(_board(program, weights_files.get(program.number)) for programs in copies for program in programs),
        links=tuple(chain.from_iterable(map(_links, plans))),
        layers=tuple(chain.from_iterable(layers)),
        cuts=tuple(
            chain.from_iterable(
                _cuts(plan, alone.transfers_s[0], quantized.graph.parts)
                for plan, alone in zip(plans, timing.each_alone, strict=True)
            )
        ),
        estimated_t_s=timing.t_s,
        keeps_state=quantized.graph.keeps_state,
        estimated_i_s=timing.i_s,
        network_formats=tuple(ProjectFormats.of(each.formats) for each in complete.layers if complete is not quantized),
        removed_channels=lists_of(quantized.removed),
        estimated_alone=board_activities(plans, timing.activities_alone, (1.0,) * len(plans)),
        estimated_spans=tuple(_spans(timing.events_alone)),
        estimated_in_stream=board_activities(plans, timing.activities_in_stream, timing.shares),
    )


def manifest_without_layers(
    model: ProjectModel,
    boards: Sequence[Board],
    host_baud: int,
    project_hash: int,
    baud: int,
    links: Sequence[ProjectLink] = (),
) -> Project:
    """Return the manifest of programs that compute no network, as those that test boards and wires.

    `baud` is the baud rate of the links.
    """
    return Project(
        tinysplit_version=__version__,
        model=model,
        bits=8,
        baud=baud,
        host_baud=host_baud,
        calibration_samples=0,
        project_hash=project_hash,
        estimated_period_s=0.0,
        estimated_t_s=0.0,
        estimated_i_s=0.0,
        one_board_period_s=None,
        copies=(),
        boards=tuple(
            ProjectBoard(
                number=number,
                name=board.name,
                directory=board_directory(number, board),
                weights_bytes=0,
                arena_bytes=0,
                core_hz=board.clock.core_hz,
            )
            for number, board in enumerate(boards, 1)
        ),
        links=tuple(links),
        layers=(),
        cuts=(),
    )


def _standalone(plans: Sequence[Plan], problem: Problem, standalone: ProjectStandalone) -> ProjectStandalone:
    """Return the choices of programs without a host, with their figures."""
    boards = {own.index: own.board for plan in plans for own in plan.boards}
    alone = without_host(problem, boards if standalone.stops else {})
    timing = Timing(tuple(plan.program(alone) for plan in plans), standalone.frame_s)
    activities = board_activities(plans, timing.activities_in_stream, timing.shares)
    estimated = StandaloneEstimate(period_s=timing.period_s, boards=activities)
    return standalone.model_copy(update={"estimated": estimated})


def _spans(events: Sequence[Event]) -> Iterator[EstimatedSpan]:
    """Yield what boards compute, copy and wait for, and what links carry, from the begin of the inference."""
    for event in events:
        if event.activity in {Activity.LAYER, Activity.COPY, Activity.WAIT, Activity.WIRE} and event.end_s > 0:
            first, last = (max(layer, 0) for layer in event.layers)  # parts of the input count with layer 1
            yield EstimatedSpan(
                activity=event.activity,
                board=event.device + 1,
                layers=(first + 1, last + 1) if event.activity is Activity.LAYER else None,
                cut=event.transfer + 1 if event.transfer >= 0 else None,
                start_s=max(event.start_s, 0.0),
                end_s=event.end_s,
            )


def _layers(programs: Sequence[BoardProgram]) -> list[ProjectLayer]:
    """Return the layers of one copy of the network in their order."""
    return sorted((layer for program in programs for layer in program.layers), key=lambda layer: layer.number)


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
    return replace(problem, layers=generated, period_definition=Period.FIRMWARE)


def _board(program: BoardProgram, weights_file: ProjectWeightsFile | None) -> ProjectBoard:
    plan, board, sources, predicted = program.board_plan, program.board, program.sources, program.predicted
    power = powers_of(plan.table, board)
    return ProjectBoard(
        number=program.number,
        name=board.name,
        directory=program.directory,
        weights_bytes=sum(source.weights_bytes for source in sources.values()),
        external_weights_bytes=sum(sources[index].weights_bytes for index in plan.external),
        arena_bytes=plan.arena_bytes,
        predicted_flash_bytes=predicted.flash_bytes,
        predicted_ram_bytes=predicted.ram_bytes,
        staged_cuts=tuple(sorted(number + 1 for number in plan.stages.cuts)),
        staged_input=plan.stages.input is not None,
        staged_output=plan.stages.output is not None,
        code_memory=plan.code.memory,
        ram_code_bytes=plan.code.ram_bytes,
        code_memory_reason=plan.code.reason,
        core_hz=board.clock.core_hz,
        has_markers=program.options.has_markers,
        takes_input=plan.takes_input,
        gives_output=program.gives_output,
        run_w=power.run_w or None,
        idle_w=power.idle_w if power.run_w else None,
        stop_w=power.stop_w,
        external_power=_external_power(plan),
        weights_file=weights_file,
        firmware_parts=tuple(firmware_parts(program.firmware)),
    )


def _external_power(board_plan: BoardPlan) -> ExternalPower | None:
    external = board_plan.board.external
    if not external or not board_plan.external:
        return None
    return ExternalPower(standby_w=external.standby_w, read_w=external.read_w - external.standby_w)


def _links(plan: Plan) -> Iterator[ProjectLink]:
    drivers = {board_plan.index: board_plan.link_driving.driver for board_plan in plan.boards}
    return (describe_link(link, drivers) for link in plan.links)


def describe_link(link: Link, drivers: Mapping[int, LinkDriver]) -> ProjectLink:
    """Return what the manifest says of a link; `drivers` are those of the boards by index."""
    first, second = link.ends
    return ProjectLink(
        boards=(first.board + 1, second.board + 1),
        uarts=(first.uart.name, second.uart.name),
        connectors=(first.uart.connector, second.uart.connector),
        drivers=(drivers[first.board], drivers[second.board]),
        baud=link.baud,
    )


def _cuts(plan: Plan, seconds: Mapping[int, float], parts: Sequence[Part]) -> Iterator[ProjectCut]:
    """Yield the cuts of a copy, with the seconds of each in an inference on boards at rest."""
    for index, planned in enumerate(plan.cuts):
        cut, hand_off = planned.cut, planned.hand_off
        yield ProjectCut(
            number=index + 1,
            after_layer=cut.after_layer + 1,
            from_board=cut.sender + 1,
            to_board=cut.receiver + 1,
            payload_bytes=cut.payload_bytes,
            estimated_s=seconds[index],
            acknowledgement_s=plan.problem.handoff_parts.reply_s[cut.receiver][cut.sender],
            is_sent_by_rows=hand_off.gives is not None,
            is_taken_by_rows=hand_off.takes is not None,
            why_whole=hand_off.reason,
            part=ProjectPart.of(parts[cut.after_layer]) if parts else None,
        )
