"""A network as a C library: layers and arena, without start-up, clocks, UARTs and links, for firmware of any origin."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.catalog import load_board
from tinysplit.codegen.board_files import FIRMWARE_LIBRARY
from tinysplit.codegen.end_tensors import EndTensor, input_tensors, output_tensors
from tinysplit.codegen.platformio_ini import macros
from tinysplit.common import package_files
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.templates import render
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.settings.programs import WEIGHTS

# Of a board's firmware, what layers include; network.h gets another name, as the library has one of its own.
_KERNEL_FILES = ("dsp*.[ch]", "swar.h", "fixed_point.h", "window.h", "words.[ch]")
_NETWORK_HEADER = ("network.h", "network_steps.h")
_OWN_MACROS = ("DSP_DUAL_ISSUE",)


@dataclass(frozen=True)
class LibraryContext:
    """The names of the templates in `library/`."""

    model: str
    board: str
    core: str
    macros: tuple[str, ...]
    inputs: Sequence[EndTensor]
    outputs: Sequence[EndTensor]
    arena_bytes: int


def write_library(
    project: Project, folder: Path, out: Path, number: int | None = None, *, force: bool = False
) -> list[Path]:
    """Write the network of the generated `folder`, as board `number` computes it, into the folder `out`.

    By default it is that of the first board. Returns the files by their names in `out`. Raises UsageError for a network
    that several boards compute, InputError for another board, and the errors of `whole_folder`.
    """
    if project.weights_counter is not None:
        raise UsageError(f"{folder} has its weights in binary files: generate it with {WEIGHTS('arrays')}")
    board = _whole_board(project, number or project.boards[0].number)
    quantized = read_quantized(folder, project)
    known = load_board(board.name)
    context = LibraryContext(
        model=project.model.name,
        board=board.name,
        core=known.device.core,
        macros=tuple(macro for macro in macros(known) if macro in _OWN_MACROS),
        inputs=input_tensors(quantized),
        outputs=output_tensors(quantized),
        arena_bytes=board.arena_bytes,
    )
    with whole_folder(out, force=force) as fresh:
        _copy_sources(folder / board.directory, fresh)
        for name in ("tinysplit.h", "CMakeLists.txt"):
            (fresh / name).write_text(render(f"library/{name}.j2", context), encoding="utf-8")
    return sorted(path.relative_to(out) for path in out.iterdir())


def _whole_board(project: Project, number: int) -> ProjectBoard:
    if number not in {board.number for board in project.boards}:
        raise InputError(f"there is no board {number}: the folder has {len(project.boards)}")
    pipeline = next(each for each in project.pipelines if number in each.boards)
    if len(pipeline.boards) > 1:
        raise UsageError(
            f"{len(pipeline.boards)} boards compute the network, and a library has all of it: split it for one board"
        )
    return project.board(number)


def _copy_sources(board: Path, library: Path) -> None:
    """Copy the C files of a board's project that a library needs. Raises InputError where they are missing."""
    firmware = board / FIRMWARE_LIBRARY / "src"
    kernels = [path for pattern in _KERNEL_FILES for path in firmware.glob(pattern)]
    layers = [board / "src" / "network.c", board / "include" / "layers.h", *board.glob("src/layer_*.c")]
    own = [path for path in (package_files.firmware() / "library").iterdir() if path.suffix in {".c", ".h"}]
    try:
        for path in (*kernels, *layers, *own, package_files.licence()):
            shutil.copyfile(path, library / path.name)
        shutil.copyfile(firmware / _NETWORK_HEADER[0], library / _NETWORK_HEADER[1])
    except FileNotFoundError as error:
        raise InputError(f"{error.filename} is missing: generate the folder again") from None
