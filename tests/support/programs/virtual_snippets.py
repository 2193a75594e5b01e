"""Cycles of many short pieces of assembly, all in one program for a virtual board."""

from collections.abc import Iterable
from pathlib import Path

from programs.virtual_firmware import build, symbols
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.timing_rules import SHIPPED, TimingFile

MS_PS = 10**9
# Registers at the start of every piece: numbers in r0 to r3, aligned addresses of RAM in r4, r5 and r7, an index in r6.
SETUP = (
    *("ldr r0, =100", "ldr r1, =7", "movs r2, #3", "movs r3, #0"),
    *("ldr r4, =0x20000100", "ldr r5, =0x20000200", "movs r6, #4", "ldr r7, =0x20000300"),
)
END = ("9: wfi", "b 9b", ".ltorg")


class Snippets:
    """Pieces of assembly with lines separated by semicolons; each begins on a multiple of 16 bytes."""

    def __init__(self, folder: Path, board_name: str, pieces: Iterable[str], setup: tuple[str, ...] = ()) -> None:
        self._board = load_board(board_name)
        self._names = {piece: f"piece_{number}" for number, piece in enumerate(pieces)}
        functions = [_function("reset", (*SETUP, *setup))]
        functions += [_function(name, piece.split("; ")) for piece, name in self._names.items()]
        self._elf = build(folder, self._board, "\n".join(functions))
        self._symbols = symbols(self._elf)

    def cycles(self, piece: str, *, finds_loops: bool = True, timing: TimingFile = SHIPPED) -> int:
        """Return the cycles from the first line to the end of the WFI after the last."""
        board = VirtualBoard(self._board, self._elf, timing=timing)
        rig = VirtualRig([board], finds_loops=finds_loops, has_ideal_memory=True)
        rig.run_until(MS_PS)
        start = rig.cycles(0)
        rig.jump(0, self._symbols[self._names[piece]])
        rig.run_until(2 * MS_PS)
        return rig.cycles(0) - start


def _function(name: str, lines: Iterable[str]) -> str:
    text = "".join(f'"{line}\\n"' for line in (*lines, *END))
    return f"__attribute__((naked, aligned(16))) void {name}(void) {{ __asm volatile({text}); }}"
