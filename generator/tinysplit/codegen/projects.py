"""The folder that `generate` writes: a PlatformIO project per board, the model, its parameters and the manifest."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import onnx

from tinysplit.boards.board import Board
from tinysplit.boards.board_files import FOLDER, own_board_paths
from tinysplit.boards.marker_pins import MarkerPins
from tinysplit.codegen.board_files import firmware_sources, render_board_files, write_files
from tinysplit.codegen.board_program import board_program, layer_sources
from tinysplit.codegen.layer_source import LayerSource, file_name, render_header, render_layer
from tinysplit.codegen.manifest_builder import build_manifest
from tinysplit.codegen.mlperf import Mlperf, render_mlperf_settings
from tinysplit.codegen.network_source import render_network
from tinysplit.codegen.note import board_note, write_project_hash
from tinysplit.codegen.platformio_ini import render_cmake_files, render_platformio_ini
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.codegen.readme import write_readme
from tinysplit.codegen.weights_source import MOST_KEY_RAM_BYTES, BoardWeights
from tinysplit.common import package_files
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.project_files import MODEL_NAME, PARAMETERS_NAME, SPLIT_NAME
from tinysplit.common.secret_key import SecretKey
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.constants import with_constants_in_ram
from tinysplit.plan.decryption import with_decrypted_constants
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.project.load import parameters_file
from tinysplit.project.manifest import Project, ProjectBoard, ProjectModel, ProjectWeightsFile
from tinysplit.project.split_file import SplitFile, write_split
from tinysplit.weights_file.file import MODEL_DIGITS, FileIdentity

BUILD_SCRIPTS = ("checksum.py", "debug_paths.py", "size_line.py")


def generate(
    quantized: QuantizedGraph,
    plans: Sequence[Plan],
    bauds: tuple[int, int],
    calibration_samples: int,
    model: onnx.ModelProto,
    out: Path,
    options: ProgramOptions = PLAIN,
    *,
    split: SplitFile | None = None,
    force: bool = False,
) -> Project:
    """Write folder `out` completely or not at all, and return its manifest.

    `plans` are those of the copies of the network, `model` is the ONNX model that was quantized, with all weights in
    it, and `bauds` are the baud rates of links and host ports. The folder has `split`, too. `force` and the errors are
    those of `whole_folder`, and of `BoardWeights.of` and `Structure.check_same`.
    """
    plans = [_with_constants(plan, quantized, options.weights_key) for plan in plans]
    model_bytes, parameters = model.SerializeToString(), parameters_file(quantized)
    described = _described(quantized.graph, model_bytes, parameters)
    sources = [layer_sources(quantized, plan, in_file=options.weights_counter is not None) for plan in plans]
    project = build_manifest(quantized, sources, described, plans, bauds, calibration_samples)
    weights = [] if options.weights_counter is None else _weights(quantized, plans, sources, options)
    project = _with_options(project, options)
    project = _with_predictions(project, quantized, plans, sources, weights)
    with whole_folder(out, force=force) as folder:
        directories = [folder / board.directory for board in project.boards]
        _write_boards(quantized, plans, sources, project, directories, options.mlperf, weights)
        notes = [board_note(project, *each) for each in zip(project.boards, _boards(plans), strict=True)]
        project = project.model_copy(update={"project_hash": write_project_hash(directories, notes)})
        if options.structure:
            options.structure.check_same(directories)
        project = _with_weights_files(project, directories, weights)
        (folder / MODEL_NAME).write_bytes(model_bytes)
        (folder / PARAMETERS_NAME).write_bytes(parameters)
        _write_texts(folder, project, split)
    return project


def _with_constants(plan: Plan, quantized: QuantizedGraph, key: SecretKey | None) -> Plan:
    """Return the plan with the places of constants that are copied or decrypted."""
    if key is None:
        return with_constants_in_ram(plan, quantized)
    return with_decrypted_constants(plan, quantized, key.rounds, MOST_KEY_RAM_BYTES)


def _write_texts(folder: Path, project: Project, split: SplitFile | None) -> None:
    project.write(folder)
    write_readme(folder, project)
    for name, path in own_board_paths(board.name for board in project.boards).items():
        (folder / FOLDER).mkdir(exist_ok=True)
        shutil.copyfile(path, folder / FOLDER / f"{name}.toml")
    if split:
        write_split(folder / SPLIT_NAME, split)


def _described(graph: Graph, model: bytes, parameters: bytes) -> ProjectModel:
    hashes = (graph.sha256, *(hashlib.sha256(data).hexdigest() for data in (model, parameters)))
    return ProjectModel(name=graph.name, sha256=hashes[0], copy_sha256=hashes[1], parameters_sha256=hashes[2])


def _with_options(project: Project, options: ProgramOptions) -> Project:
    boards = tuple(board.model_copy(update={"has_markers": options.has_markers}) for board in project.boards)
    protocol = HostProtocol.MLPERF if options.mlperf else HostProtocol.TINYSPLIT
    update = {
        "boards": boards,
        "host_protocol": protocol,
        "has_diagnostics": options.has_diagnostics,
        "weights_counter": options.weights_counter,
        "signing_key": options.weights_signer.public_key.hex() if options.weights_signer else None,
    }
    return project.model_copy(update=update)


def _with_predictions(
    project: Project,
    quantized: QuantizedGraph,
    plans: Sequence[Plan],
    sources: Sequence[Sequence[LayerSource]],
    weights: Sequence[BoardWeights],
) -> Project:
    """Return the manifest with the memory that the program of each board is expected to take."""
    own = [(plan, of_copy, each) for plan, of_copy in zip(plans, sources, strict=True) for each in plan.boards]
    added_bytes = [(each.added_bytes, each.added_ram_bytes) for each in weights] or [(0, 0)] * len(own)
    boards: list[ProjectBoard] = []
    for board, (plan, of_copy, board_plan), (flash_bytes, ram_bytes) in zip(
        project.boards, own, added_bytes, strict=True
    ):
        host = project.host_protocol if board_plan.takes_input else HostProtocol.TINYSPLIT
        program = board_program(quantized, plan, board_plan, of_copy)
        found = replace(
            program, host=host, has_markers=project.has_markers, has_diagnostics=project.has_diagnostics
        ).predicted
        update = {
            "predicted_flash_bytes": found.flash_bytes + flash_bytes,
            "predicted_ram_bytes": found.ram_bytes + ram_bytes,
        }
        boards.append(board.model_copy(update=update))
    return project.model_copy(update={"boards": tuple(boards), "predicted_compiler": plans[0].table.compiler})


def _weights(
    quantized: QuantizedGraph,
    plans: Sequence[Plan],
    sources: Sequence[Sequence[LayerSource]],
    options: ProgramOptions,
) -> list[BoardWeights]:
    """Return the contents of the configuration file of each board."""
    keys = (options.weights_key, options.weights_signer)
    return [
        BoardWeights.of(quantized, board_plan, {index + 1: own[index] for index in board_plan.layers}, *keys)
        for plan, own in zip(plans, sources, strict=True)
        for board_plan in plan.boards
    ]


def _with_weights_files(project: Project, directories: Sequence[Path], weights: Sequence[BoardWeights]) -> Project:
    """Write the configuration files, if there are any, and return the manifest with them."""
    if project.weights_counter is None:
        return project
    boards = []
    for board, directory, own in zip(project.boards, directories, weights, strict=True):
        model = int(project.model.sha256[:MODEL_DIGITS], 16)
        identity = FileIdentity(board.number - 1, project.project_hash, project.weights_counter, model)
        crc = own.write(directory, identity)
        file = ProjectWeightsFile(
            address=own.slots.active.start,
            size_bytes=own.size_bytes,
            slot_bytes=own.slots.active.size_bytes,
            is_updatable=own.slots.sector_bytes is not None,
            is_encrypted=own.key is not None,
            plain_bytes=own.plain_bytes,
            decryption=own.decryption,
            crc=crc,
        )
        boards.append(board.model_copy(update={"weights_file": file}))
    return project.model_copy(update={"boards": tuple(boards)})


def _boards(plans: Sequence[Plan]) -> list[Board]:
    return [board_plan.board for plan in plans for board_plan in plan.boards]


def _write_boards(
    quantized: QuantizedGraph,
    plans: Sequence[Plan],
    sources: Sequence[Sequence[LayerSource]],
    project: Project,
    directories: Sequence[Path],
    mlperf: Mlperf | None,
    weights: Sequence[BoardWeights],
) -> None:
    """Write the project of every board into its directory, without the project hash and the configuration files."""
    boards = [(plan, own, board_plan) for plan, own in zip(plans, sources, strict=True) for board_plan in plan.boards]
    own_weights: Sequence[BoardWeights | None] = weights or [None] * len(boards)
    for directory, (plan, of_copy, board_plan), file in zip(directories, boards, own_weights, strict=True):
        own = {index + 1: of_copy[index] for index in board_plan.layers}
        network = render_network(quantized, board_plan, plan, _longest_layers_s(project, plan))
        driver = board_plan.link_driving.driver if board_plan.links else None
        markers = MarkerPins.of(board_plan.board.name) if project.has_markers else None
        texts = _project_texts(own, board_plan, network, project.host_baud, markers, file)
        protocol = HostProtocol.TINYSPLIT
        if mlperf and board_plan.takes_input:
            texts["src/mlperf_settings.c"] = render_mlperf_settings(quantized, board_plan.board, mlperf)
            protocol = HostProtocol.MLPERF
        used = firmware_sources(
            board_plan.board,
            driver,
            protocol,
            has_external=bool(board_plan.external),
            weights=file.slots if file else None,
            is_encrypted=bool(file and file.key),
            has_diagnostics=project.has_diagnostics,
            is_signed=bool(file and file.signer),
        )
        write_files(directory, texts, used)


def _longest_layers_s(project: Project, plan: Plan) -> list[float]:
    """Return the estimated time of the longest layer of each board of a plan, 0 for boards that only relay."""
    return [
        max((layer.estimated_s for layer in project.layers if layer.board == board.number), default=0.0)
        for board in plan.boards
    ]


def _project_texts(
    sources: Mapping[int, LayerSource],
    board_plan: BoardPlan,
    network: str,
    host_baud: int,
    markers: MarkerPins | None,
    weights: BoardWeights | None,
) -> dict[str, str]:
    """Return the text of every file of a board's PlatformIO project by its path; `sources` by number from 1."""
    links = [(link.uart, link.baud) for link in board_plan.links]
    memories = (board_plan.arena_memory, board_plan.link_driving, board_plan.code)
    places = (markers, sorted(board_plan.external), weights.slots if weights else None)
    return {
        "platformio.ini": render_platformio_ini(board_plan.board, has_markers=markers is not None),
        **render_cmake_files(board_plan.board, has_markers=markers is not None),
        **build_scripts(),
        "include/layers.h": render_header(
            {number: source for number, source in sources.items() if not source.quantized.layer.is_view}
        ),
        "src/network.c": network,
        **({"src/weights.c": weights.source} if weights else {}),
        **render_board_files(board_plan.board, links, host_baud, *memories, *places, kept=board_plan.kept_memory),
        **{
            f"src/{file_name(source.quantized, number)}": render_layer(source, number)
            for number, source in sources.items()
            if not source.quantized.layer.is_view
        },
    }


def build_scripts() -> dict[str, str]:
    """Return the scripts that PlatformIO runs, by their names in the project."""
    folder = package_files.boards() / "platform"
    return {name: (folder / name).read_text(encoding="utf-8") for name in BUILD_SCRIPTS}
