"""Compares built programs with the plan: weights and arena must be equal, memories must not be exceeded.

Flash and static RAM are expected to be as predicted from the plan, within an error: what differs more is a warning.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tinysplit.boards.catalog import load_board
from tinysplit.build.compiler import compiler_version
from tinysplit.build.elf import ElfSizes, check_memory, print_memory, read_elf
from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.errors import CheckFailedError
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.project.printing import code_memory_text

ERROR_SHARE, ERROR_BYTES = 0.02, 256  # of a prediction, together


def is_as_predicted(predicted_bytes: int, built_bytes: int) -> bool:
    """Return whether a program takes what was predicted, within the error that predictions may have."""
    return abs(built_bytes - predicted_bytes) <= ERROR_SHARE * predicted_bytes + ERROR_BYTES


@dataclass(frozen=True)
class BuiltBoard:
    """A board and the sizes of its program; `other_compiler` built it, if predictions are for another."""

    board: ProjectBoard
    elf: Path
    sizes: ElfSizes
    other_compiler: str = ""

    def differences(self) -> tuple[str, ...]:
        """Return a line for each memory that differs from the prediction by more than its error."""
        pairs = (
            ("flash", self.board.predicted_flash_bytes, self.sizes.flash.used_bytes),
            ("static RAM", self.board.predicted_ram_bytes, self.sizes.ram_bytes),
        )
        return tuple(
            f"{self.board.title}: the program takes {built} bytes of {what} where {predicted} were predicted, off by "
            f"more than {ERROR_SHARE:.0%} and {ERROR_BYTES} bytes"
            for what, predicted, built in pairs
            if predicted is not None and not is_as_predicted(predicted, built)
        )

    def check(self) -> None:
        """Raise CheckFailedError when a memory is over budget or weights or arena differ from the plan."""
        check_memory(self.board.title, self.sizes)
        for what, planned, built in (
            ("weights", self.board.weights_bytes, self.sizes.weights_bytes),
            (
                "weights in external memory",
                self.board.external_weights_bytes,
                self.sizes.external_weights_bytes,
            ),
            ("arena and buffers", self.board.arena_bytes, self.sizes.arena_bytes),
        ):
            if planned != built:
                raise CheckFailedError(f"{self.board.title}: {what} take {built} bytes where {planned} were planned")

    def to_json(self) -> dict[str, Any]:
        """Return the sizes in bytes as JSON values."""
        memories = self.sizes.memories
        return {
            "number": self.board.number,
            "name": self.board.name,
            "elf": str(self.elf),
            "memories": [
                {"name": use.memory.name, "used_bytes": use.used_bytes, "size_bytes": use.memory.size_bytes}
                for use in memories
            ],
            "flash_bytes": {"predicted": self.board.predicted_flash_bytes, "built": self.sizes.flash.used_bytes},
            "static_ram_bytes": {"predicted": self.board.predicted_ram_bytes, "built": self.sizes.ram_bytes},
            "weights_bytes": {"planned": self.board.weights_bytes, "built": self.sizes.weights_bytes},
            "arena_bytes": {"planned": self.board.arena_bytes, "built": self.sizes.arena_bytes},
            "code_bytes": self.sizes.code_bytes,
            "ram_code_bytes": self.sizes.ram_code_bytes,
            "stack_bytes": self.sizes.stack_bytes,
            "spare_stack_bytes": self.sizes.spare_stack_bytes,
        }


@dataclass(frozen=True)
class BuildReport:
    """All boards of a project."""

    boards: tuple[BuiltBoard, ...]

    @classmethod
    def read(cls, project: Project, folder: Path) -> "BuildReport":
        """Read the programs of the generated folder `folder`."""
        compiler = compiler_version() if shutil.which(COMPILER) else project.predicted_compiler  # nothing was built
        other = "" if compiler == project.predicted_compiler else compiler
        elfs = ((board, board.elf(folder)) for board in project.boards)
        return cls(tuple(BuiltBoard(board, elf, read_program(board, elf), other) for board, elf in elfs))

    def check(self) -> None:
        """Raise CheckFailedError for the first board whose check fails."""
        for board in self.boards:
            board.check()

    def to_json(self) -> dict[str, Any]:
        """Return all sizes as JSON values."""
        return {"boards": [board.to_json() for board in self.boards]}


def read_program(board: ProjectBoard, elf: Path) -> ElfSizes:
    """Return the sizes of a board's program. Raises ToolError when the file is not ELF."""
    described = load_board(board.name)
    external = described.external.memory if described.external else None
    return read_elf(elf, described.device, described.code_ram, external)


def print_build(report: BuildReport, console: Console) -> None:
    """Print the use of all memories, and built and planned or predicted sizes."""
    print_memory([(built.board.title, built.sizes) for built in report.boards], console)
    for built in report.boards:
        board, sizes = built.board, built.sizes
        console.print(
            f"{board.title}: weights {sizes.weights_bytes} bytes (planned {board.weights_bytes}), "
            f"arena and buffers {sizes.arena_bytes} bytes (planned {board.arena_bytes}), code {sizes.code_bytes} bytes",
            highlight=False,
        )
        for line in _predictions(built):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        if board.code_memory_reason:
            line = f"{board.title}: code of its layers in {code_memory_text(board)}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def _predictions(built: BuiltBoard) -> Iterator[str]:
    """Yield the predicted memory beside the built one, and a warning where they differ."""
    board, sizes = built.board, built.sizes
    if board.predicted_flash_bytes is not None:
        flash = f"flash {sizes.flash.used_bytes} bytes (predicted {board.predicted_flash_bytes})"
        ram = f"static RAM {sizes.ram_bytes} bytes (predicted {board.predicted_ram_bytes})"
        stacks = f"{sizes.stack_bytes} for the stack and {sizes.spare_stack_bytes} for that of the fault handler"
        yield f"{board.title}: {flash}, {ram}, of which {stacks}"
    builder = f"; {built.other_compiler} built it" if built.other_compiler else ""
    yield from (f"warning: {line}{builder}" for line in built.differences())
