"""The folder that `generate` writes: a PlatformIO project per board, the model, its parameters and the manifest."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import onnx

from tinysplit.boards.board_files import FOLDER, own_board_paths
from tinysplit.codegen.application import check_standalone, render_application
from tinysplit.codegen.board_files import firmware_parts, firmware_sources, render_board_files, write_files
from tinysplit.codegen.board_program import BoardProgram
from tinysplit.codegen.layer_source import file_name, render_header, render_layer
from tinysplit.codegen.manifest_builder import build_manifest
from tinysplit.codegen.mlperf import render_mlperf_settings
from tinysplit.codegen.network_source import render_network
from tinysplit.codegen.note import BoardNote, write_project_hash
from tinysplit.codegen.platformio_ini import Parts, render_cmake_files, render_platformio_ini
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.codegen.readme import write_readme
from tinysplit.codegen.weights_source import MOST_KEY_RAM_BYTES
from tinysplit.common import package_files
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.project_files import MODEL_NAME, PARAMETERS_NAME, SPLIT_NAME
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.constants import with_constants_in_ram, with_resident_constants
from tinysplit.plan.decryption import with_decrypted_constants
from tinysplit.plan.plan import Plan
from tinysplit.project.chip_parts import check_application_parts
from tinysplit.project.load import parameters_file
from tinysplit.project.manifest import Project, ProjectModel, ProjectWeightsFile
from tinysplit.project.split_file import SplitFile, write_split
from tinysplit.weights_file.file import MODEL_DIGITS, FileIdentity

BUILD_SCRIPTS = ("checksum.py", "compiler_flags.py", "size_line.py")


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
    baud, host_baud = bauds
    options = options.resolved(plans)
    plans = [_with_constants(plan, quantized, options) for plan in plans]
    copies = [[BoardProgram.of(quantized, plan, own, host_baud, options) for own in plan.boards] for plan in plans]
    model_bytes, parameters = model.SerializeToString(), parameters_file(quantized)
    described = _described(quantized.graph, model_bytes, parameters)
    programs = [program for of_copy in copies for program in of_copy]
    check_standalone(copies)
    longest_s = {program.board_plan.index: program.longest_layer_s for program in programs}
    structure_folder = options.structure.folder if options.structure else None
    for program in programs:
        _check_application(program, [old for old in (out, structure_folder) if old])
    with whole_folder(out, force=force, applications_of=structure_folder) as folder:
        for program in programs:
            _write_program(folder / program.directory, program, longest_s)
        project_hash = write_project_hash(
            {folder / program.directory: _note(program, described) for program in programs}
        )
        if options.structure:
            options.structure.check_same(folder)
        weights_files = dict(_write_weights(folder, programs, project_hash))
        project = build_manifest(copies, described, baud, calibration_samples, project_hash, weights_files)
        if project.standalone:
            project.standalone.check_period()
        (folder / MODEL_NAME).write_bytes(model_bytes)
        (folder / PARAMETERS_NAME).write_bytes(parameters)
        _write_texts(folder, project, split)
    return project


def _with_constants(plan: Plan, quantized: QuantizedGraph, options: ProgramOptions) -> Plan:
    """Return the plan with the places of constants that are copied, decrypted, or in RAM from the start."""
    if options.weights_key:
        return with_decrypted_constants(plan, quantized, options.weights_key.rounds, MOST_KEY_RAM_BYTES)
    with_copies = with_constants_in_ram(plan, quantized)
    has_weights_file = options.weights_counter is not None
    return with_copies if has_weights_file else with_resident_constants(with_copies, quantized)


def _check_application(program: BoardProgram, folders: Sequence[Path]) -> None:
    """Raise InputError where an application that stays, in one of these folders, uses what the firmware does."""
    interrupts = {interrupt.name for interrupt in program.board.device.interrupts}
    for folder in folders:
        check_application_parts(folder / program.directory, list(firmware_parts(program.firmware)), interrupts)


def _write_texts(folder: Path, project: Project, split: SplitFile | None) -> None:
    project.write(folder)
    write_readme(folder, project)
    for name, path in own_board_paths(board.name for board in project.boards).items():
        (folder / FOLDER).mkdir(exist_ok=True)
        shutil.copyfile(path, folder / FOLDER / f"{name}.toml")
    if split:
        write_split(folder / SPLIT_NAME, split)


def _described(graph: Graph, model: bytes, parameters: bytes) -> ProjectModel:
    return ProjectModel(
        name=graph.name,
        sha256=graph.sha256,
        copy_sha256=hashlib.sha256(model).hexdigest(),
        parameters_sha256=hashlib.sha256(parameters).hexdigest(),
    )


def _note(program: BoardProgram, model: ProjectModel) -> BoardNote:
    options = program.options
    return BoardNote(
        number=program.number,
        board=program.board,
        model=None if program.weights else model,
        host_baud=program.host_baud,
        link_bauds=[link.baud for link in program.board_plan.links],
        host_protocol=options.host_protocol,
        signing_key=options.signing_key,
    )


def _write_program(directory: Path, program: BoardProgram, longest_s: Mapping[int, float]) -> None:
    """Write the project of a board into its directory, without the project hash and the configuration file."""
    write_files(directory, _project_texts(program, longest_s), firmware_sources(program.firmware))


def _write_weights(
    folder: Path, programs: Sequence[BoardProgram], project_hash: int
) -> Iterator[tuple[int, ProjectWeightsFile]]:
    """Write the configuration files, if there are any; yield what the manifest says of them, by number of the board."""
    for program in programs:
        counter, model = program.options.weights_counter, program.quantized.graph.sha256[:MODEL_DIGITS]
        if program.weights and counter is not None:
            identity = FileIdentity(program.board_plan.index, project_hash, counter, int(model, 16))
            yield program.number, program.weights.write(folder / program.directory, identity)


def _project_texts(program: BoardProgram, longest_s: Mapping[int, float]) -> dict[str, str]:
    """Return the text of every file of a board's PlatformIO project by its path."""
    board, options = program.board, program.options
    parts = Parts(
        has_markers=options.has_markers,
        has_application=True,
        is_standalone=options.standalone is not None,
        has_stop_mode=program.wake_up is not None,
    )
    layers = {index + 1: source for index, source in program.computed.items()}
    texts = {
        "platformio.ini": render_platformio_ini(board, parts),
        **render_cmake_files(board, parts),
        **build_scripts(),
        "include/layers.h": render_header(layers),
        "src/network.c": render_network(program, longest_s),
        **render_application(program),
        **render_board_files(program.firmware),
        **{f"src/{file_name(source.quantized, n)}": render_layer(source, n) for n, source in layers.items()},
    }
    if program.weights:
        texts["src/weights.c"] = program.weights.source
    if options.mlperf and program.host is HostProtocol.MLPERF:
        texts["src/mlperf_settings.c"] = render_mlperf_settings(program.quantized, board, options.mlperf)
    return texts


def build_scripts() -> dict[str, str]:
    """Return the scripts that PlatformIO runs, by their names in the project."""
    folder = package_files.boards() / "platform"
    return {name: (folder / name).read_text(encoding="utf-8") for name in BUILD_SCRIPTS}
