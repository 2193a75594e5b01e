"""Small programs for virtual boards, in assembly and C, built with the cross compiler."""

import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from session.compiler_cache import path_in
from tinysplit.boards.board import Board
from tinysplit.codegen.platformio_ini import COMPILER, macros

_FIRMWARE = Path(__file__).parents[3] / "firmware"
_FPU = {
    "cortex-m0": (),
    "cortex-m0plus": (),
    "cortex-m3": (),
    "cortex-m4": ("-mfpu=fpv4-sp-d16",),
    "cortex-m7": ("-mfpu=fpv5-d16",),
    "cortex-m33": ("-mfpu=fpv5-sp-d16",),
}
_LINKER_SCRIPT = """
ENTRY(reset)
MEMORY {{
  FLASH (rx) : ORIGIN = {flash}, LENGTH = {flash_bytes}
  RAM (rw) : ORIGIN = {ram}, LENGTH = {ram_bytes}
  CODE (rwx) : ORIGIN = {code}, LENGTH = 4096
}}
SECTIONS {{
  .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) }} > FLASH
  .ram_code : {{ ram_code_start = .; *(.ram_code) ram_code_end = .; }} > CODE AT> FLASH
  ram_code_load = LOADADDR(.ram_code);
  .bss (NOLOAD) : {{ *(.data*) *(.bss*) *(COMMON) }} > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
  /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.attributes) }}
}}
"""
# What compilers call in programs without a C library, which include <stddef.h> and <stdint.h>.
MEMORY_FUNCTIONS = """
void *memset(void *to, int value, size_t size) {
  for (volatile uint8_t *byte = to; size > 0; size--) *byte++ = (uint8_t)value;
  return to;
}

void *memcpy(void *to, const void *from, size_t size) {
  volatile uint8_t *byte = to;
  for (const uint8_t *source = from; size > 0; size--) *byte++ = *source++;
  return to;
}

int memcmp(const void *a, const void *b, size_t size) {
  const volatile uint8_t *x = a, *y = b;
  for (; size > 0; size--, x++, y++) if (*x != *y) return 1;
  return 0;
}
"""
_VECTORS = """
__asm(".pushsection .vectors, \\"a\\"\\n.word stack_top, reset{entries}\\n.popsection");
"""


def build(
    folder: Path,
    board: Board,
    source: str,
    handlers: dict[int, str] | None = None,
    firmware: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Path:
    """Build C `source`, which defines reset() and may include "device.h", with `handlers` by exception number.

    It is linked with `firmware`, files of firmware/common, each compiled on its own, with more `options`.
    """
    handlers = handlers or {}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "link.ld").write_text(_linker_script(board))
    entries = "".join(f", {handlers.get(number, 0)}" for number in range(2, max(handlers, default=1) + 1))
    (folder / "main.c").write_text(source + _VECTORS.format(entries=entries))
    core = board.device.core
    flags = [f"-mcpu={core}", "-mthumb", *_FPU[core], *(["-mfloat-abi=hard"] if _FPU[core] else [])]
    flags += ["-O2", "-masm-syntax-unified", "-nostdlib", "-ffreestanding", *options]
    includes = [f"-I{path_in(folder, _FIRMWARE / name)}" for name in (board.device.family, "common")]
    macro_options = [f"-D{macro}" for macro in macros(board)]
    objects = []
    for path in ("main.c", *(path_in(folder, _FIRMWARE / "common" / name) for name in firmware)):
        objects.append(f"{Path(path).stem}.o")
        _compile(folder, *flags, *includes, *macro_options, "-c", path, "-o", objects[-1])
    _compile(folder, *flags, "-Tlink.ld", *objects, "-lgcc", "-o", "program.elf")
    return folder / "program.elf"


def _compile(folder: Path, *arguments: str) -> None:
    """Run the compiler in `folder`, whose path is in no command, for ccache to know the sources again."""
    subprocess.run([COMPILER, *arguments], cwd=folder, check=True)


@lru_cache
def _linker_script(board: Board) -> str:
    """Return a script with .ram_code on the code buses, but not at address 0, or at the data address of RAM."""
    flash, ram = board.device.flash, board.device.largest_ram
    return _LINKER_SCRIPT.format(
        flash=flash.start,
        flash_bytes=flash.size_bytes,
        ram=ram.start,
        ram_bytes=ram.size_bytes,
        code=(board.code_ram and board.code_ram.code_start) or ram.start + 4096,
    )


def assembler(*lines: str) -> str:
    """Return a reset() with these instructions, followed by WFI."""
    text = "".join(f'"{line}\\n"' for line in (*lines, "9: wfi", "b 9b", ".ltorg"))
    return f"__attribute__((naked)) void reset(void) {{ __asm volatile({text}); }}"


def address_of(symbol: str, elf: Path) -> int:
    return symbols(elf)[symbol]


def symbols(elf: Path) -> dict[str, int]:
    """Return the addresses of all symbols of a program that are defined in it."""
    command = ["arm-none-eabi-nm", "--defined-only", str(elf)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name: int(address, 16) for address, _, name in map(str.split, table.splitlines())}


def symbol_sizes(file: Path, kinds: str) -> list[int]:
    """Return the sizes of the symbols of these kinds, as nm names them."""
    command = ["arm-none-eabi-nm", "--print-size", "--defined-only", str(file)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [int(row[1], 16) for row in rows if len(row) == 4 and row[2] in kinds]


def clock_settings(board: Board) -> str:
    """Return the fields of `clock_settings_t` as the project's board.c has them."""
    clock = board.clock
    names = ("core_hz", "pll_m", "pll_n", "pll_r", "ahb_divider", "apb1_divider", "apb2_divider", "flash_wait_states")
    settings = (*((name, getattr(clock, name)) for name in names), *clock.settings)
    return ", ".join(f".{name} = {value}" for name, value in settings)
