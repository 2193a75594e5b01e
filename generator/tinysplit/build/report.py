"""Compares built programs with the plan: weights and arena must be equal, memories must not be exceeded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tinysplit.boards.catalog import load_board
from tinysplit.build.elf import ElfSizes, check_memory, print_memory, read_elf
from tinysplit.common.errors import CheckFailedError
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.project.report import code_memory_text


@dataclass(frozen=True)
class BuiltBoard:
    """A board and the sizes of its program."""

    board: ProjectBoard
    elf: Path
    sizes: ElfSizes

    def check(self) -> None:
        """Raise CheckFailedError when a memory is over budget or weights or arena differ from the plan."""
        check_memory(self.board.title, self.sizes)
        for what, planned, built in (
            ("weights", self.board.weights_bytes, self.sizes.weights_bytes),
            ("arena and buffers", self.board.arena_bytes, self.sizes.arena_bytes),
        ):
            if planned != built:
                raise CheckFailedError(f"{self.board.title}: {what} take {built} bytes where {planned} were planned")

    def to_json(self) -> dict[str, Any]:
        """Return the sizes in bytes as JSON values."""
        memories = (self.sizes.flash, *self.sizes.ram)
        return {
            "number": self.board.number,
            "name": self.board.name,
            "elf": str(self.elf),
            "memories": [
                {"name": use.memory.name, "used_bytes": use.used_bytes, "size_bytes": use.memory.size_bytes}
                for use in memories
            ],
            "weights_bytes": {"planned": self.board.weights_bytes, "built": self.sizes.weights_bytes},
            "arena_bytes": {"planned": self.board.arena_bytes, "built": self.sizes.arena_bytes},
            "code_bytes": self.sizes.code_bytes,
            "ram_code_bytes": self.sizes.ram_code_bytes,
            "stack_bytes": self.sizes.stack_bytes,
        }


@dataclass(frozen=True)
class BuildReport:
    """All boards of a project."""

    boards: tuple[BuiltBoard, ...]

    @classmethod
    def read(cls, project: Project, elfs: Sequence[Path]) -> "BuildReport":
        """Read the programs, in the order of the project's boards."""
        return cls(
            tuple(BuiltBoard(board, elf, _read(board, elf)) for board, elf in zip(project.boards, elfs, strict=True))
        )

    def check(self) -> None:
        """Raise CheckFailedError for the first board whose check fails."""
        for board in self.boards:
            board.check()

    def to_json(self) -> dict[str, Any]:
        """Return all sizes as JSON values."""
        return {"boards": [board.to_json() for board in self.boards]}


def _read(board: ProjectBoard, elf: Path) -> ElfSizes:
    described = load_board(board.name)
    return read_elf(elf, described.device, described.code_ram)


def print_build(report: BuildReport, console: Console) -> None:
    """Print the use of all memories, and built and planned sizes of weights and arena."""
    print_memory([(built.board.title, built.sizes) for built in report.boards], console)
    for built in report.boards:
        board, sizes = built.board, built.sizes
        console.print(
            f"{board.title}: weights {sizes.weights_bytes} bytes (planned {board.weights_bytes}), "
            f"arena and buffers {sizes.arena_bytes} bytes (planned {board.arena_bytes}), code {sizes.code_bytes} bytes",
            highlight=False,
        )
        if board.code_memory_reason:
            line = f"{board.title}: code of its layers in {code_memory_text(board)}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
