"""What a built program takes of its board's memories, read from its ELF file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, Symbol
from rich.console import Console
from rich.progress_bar import ProgressBar

from tinysplit.errors import CheckFailedError, ToolError
from tinysplit.hardware import Device, Memory
from tinysplit.tables import plain_table

WEIGHTS_SECTION = ".weights"
STACK_SECTION = ".stack"
ARENA_SYMBOL = "network_arena"

_LAYER_ARRAY = re.compile(r"layer_\d+_\w+")
_LAYER_FUNCTION = re.compile(r"layer_(\d+)([._]|$)")


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of one memory that the program takes."""

    memory: Memory
    used_bytes: int

    @property
    def over_bytes(self) -> int:
        """Bytes that do not fit."""
        return max(0, self.used_bytes - self.memory.size_bytes)


@dataclass(frozen=True)
class ElfSizes:
    """Sizes of a program; `flash` holds code, weights and the start values of variables."""

    flash: MemoryUse
    ram: tuple[MemoryUse, ...]  # in the order of Device.ram; arena, variables and the stack's reserve
    weights_bytes: int  # the arrays layer_<n>_<name>, without the padding between them
    arena_bytes: int  # the activations
    stack_bytes: int  # the stack's reserve
    layer_code_bytes: dict[int, int]  # by the layer's number; with the functions that the compiler split off

    @property
    def code_bytes(self) -> int:
        """Flash beside the weights."""
        return self.flash.used_bytes - self.weights_bytes


def read_elf(path: Path, device: Device) -> ElfSizes:
    """Read the program that was built for `device`. Raises ToolError when the file is no ELF file."""
    try:
        with path.open("rb") as stream:
            return _sizes(ELFFile(stream), device)
    except (OSError, ELFError) as error:
        raise ToolError(f"{path} is no readable ELF file ({error}): build the project again") from error


def _sizes(elf: ELFFile, device: Device) -> ElfSizes:
    sections = list(elf.iter_sections())
    weights_index = next((i for i, section in enumerate(sections) if section.name == WEIGHTS_SECTION), None)
    symbols = list(_symbols(elf))
    layer_code_bytes: dict[int, int] = {}
    for symbol in symbols:
        layer = _LAYER_FUNCTION.match(symbol.name)
        if layer and symbol["st_info"]["type"] == "STT_FUNC":
            number = int(layer[1])
            layer_code_bytes[number] = layer_code_bytes.get(number, 0) + symbol["st_size"]
    return ElfSizes(
        flash=MemoryUse(device.flash, sum(section["sh_size"] for section in sections if _is_loaded(section))),
        ram=tuple(MemoryUse(memory, _bytes_in(memory, sections)) for memory in device.ram),
        weights_bytes=sum(
            symbol["st_size"]
            for symbol in symbols
            if symbol["st_shndx"] == weights_index and _LAYER_ARRAY.fullmatch(symbol.name)
        ),
        arena_bytes=sum(symbol["st_size"] for symbol in symbols if symbol.name == ARENA_SYMBOL),
        stack_bytes=sum(section["sh_size"] for section in sections if section.name == STACK_SECTION),
        layer_code_bytes=dict(sorted(layer_code_bytes.items())),
    )


def _symbols(elf: ELFFile) -> Iterator[Symbol]:
    table = elf.get_section_by_name(".symtab")
    return table.iter_symbols() if table else iter(())


def _is_loaded(section: Section) -> bool:
    """Say whether the section's bytes lie in flash: also those of .data, which start-up copies into RAM."""
    return bool(section["sh_flags"] & SH_FLAGS.SHF_ALLOC) and section["sh_type"] != "SHT_NOBITS"


def _bytes_in(memory: Memory, sections: Sequence[Section]) -> int:
    return sum(
        section["sh_size"]
        for section in sections
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC
        and memory.start <= section["sh_addr"] < memory.start + memory.size_bytes
    )


def check_memory(board: str, sizes: ElfSizes) -> None:
    """Raise CheckFailedError when the program of `board` is larger than one of its memories."""
    for use in (sizes.flash, *sizes.ram):
        if use.over_bytes:
            raise CheckFailedError(
                f"{board}: {use.memory.name} is over budget by {use.over_bytes} bytes "
                f"({use.used_bytes} of {use.memory.size_bytes})"
            )


def print_memory(programs: Sequence[tuple[str, ElfSizes]], console: Console) -> None:
    """Print a bar for every memory of every board; `programs` are pairs of a board's title and its program's sizes."""
    table = plain_table("board", "memory", "", numbers=("used", "of bytes", "%"))
    for board, sizes in programs:
        for use in (sizes.flash, *sizes.ram):
            total = use.memory.size_bytes
            bar = ProgressBar(
                total, min(use.used_bytes, total), width=30, complete_style="red" if use.over_bytes else "green"
            )
            percent = f"{100 * use.used_bytes / total:.1f}"
            table.add_row(board, use.memory.name, bar, str(use.used_bytes), str(total), percent)
    console.print(table)
