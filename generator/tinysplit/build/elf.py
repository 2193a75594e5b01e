"""Memory use of a program, read from its ELF file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, Symbol
from rich.console import Console
from rich.progress_bar import ProgressBar

from tinysplit.boards.board import CodeRam, Device
from tinysplit.boards.parts import Memory
from tinysplit.common.errors import CheckFailedError, ToolError
from tinysplit.common.input_files.elf_file import open_elf
from tinysplit.common.tables import plain_table

WEIGHTS_SECTION = ".weights"
PLAIN_SECTION = ".weights_plain"  # of encrypted ones, in RAM
EXTERNAL_SECTION = ".external"
VARIABLES_SECTION, FAR_SECTION = ".data", ".weights_far"  # with constants that are in RAM from the start
SPARE_STACK_BEGIN, STACK_BEGIN, STACK_END = "_spare_start", "_stack_start", "_estack"  # of linker.ld
ARENA_SYMBOL = "network_arena"

_LAYER_ARRAY = re.compile(r"layer_\d+_\w+")
_LAYER_CODE = re.compile(r"layer_(\d+)(?!_copy_constants|_stream)([._]|$)")
_CODE = {"STT_FUNC", "STT_OBJECT"}  # functions, and descriptions of layers for shared functions
_KERNELS = "dsp_"  # prefix of functions that several layers share


_WITH_ARRAYS = (WEIGHTS_SECTION, EXTERNAL_SECTION, PLAIN_SECTION, VARIABLES_SECTION, FAR_SECTION)


@dataclass(frozen=True)
class MemoryUse:
    """Use of one memory by a program."""

    memory: Memory
    used_bytes: int

    @property
    def over_bytes(self) -> int:
        """Bytes that exceed the memory."""
        return max(0, self.used_bytes - self.memory.size_bytes)


@dataclass(frozen=True)
class ElfSizes:
    """Sizes of a program in bytes; `flash` includes code, weights and initial values of variables."""

    flash: MemoryUse
    ram: tuple[
        MemoryUse, ...
    ]  # in the order of Device.ram, and that for code alone; arena, variables, both stacks, code
    weights_bytes: int  # arrays layer_<n>_<name>, without padding between them
    arena_bytes: int  # activations
    stack_bytes: int  # that the program can use, as its boards tell it
    layer_code_bytes: dict[int, int]  # of kernels by number of the layer, with parts that the compiler split off
    shared_code_bytes: dict[str, int]  # by name; functions that several layers share, linked once
    spare_stack_bytes: int = 0  # of the fault handler
    external: MemoryUse | None = None  # the external memory, where it has weights
    external_weights_bytes: int = 0  # of weights_bytes
    ram_code_bytes: int = 0  # code that startup copies into RAM: it counts in flash and in RAM

    @property
    def ram_bytes(self) -> int:
        """Bytes of all RAM: arena, variables, both stacks, and code that startup copies there."""
        return sum(use.used_bytes for use in self.ram)

    @property
    def code_bytes(self) -> int:
        """Flash without the weights."""
        return self.flash.used_bytes - (self.weights_bytes - self.external_weights_bytes)

    @property
    def memories(self) -> tuple[MemoryUse, ...]:
        """The use of all memories."""
        return (self.flash, *((self.external,) if self.external else ()), *self.ram)


def read_elf(path: Path, device: Device, code_ram: CodeRam | None = None, external: Memory | None = None) -> ElfSizes:
    """Read the sizes of a program that was built for `device`. Raises ToolError when the file is not ELF.

    `code_ram` is the RAM of the device that is also on the code buses, `external` the external memory of the board.
    """
    with open_elf(path, ToolError, "build the project again") as elf:
        return _sizes(elf, device, code_ram, external)


def compiler_of(path: Path) -> str:
    """Return the compiler of a program as it has noted it, "" where it has not. Raises ToolError when it is not ELF."""
    with open_elf(path, ToolError, "build the project again") as elf:
        comment = elf.get_section_by_name(".comment")
        notes = comment.data().decode("ascii", "replace").split("\0") if comment else ()
        return "; ".join(note for note in notes if note)


def _sizes(elf: ELFFile, device: Device, code_ram: CodeRam | None, external: Memory | None) -> ElfSizes:
    sections = list(elf.iter_sections())
    weights = {i: each.name for i, each in enumerate(sections) if each.name in _WITH_ARRAYS}
    symbols = list(_symbols(elf))
    code = [each for each in symbols if each["st_info"]["type"] in _CODE and each["st_shndx"] not in weights]
    arrays = [each for each in symbols if each["st_shndx"] in weights and _LAYER_ARRAY.fullmatch(each.name)]
    outside_bytes = _bytes_in(external, sections) if external else 0
    flash_bytes = sum(section["sh_size"] for section in sections if _is_loaded(section)) - outside_bytes
    return ElfSizes(
        flash=MemoryUse(device.flash, flash_bytes),
        external=MemoryUse(external, outside_bytes) if external and outside_bytes else None,
        ram=tuple(_ram_uses(device, sections, code_ram)),
        weights_bytes=sum(each["st_size"] for each in arrays),
        external_weights_bytes=sum(each["st_size"] for each in arrays if weights[each["st_shndx"]] == EXTERNAL_SECTION),
        arena_bytes=sum(symbol["st_size"] for symbol in symbols if symbol.name == ARENA_SYMBOL),
        stack_bytes=_between(symbols, STACK_BEGIN, STACK_END),
        spare_stack_bytes=_between(symbols, SPARE_STACK_BEGIN, STACK_BEGIN),
        ram_code_bytes=_ram_code_bytes(sections, code_ram),
        layer_code_bytes=_layer_code_bytes(code),
        shared_code_bytes=_shared_code_bytes(code),
    )


def _layer_code_bytes(code: Sequence[Symbol]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for symbol in code:
        layer = _LAYER_CODE.match(symbol.name)
        if layer:
            sizes[int(layer[1])] = sizes.get(int(layer[1]), 0) + symbol["st_size"]
    return dict(sorted(sizes.items()))


def _shared_code_bytes(code: Sequence[Symbol]) -> dict[str, int]:
    """Return the sizes of weak functions, including parts that the compiler split off and helpers by name."""
    functions = [function for function in code if function["st_info"]["type"] == "STT_FUNC"]
    weak = {
        function.name
        for function in functions
        if function["st_info"]["bind"] == "STB_WEAK" and function.name.startswith(_KERNELS)
    }
    sizes = dict.fromkeys(sorted(weak), 0)
    for function in functions:
        name = next((name for name in weak if re.fullmatch(rf"{name}([._].*)?", function.name)), None)
        if name:
            sizes[name] += function["st_size"]
    return sizes


def _symbols(elf: ELFFile) -> Iterator[Symbol]:
    table = elf.get_section_by_name(".symtab")
    return table.iter_symbols() if table else iter(())


def _between(symbols: Sequence[Symbol], begin: str, end: str) -> int:
    """Return the bytes from one symbol to another, 0 where the program has not got both."""
    addresses = {symbol.name: symbol["st_value"] for symbol in symbols if symbol.name in (begin, end)}
    return int(addresses[end] - addresses[begin]) if len(addresses) == 2 else 0  # noqa: PLR2004 - both


def _is_loaded(section: Section) -> bool:
    """Return whether a section is stored in flash. This includes .data, which the start-up code copies into RAM."""
    return bool(section["sh_flags"] & SH_FLAGS.SHF_ALLOC) and section["sh_type"] != "SHT_NOBITS"


def _ram_uses(device: Device, sections: Sequence[Section], code_ram: CodeRam | None) -> Iterator[MemoryUse]:
    for memory in device.ram:
        yield MemoryUse(memory, _ram_bytes(memory, sections, code_ram))
    if code_ram and code_ram.is_apart:
        memory = Memory(code_ram.name, code_ram.code_start, code_ram.size_bytes)
        yield MemoryUse(memory, _ram_code_bytes(sections, code_ram))


def _ram_bytes(memory: Memory, sections: Sequence[Section], code_ram: CodeRam | None) -> int:
    """Return the bytes of data in a memory, and of code where it is on the code buses."""
    has_code = code_ram is not None and memory.start <= code_ram.data_start < memory.end
    return _bytes_in(memory, sections) + (_ram_code_bytes(sections, code_ram) if has_code else 0)


def _ram_code_bytes(sections: Sequence[Section], code_ram: CodeRam | None) -> int:
    return _bytes_in(Memory(code_ram.name, code_ram.code_start, code_ram.size_bytes), sections) if code_ram else 0


def _bytes_in(memory: Memory, sections: Sequence[Section]) -> int:
    return sum(
        section["sh_size"]
        for section in sections
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and memory.start <= section["sh_addr"] < memory.end
    )


def check_memory(board: str, sizes: ElfSizes) -> None:
    """Raise CheckFailedError when the program of `board` exceeds one of its memories."""
    for use in sizes.memories:
        if use.over_bytes:
            raise CheckFailedError(
                f"{board}: {use.memory.name} is over budget by {use.over_bytes} bytes "
                f"({use.used_bytes} of {use.memory.size_bytes})"
            )


def print_memory(programs: Sequence[tuple[str, ElfSizes]], console: Console) -> None:
    """Print a bar for every memory of every board; `programs` are pairs of title and sizes."""
    table = plain_table("board", "memory", "", numbers=("used", "of bytes", "%"))
    for board, sizes in programs:
        for use in sizes.memories:
            total = use.memory.size_bytes
            bar = ProgressBar(
                total, min(use.used_bytes, total), width=30, complete_style="red" if use.over_bytes else "green"
            )
            percent = f"{100 * use.used_bytes / total:.1f}"
            table.add_row(board, use.memory.name, bar, str(use.used_bytes), str(total), percent)
    console.print(table)
