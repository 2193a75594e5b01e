"""From a quantized network and a split to one PlatformIO project a board."""

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx

from tinysplit.firmware_files import render_board_files, write_project_files
from tinysplit.kernels import Kernel, file_name, render_header, render_layer
from tinysplit.plan import BoardPlan, Plan, SubModelPlan
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

HOST = "NETWORK_HOST"


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
        arena_bytes=board_plan.arena_bytes,
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
        **render_board_files(board_plan.board, [uart for _, uart in board_plan.links], project.baud, project.host_baud),
        **{
            f"src/{file_name(kernel.quantized, number)}": render_layer(kernel, number)
            for number, kernel in kernels.items()
        },
    }
    write_project_files(folder, board_plan.board, texts)


def _network_context(quantized: QuantizedGraph, board_plan: BoardPlan, plan: Plan, project: Project) -> dict[str, Any]:
    """Return the facts that `network.c.j2` prints."""
    first, last = board_plan.sub_models[0], board_plan.sub_models[-1]
    transfers = sum(sub_model.cut_out is not None for sub_model in board_plan.sub_models)
    return {
        "number": board_plan.number,
        "board_count": len(project.boards),
        "title": board_plan.board.title,
        "model_name": project.model.name,
        "bits": project.bits,
        "arena_bytes": board_plan.arena_bytes,
        "network_input_bytes": first.sizes_bytes[0] if first.cut_in is None else 0,
        "network_output_bytes": last.sizes_bytes[-1] if last.cut_out is None else 0,
        "time_count": len(board_plan.layers) + transfers,
        "sub_models": [
            _sub_model_context(quantized, sub_model, board_plan, plan) for sub_model in board_plan.sub_models
        ],
    }


def _sub_model_context(
    quantized: QuantizedGraph, sub_model: SubModelPlan, board_plan: BoardPlan, plan: Plan
) -> dict[str, Any]:
    core = board_plan.board.device.core
    peers = [peer for peer, _ in board_plan.links]
    receives = None if sub_model.cut_in is None else plan.cuts[sub_model.cut_in]
    sends = None if sub_model.cut_out is None else plan.cuts[sub_model.cut_out]
    return {
        "from_text": f"board {receives.sender + 1}" if receives else "the host",
        "to_text": f"board {sends.receiver + 1}" if sends else "the host",
        "source": peers.index(receives.sender) if receives else HOST,
        "source_cut": sub_model.cut_in or 0,
        "destination": peers.index(sends.receiver) if sends else HOST,
        "destination_cut": sub_model.cut_out or 0,
        "input_offset": sub_model.offsets[0],
        "input_bytes": sub_model.sizes_bytes[0],
        "output_offset": sub_model.offsets[-1],
        "output_bytes": sub_model.sizes_bytes[-1],
        "layers": [
            {
                "number": layer + 1,
                "comment": f"{quantized.layers[layer].layer.kind} {quantized.layers[layer].layer.out_shape}",
                "input_offset": sub_model.offsets[turn],
                "output_offset": sub_model.offsets[turn + 1],
                "scratch_bytes": Kernel.choose(quantized.layers[layer], core).scratch_bytes,
                "scratch_offset": sub_model.scratch_offsets[turn],
            }
            for turn, layer in enumerate(sub_model.layers)
        ],
    }
