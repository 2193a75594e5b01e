"""From a quantized network and a split to one PlatformIO project a board."""

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx

from tinysplit.bit_widths import BitWidths
from tinysplit.firmware_files import render_board_files, write_project_files
from tinysplit.graph import NETWORK_INPUT
from tinysplit.kernels import Kernel, file_name, render_header, render_layer
from tinysplit.plan import BoardPlan, Place, Plan, Step, StepKind
from tinysplit.platformio_project import render_platformio_ini
from tinysplit.project import (
    MODEL_NAME,
    Project,
    ProjectBoard,
    ProjectCut,
    ProjectFormats,
    ProjectLayer,
    ProjectLink,
    ProjectModel,
)
from tinysplit.quantized import QuantizedGraph
from tinysplit.rendering import render
from tinysplit.split.problem import Cut
from tinysplit.whole_output import whole_folder
from tinysplit.wire import HOST_BAUD


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
    model_bytes = model.SerializeToString()
    described = ProjectModel(
        name=quantized.graph.name,
        sha256=quantized.graph.sha256,
        copy_sha256=hashlib.sha256(model_bytes).hexdigest(),
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
        project.write(folder)
    return project


def describe(
    quantized: QuantizedGraph, model: ProjectModel, plan: Plan, baud: int, calibration_samples: int
) -> Project:
    """Return the manifest of what will be generated; its `project_hash` is 0 until all files are there."""
    boards = {board_plan.index: board_plan for board_plan in plan.boards}
    layers = tuple(
        _layer(index, quantized, boards[device], plan.problem.layers[index].seconds[device])
        for index, device in enumerate(plan.assignment)
    )
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


def _layer(index: int, quantized: QuantizedGraph, board_plan: BoardPlan, seconds: float) -> ProjectLayer:
    layer = quantized.layers[index]
    kernel = Kernel.choose(layer, board_plan.board.device.core)
    return ProjectLayer(
        number=index + 1,
        name=layer.layer.name,
        kind=layer.layer.kind,
        board=board_plan.number,
        inputs=tuple(source + 1 for source in quantized.graph.predecessors[index]),
        macc=layer.layer.macc,
        formats=ProjectFormats.of(layer.formats),
        weights_bytes=kernel.weights_bytes,
        estimated_cycles=round(seconds * board_plan.board.clock.core_hz),
        estimated_s=seconds,
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
    core = board.device.core
    return ProjectBoard(
        number=number,
        name=board.name,
        directory=f"board{number}_{board.name}",
        weights_bytes=sum(Kernel.choose(quantized.layers[i], core).weights_bytes for i in board_plan.layers),
        arena_bytes=board_plan.arena.size_bytes,
        core_hz=board.clock.core_hz,
    )


def _write_board(folder: Path, quantized: QuantizedGraph, board_plan: BoardPlan, plan: Plan, project: Project) -> None:
    """Write one PlatformIO project."""
    core = board_plan.board.device.core
    kernels = {i + 1: Kernel.choose(quantized.layers[i], core) for i in board_plan.layers}
    texts = {
        "platformio.ini": render_platformio_ini(board_plan.board),
        "include/layers.h": render_header(kernels),
        "src/network.c": render("project/network.c.j2", **_network_context(quantized, board_plan, plan, project)),
        **render_board_files(
            board_plan.board, [(link.uart, link.baud) for link in board_plan.links], project.host_baud
        ),
        **{
            f"src/{file_name(kernel.quantized, number)}": render_layer(kernel, number)
            for number, kernel in kernels.items()
        },
    }
    write_project_files(folder, board_plan.board, texts)


def _network_context(quantized: QuantizedGraph, board_plan: BoardPlan, plan: Plan, project: Project) -> dict[str, Any]:
    """Return the facts that `network.c.j2` prints."""
    offsets, output = board_plan.arena.offsets, len(quantized.layers) - 1
    ends = plan.assignment[output] == board_plan.index
    return {
        "number": board_plan.number,
        "board_count": len(project.boards),
        "title": board_plan.board.title,
        "model_name": project.model.name,
        "bits": project.bits,
        "arena_bytes": max(board_plan.arena.size_bytes, 1),
        "network_input_bytes": _bytes(quantized, NETWORK_INPUT) if board_plan.takes_input else 0,
        "network_input_offset": offsets.get(Place(NETWORK_INPUT), 0),
        "network_output_bytes": _bytes(quantized, output) if ends else 0,
        "network_output_offset": offsets[Place(output)] if ends else 0,
        "time_count": sum(step.kind is not StepKind.RECEIVE for step in board_plan.steps),
        "layers": [_layer_context(quantized, layer, board_plan) for layer in board_plan.layers],
        "steps": [_step_context(quantized, step, board_plan, plan) for step in board_plan.steps],
    }


def _layer_context(quantized: QuantizedGraph, layer: int, board_plan: BoardPlan) -> dict[str, Any]:
    """Return where a layer reads and writes: its inputs, its output, and its scratch memory if it has any."""
    places = [*(Place(source) for source in quantized.graph.predecessors[layer]), Place(layer)]
    scratch = Place(layer, is_scratch=True)
    if scratch in board_plan.arena.offsets:
        places.append(scratch)
    return {"number": layer + 1, "offsets": [board_plan.arena.offsets[place] for place in places]}


def _step_context(quantized: QuantizedGraph, step: Step, board_plan: BoardPlan, plan: Plan) -> dict[str, Any]:
    if step.kind is StepKind.RUN:
        layer = quantized.layers[step.item].layer
        return {"kind": step.kind.value, "index": step.item + 1, "comment": f"{layer.kind} {layer.out_shape}"}
    cut = plan.cuts[step.item]
    peer, way = (cut.receiver, "to") if step.kind is StepKind.SEND else (cut.sender, "from")
    return {
        "kind": step.kind.value,
        "index": step.item,
        "link": [link.peer for link in board_plan.links].index(peer),
        "offset": board_plan.arena.offsets[Place(step.tensor)],
        "bytes": cut.payload_bytes,
        "comment": f"output of layer {step.tensor + 1} {way} board {peer + 1}",
    }


def _bytes(quantized: QuantizedGraph, source: int) -> int:
    return BitWidths.of_quantized(quantized).size_bytes(quantized.graph, source)
