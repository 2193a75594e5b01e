"""ELF files: segments to load, and symbols by address."""

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import P_FLAGS

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_family
from tinysplit.boards.parts import Memory
from tinysplit.common.errors import InputError
from tinysplit.common.input_files.elf_file import open_elf

_THUMB = 1
_NO_DATA = b"\xff"  # in external memory


@dataclass(frozen=True)
class LoadedProgram:
    """Segments by physical address, those with code by the address where it runs, and functions sorted by address."""

    segments: tuple[tuple[int, bytes], ...]
    code: tuple[tuple[int, bytes], ...]
    functions: tuple[tuple[int, str], ...]

    def flash_image(self, board: Board, elf: Path) -> bytes:
        """Return the contents of the flash of `board`. Raises InputError for a segment outside its memories."""
        for address, data in self.segments:
            if not any(_holds(memory, address, data) for memory in _memories(board)):
                raise InputError(f"{elf} has {len(data)} bytes at 0x{address:08x}, outside the flash of {board.name}")
        return self._image(board.device.flash, erased(board))

    def external_image(self, board: Board) -> bytes:
        """Return the contents of the external memory of `board`, none without one."""
        return self._image(board.external.memory, _NO_DATA) if board.external else b""

    def _image(self, memory: Memory, empty: bytes) -> bytes:
        image = bytearray(empty * memory.size_bytes)
        for address, data in self.segments:
            if _holds(memory, address, data):
                offset = address - memory.start
                image[offset : offset + len(data)] = data
        return bytes(image)

    def ram_code(self, board: Board) -> dict[int, bytes]:
        """Return the code that runs outside the flash of `board`, by its address."""
        flash = board.device.flash
        return {address: data for address, data in self.code if not flash.start <= address < flash.end}

    def symbol(self, address: int) -> str:
        """Return the function at `address` as "name+0x12", or "no symbol"."""
        index = bisect_right(self.functions, (address, "\uffff")) - 1
        if index < 0:
            return "no symbol"
        start, name = self.functions[index]
        return f"{name}+0x{address - start:x}"


def erased(board: Board) -> bytes:
    """Return a byte of erased flash."""
    return bytes([load_family(board.device.name).erased_byte])


def _memories(board: Board) -> tuple[Memory, ...]:
    return (board.device.flash, board.external.memory) if board.external else (board.device.flash,)


def _holds(memory: Memory, address: int, data: bytes) -> bool:
    return memory.start <= address <= memory.end - len(data)


def load_program(path: Path) -> LoadedProgram:
    """Read an ELF file. Raises InputError when it cannot be read."""
    with open_elf(path, InputError, "build it first") as elf:
        loaded = [each for each in elf.iter_segments("PT_LOAD") if each["p_filesz"]]
        segments = tuple((each["p_paddr"], each.data()) for each in loaded)
        code = tuple((each["p_vaddr"], each.data()) for each in loaded if each["p_flags"] & P_FLAGS.PF_X)
        table = elf.get_section_by_name(".symtab")
        symbols = table.iter_symbols() if table else ()
        functions = {s["st_value"] & ~_THUMB: s.name for s in symbols if s["st_info"]["type"] == "STT_FUNC"}
    return LoadedProgram(segments, code, tuple(sorted(functions.items())))
