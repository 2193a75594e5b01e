"""What a calibration holds for: core, clock, memory, compiler and firmware; reading files that were made elsewhere."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from tinysplit.boards.board import Board, board_title
from tinysplit.boards.device_identity import DeviceIdentity
from tinysplit.build.compiler import compiler_version
from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common import package_files
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import read_json, validate
from tinysplit.common.output_file import write_whole_file
from tinysplit.kernels.cost_table import (
    IDEAL_MEMORY,
    CostTarget,
    CycleTable,
    MeasuredCurrents,
    shipped_path,
    shipped_table,
)
from tinysplit.settings.boards_and_links import BOARD

REMEDY = "make a calibration with `tinysplit calibrate`"
SHOWN_DIGITS = 12  # of a hash
_SOURCES = {".c", ".h", ".s", ".j2"}
_WITHOUT_KERNELS = {"library", "measure", "project", "report"}  # folders of templates


def firmware_sha256() -> str:
    """Return the SHA-256 of the C sources of the firmware and of the templates of kernels."""
    digest = hashlib.sha256()
    for folder in (package_files.firmware(), package_files.templates()):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.suffix in _SOURCES and name.parts[0] not in _WITHOUT_KERNELS:
                digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def target_of(board: Board, *, has_ideal_memory: bool, device: DeviceIdentity | None = None) -> CostTarget:
    """Return what a calibration on `board`, whose part is `device`, holds for."""
    memory = IDEAL_MEMORY if has_ideal_memory else _memory(board)
    return CostTarget(board=board.name, core_hz=board.clock.core_hz, memory=memory, device=device)


def _memory(board: Board) -> str:
    """Return what the time of an access depends on, as text."""
    waits = ", ".join(f"{level.name} {level.wait_cycles}" for level in board.memory_levels)
    return f"waits of {waits} cycles, caches of {board.caches.code_bytes} + {board.caches.data_bytes} bytes"


def table_for(boards: Sequence[Board], path: str | Path | None) -> CycleTable:
    """Return the cost table for these boards: of a calibration or, without `path`, of this installation.

    Raises the errors of `read_calibration`.
    """
    return shipped_table() if path is None else read_calibration(Path(path), boards)


def read_calibration(path: Path, boards: Sequence[Board]) -> CycleTable:
    """Return a calibration for all these boards, the compiler of this machine and the firmware of this installation.

    A copy of the table of this installation is always one. Raises InputError where the file cannot be read, and where
    it was made for anything else.
    """
    table = validate(path, read_json(path, REMEDY), CycleTable, REMEDY)
    if table == shipped_table():
        return table
    for number, board in enumerate(boards, 1):
        for field, value, wanted in _differences(table, board):
            raise InputError(
                f"{path} is a calibration for {field} {value}, {board_title(number, board.name)} has {wanted}: "
                f"make one with `tinysplit calibrate {BOARD.option} {board.name}`"
            )
    compiler = compiler_version() if shutil.which(COMPILER) else table.compiler  # nothing is built without one
    if table.compiler != compiler:
        raise InputError(
            f"{path} is a calibration for compiler {table.compiler}, this machine has {compiler}: {REMEDY}, or install "
            "that compiler"
        )
    if (firmware := firmware_sha256()) != table.firmware_sha256:
        other = table.firmware_sha256[:SHOWN_DIGITS] if table.firmware_sha256 else "of another installation"
        raise InputError(
            f"{path} is a calibration for firmware {other}, this installation has {firmware[:SHOWN_DIGITS]}: {REMEDY}"
        )
    return table


def _differences(table: CycleTable, board: Board) -> Iterator[tuple[str, str, str]]:
    """Yield field, value, and that of the board, where a calibration is for another core, clock or memory."""
    core = board.device.core
    target = table.targets.get(board.device.core)
    if target is None:
        yield "core", " and ".join(sorted(table.targets)), core
    elif target.memory != IDEAL_MEMORY:
        current = target_of(board, has_ideal_memory=False)
        if target.core_hz != current.core_hz:
            yield "a core clock of", f"{target.core_hz / 1e6:g} MHz", f"{current.core_hz / 1e6:g} MHz"
        if target.memory != current.memory:
            yield "memory with", target.memory, current.memory


def with_currents(base: CycleTable | None, board: Board, currents: MeasuredCurrents) -> CycleTable:
    """Return a calibration with the currents of a board, and the costs of `base`, by default of this installation."""
    base = base or shipped_table()
    own = {"firmware_sha256": firmware_sha256(), "currents": {**base.currents, board.name: currents}}
    compiler = {"compiler": compiler_version()} if shutil.which(COMPILER) else {}
    return base.model_copy(update={**own, **compiler})


def write_calibration(path: Path, table: CycleTable) -> None:
    """Write a calibration; as the table of this installation without version and hash, whose own it always has.

    Raises InputError when it cannot be written.
    """
    is_shipped = path.resolve() == shipped_path().resolve()
    origin = {"firmware_sha256": None} if is_shipped else {"tinysplit_version": version("tinysplit")}
    marked = table.model_copy(update=origin)
    write_whole_file(path, marked.model_dump_json(indent=2, exclude_none=True) + "\n")
