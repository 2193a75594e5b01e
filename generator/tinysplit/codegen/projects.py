"""From a quantized network and a split to one PlatformIO project a board."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx

from tinysplit.codegen.board_files import render_board_files, write_project_files
from tinysplit.codegen.layer_source import LayerSource, file_name, render_header, render_layer
from tinysplit.codegen.memory_report import describe_memory
from tinysplit.codegen.platformio_ini import render_platformio_ini
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.project_files import MODEL_NAME, PARAMETERS_NAME
from tinysplit.common.protocol_limits import HOST_BAUD
from tinysplit.common.templates import render
from tinysplit.kernels.cycles import kernel_cycles
from tinysplit.memory.layout import MOVE_CYCLES, BoardMemory, BufferId
from tinysplit.memory.schedule import StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.project.load import parameters_file
from tinysplit.project.manifest import (
    Project,
    ProjectBoard,
    ProjectCut,
    ProjectFormats,
    ProjectLayer,
    ProjectLink,
    ProjectModel,
)
from tinysplit.split.topology import Cut


def generate(
    quantized: QuantizedGraph,
    plan: Plan,
    baud: int,
    calibration_samples: int,
    model: onnx.ModelProto,
    out: Path,
) -> Project:
    """Write `out` whole or not at all and return its manifest; `model` is what was quantized, with all its weights.

    Raises InputError when `out` holds something else than an older generated folder.
    """
    model_bytes, parameters = model.SerializeToString(), parameters_file(quantized)
    described = ProjectModel(
        name=quantized.graph.name,
        sha256=quantized.graph.sha256,
        copy_sha256=hashlib.sha256(model_bytes).hexdigest(),
        parameters_sha256=hashlib.sha256(parameters).hexdigest(),
    )
    project = describe(quantized, described, plan, baud, calibration_samples)
    with whole_folder(out) as folder:
        directories = [folder / board.directory for board in project.boards]
        for directory, board_plan in zip(directories, plan.boards, strict=True):
            _write_board(directory, quantized, board_plan, plan, project)
        project = project.model_copy(update={"project_hash": _hash(directories)})
        for directory in directories:
            text = render("project/project_hash.c.j2", project_hash=project.project_hash)
            (directory / "src" / "project_hash.c").write_text(text, encoding="utf-8")
        (folder / MODEL_NAME).write_bytes(model_bytes)
        (folder / PARAMETERS_NAME).write_bytes(parameters)
        project.write(folder)
    return project


def describe(
    quantized: QuantizedGraph, model: ProjectModel, plan: Plan, baud: int, calibration_samples: int
) -> Project:
    """Return the manifest of what will be generated; its `project_hash` is 0 until all files are there."""
    boards = {board_plan.index: board_plan for board_plan in plan.boards}
    layers = tuple(_layer(index, quantized, boards[device]) for index, device in enumerate(plan.assignment))
    cuts = tuple(_cut(number, cut) for number, cut in enumerate(plan.cuts, 1))
    links = tuple(
        ProjectLink(
            boards=(link.boards[0] + 1, link.boards[1] + 1),
            uarts=(link.uarts[0].name, link.uarts[1].name),
            connectors=(link.uarts[0].connector, link.uarts[1].connector),
            baud=link.baud,
        )
        for link in plan.links
    )
    return Project(
        tinysplit_version=version("tinysplit"),
        model=model,
        bits=quantized.bits,
        baud=baud,
        host_baud=HOST_BAUD,
        calibration_samples=calibration_samples,
        project_hash=0,
        boards=tuple(_board(quantized, board_plan) for board_plan in plan.boards),
        links=links,
        layers=layers,
        cuts=cuts,
    )


def _hash(directories: Sequence[Path]) -> int:
    """Return 32 bits of a hash of all sources; platformio.ini, which names folders of this machine, is none."""
    digest = hashlib.sha256()
    for directory in directories:
        for path in sorted(path for path in directory.rglob("*") if path.suffix in {".c", ".h", ".ld"}):
            digest.update(f"{path.relative_to(directory)}\n".encode())
            digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:4], "little")


def _layer(index: int, quantized: QuantizedGraph, board_plan: BoardPlan) -> ProjectLayer:
    layer = quantized.layers[index]
    source, widths = _kernel(quantized, index, board_plan), BitWidths.of_quantized(quantized)
    memory = describe_memory(quantized.graph, widths, board_plan, index)
    core = board_plan.board.device.core
    own, calls = board_plan.memory.layer(quantized.graph, index), board_plan.memory.calls(quantized.graph, index)
    cycles = kernel_cycles(own, core, widths.of_layer(layer.layer), source.kernel, calls)
    cycles += memory.moved_bytes / WORD_BYTES * MOVE_CYCLES
    return ProjectLayer(
        number=index + 1,
        name=layer.layer.name,
        kind=layer.layer.kind,
        board=board_plan.number,
        inputs=tuple(tensor + 1 for tensor in quantized.graph.predecessors[index]),
        macc=layer.layer.macc,
        formats=ProjectFormats.of(layer.formats),
        weights_bytes=source.weights_bytes,
        memory=memory,
        estimated_cycles=round(cycles),
        estimated_s=cycles / board_plan.board.clock.core_hz,
    )


def _cut(number: int, cut: Cut) -> ProjectCut:
    return ProjectCut(
        number=number,
        after_layer=cut.after_layer + 1,
        from_board=cut.sender + 1,
        to_board=cut.receiver + 1,
        payload_bytes=cut.payload_bytes,
        estimated_s=cut.seconds,
    )


def _board(quantized: QuantizedGraph, board_plan: BoardPlan) -> ProjectBoard:
    board, number = board_plan.board, board_plan.number
    return ProjectBoard(
        number=number,
        name=board.name,
        directory=f"board{number}_{board.name}",
        weights_bytes=sum(_kernel(quantized, i, board_plan).weights_bytes for i in board_plan.layers),
        arena_bytes=board_plan.arena.size_bytes,
        core_hz=board.clock.core_hz,
    )


def _write_board(folder: Path, quantized: QuantizedGraph, board_plan: BoardPlan, plan: Plan, project: Project) -> None:
    """Write one PlatformIO project."""
    kernels = {i + 1: _kernel(quantized, i, board_plan) for i in board_plan.layers}
    texts = {
        "platformio.ini": render_platformio_ini(board_plan.board),
        "include/layers.h": render_header(kernels),
        "src/network.c": render("project/network.c.j2", **_network_context(quantized, board_plan, plan, project)),
        **render_board_files(
            board_plan.board,
            [(link.uart, link.baud) for link in board_plan.links],
            project.host_baud,
            board_plan.arena_memory,
        ),
        **{
            f"src/{file_name(source.quantized, number)}": render_layer(source, number)
            for number, source in kernels.items()
        },
    }
    write_project_files(folder, board_plan.board, texts)


def _network_context(quantized: QuantizedGraph, board_plan: BoardPlan, plan: Plan, project: Project) -> dict[str, Any]:
    """Return the facts that `network.c.j2` prints."""
    memory, steps, output = board_plan.memory, board_plan.steps, len(quantized.layers) - 1
    ends = plan.assignment[output] == board_plan.index
    return {
        "number": board_plan.number,
        "board_count": len(project.boards),
        "title": board_plan.board.title,
        "model_name": project.model.name,
        "bits": project.bits,
        "arena_bytes": max(board_plan.arena.size_bytes, 1),
        "network_input_bytes": _bytes(quantized, NETWORK_INPUT) if board_plan.takes_input else 0,
        "network_input_offset": memory.offset(NETWORK_INPUT, 0) if board_plan.takes_input else 0,
        "network_output_bytes": _bytes(quantized, output) if ends else 0,
        "network_output_offset": memory.offset(output, len(steps)) if ends else 0,
        "time_count": sum(step.kind is not StepKind.RECEIVE for step in steps),
        "layers": [_layer_context(quantized, layer, board_plan) for layer in board_plan.layers],
        "steps": [_step_context(quantized, turn, board_plan, plan) for turn in range(len(steps))],
    }


def _kernel(quantized: QuantizedGraph, index: int, board_plan: BoardPlan) -> LayerSource:
    """Return what computes a layer on a board, or a tile of its rows; its weights are those that calibration made."""
    memory, own = board_plan.memory, quantized.layers[index]
    parameters: dict[str, Any] = dict(own.layer.parameters)
    layer = replace(memory.layer(quantized.graph, index), **parameters)
    return LayerSource(replace(own, layer=layer), memory.kernels[index])


def _layer_context(quantized: QuantizedGraph, layer: int, board_plan: BoardPlan) -> dict[str, Any]:
    """Return the moves before a layer's step and the kernels that it runs, once or per tile of fused rows."""
    memory, widths = board_plan.memory, BitWidths.of_quantized(quantized)
    turn = next(turn for turn, step in enumerate(board_plan.steps) if step[:2] == (StepKind.RUN, layer))
    moves = [
        {
            "from": memory.offset(move.tensor, turn - 1),
            "to": memory.offset(move.tensor, turn),
            "words": -(-widths.size_bytes(quantized.graph, move.tensor) // WORD_BYTES),
        }
        for move in memory.moves
        if move.step == turn
    ]
    calls, fused = _calls(quantized, layer, board_plan, turn), _fused_context(quantized, layer, memory)
    return {"number": layer + 1, "moves": moves, "calls": calls, "fused": fused}


def _calls(quantized: QuantizedGraph, layer: int, board_plan: BoardPlan, turn: int) -> list[dict[str, Any]]:
    """Return the calls of a layer's step, with where each argument lies."""
    graph, memory = quantized.graph, board_plan.memory
    output = memory.offset(layer, turn)
    calls = [_call(memory, layer, [*(memory.offset(source, turn) for source in graph.predecessors[layer]), output])]
    if layer in memory.fused:
        consumer = memory.consumer(graph, layer)
        return [*calls, _call(memory, consumer, [output, memory.offset(consumer, turn)])]
    return calls if memory.producer(graph, layer) is None else []


def _fused_context(quantized: QuantizedGraph, layer: int, memory: BoardMemory) -> dict[str, Any] | None:
    """Return the facts of a layer that is fused with its consumer, in bytes; None for any other."""
    if layer not in memory.fused:
        return None
    fused, formats = memory.fused[layer], quantized.layers[layer].formats
    consumer = quantized.layers[memory.consumer(quantized.graph, layer)]
    bits = formats.y.bits
    zero = formats.y.zero_point % (1 << bits)
    return {
        "own": fused,
        "in_row_bytes": fused.in_row_stride * formats.x.bits // 8,
        "row_bytes": fused.row_size * bits // 8,
        "out_tile_bytes": fused.out_tile_stride * consumer.formats.y.bits // 8,
        "zeros": sum(zero << place for place in range(0, 8 * WORD_BYTES, bits)),
    }


def _call(memory: BoardMemory, layer: int, places: list[int]) -> dict[str, Any]:
    scratch = memory.arena.offsets.get(BufferId(layer, is_scratch=True))
    return {"number": layer + 1, "places": places if scratch is None else [*places, scratch]}


def _step_context(quantized: QuantizedGraph, turn: int, board_plan: BoardPlan, plan: Plan) -> dict[str, Any]:
    step = board_plan.steps[turn]
    if step.kind is StepKind.RUN:
        layer = quantized.layers[step.item].layer
        return {"kind": step.kind.value, "index": step.item + 1, "comment": f"{layer.kind} {layer.out_shape}"}
    cut = plan.cuts[step.item]
    peer, way = (cut.receiver, "to") if step.kind is StepKind.SEND else (cut.sender, "from")
    return {
        "kind": step.kind.value,
        "index": step.item,
        "link": [link.peer for link in board_plan.links].index(peer),
        "offset": board_plan.memory.offset(step.tensor, turn),
        "bytes": cut.payload_bytes,
        "comment": f"output of layer {step.tensor + 1} {way} board {peer + 1}",
    }


def _bytes(quantized: QuantizedGraph, source: int) -> int:
    return BitWidths.of_quantized(quantized).size_bytes(quantized.graph, source)
