"""Published cycles of assembler whose sources are no part of this project, and what they take on virtual boards."""

import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.bare_network import build_flags, set_memory, symbols_of
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.errors import CheckFailedError, UsageError
from virtual_stm32 import VirtualBoard, VirtualRig

_FIGURES = Path(__file__).with_name("published.toml")
_ENDED = 0x600D  # RAM is random at first
_TIME_LIMIT_PS = 10**13
LINKER_SCRIPT = """
ENTRY(reset)
MEMORY {{
  FLASH (rx) : ORIGIN = {flash}, LENGTH = {flash_bytes}
  RAM (rw) : ORIGIN = {ram}, LENGTH = {ram_bytes}
}}
SECTIONS {{
  .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) }} > FLASH
  .data : ALIGN(4) {{ data_begin = .; *(.data*) . = ALIGN(4); data_end = .; }} > RAM AT> FLASH
  data_in_flash = LOADADDR(.data);
  .bss (NOLOAD) : ALIGN(4) {{ bss_begin = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; }} > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
  /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.attributes) }}
}}
"""
# The last of 16 calls counts, as caches and predictions are those of a loop.
_PROGRAM = """
#include <stdint.h>
#include <string.h>
#include <{header}>
#define COUNTER (*(volatile uint32_t *)0xE0001004u)
extern uint32_t data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[];
extern const uint8_t stack_top[];
uint8_t keys[240] __attribute__((aligned(8))), key[32] __attribute__((aligned(8)));
uint8_t text[16] __attribute__((aligned(8))), out[16] __attribute__((aligned(8)));
volatile uint32_t cycles[{count}], done, wrong;
static const uint8_t encrypted[] = {{0x69, 0xC4, 0xE0, 0xD8, 0x6A, 0x7B, 0x04, 0x30,
                                    0xD8, 0xCD, 0xB7, 0x80, 0x70, 0xB4, 0xC5, 0x5A}}; /* FIPS 197, appendix C.1 */
void reset(void) {{
{memory}
  for (uint32_t *to = data_begin, *from = data_in_flash; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  for (uint32_t i = 0; i < 32; i++) key[i] = (uint8_t)i;
  for (uint32_t i = 0; i < 16; i++) text[i] = (uint8_t)(0x11 * i);
  *(volatile uint32_t *)0xE000EDFCu |= 1u << 24;
  *(volatile uint32_t *)0xE0001000u |= 1u;
{calls}
  done = {ended};
  for (;;) __asm__ volatile("wfi");
}}
__attribute__((section(".vectors"), used)) const void *const vectors[] = {{stack_top, (const void *)reset}};
"""
_CALL = """  for (uint32_t i = 0; i < 16; i++) {{
    {before}
    uint32_t start = COUNTER;
    {call};
    cycles[{index}] = COUNTER - start;
  }}"""
_CHECK = "  wrong += memcmp(out, encrypted, sizeof encrypted) != 0;"


@dataclass(frozen=True)
class Routine:
    """Cycles of a function that were measured on hardware, and those of a virtual board."""

    title: str
    board: str
    published: int
    virtual: int

    @property
    def ratio(self) -> float:
        """Virtual by published cycles."""
        return self.virtual / self.published


def run_routines(folder: Path) -> Iterator[Routine]:
    """Build and run the functions whose sources `folder` has.

    Raises UsageError where it lacks some, CheckFailedError for a wrong result.
    """
    for group in tomllib.loads(_FIGURES.read_text(encoding="utf-8"))["assembler"]:
        for call, virtual in zip(group["calls"], cycles_of(group, folder), strict=True):
            yield Routine(f"{group['title']}, {call['name']}", group["board"], call["cycles"], virtual)


def cycles_of(group: Mapping[str, Any], folder: Path) -> Sequence[int]:
    """Return the virtual cycles of the calls of a group, a table of published.toml. Raises as `run_routines`."""
    board = load_board(group["board"])
    sources = [path for pattern in group["sources"] for path in sorted(folder.glob(pattern))]
    if not (folder / group["header"]).is_file() or not sources:
        raise UsageError(f"{folder} has no {group['header']}: clone https://{group['repository']} there")
    calls: list[str] = []
    for index, call in enumerate(group["calls"]):
        calls.append(_CALL.format(index=index, before=call["before"], call=call["call"]))
        calls += [_CHECK] if call.get("is_checked") else []
    program = _PROGRAM.format(
        header=group["header"],
        count=len(group["calls"]),
        memory=set_memory(board),
        calls="\n".join(calls),
        ended=_ENDED,
    )
    with tempfile.TemporaryDirectory() as name:
        elf = _build(board, Path(name), program, folder, sources)
        symbols = {symbol: address for symbol, address, _ in symbols_of(elf)}
        rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=group["memory"] == "ideal")
        rig.run_until(_TIME_LIMIT_PS, lambda: rig.read_word(0, symbols["done"]) == _ENDED)
        if rig.read_word(0, symbols["done"]) != _ENDED or rig.read_word(0, symbols["wrong"]):
            raise CheckFailedError(f"{group['title']} on {board.name} did not end, or with wrong results")
        return [rig.read_word(0, symbols["cycles"] + 4 * index) for index in range(len(group["calls"]))]


def _build(board: Board, folder: Path, program: str, root: Path, sources: Sequence[Path]) -> Path:
    flash, ram = board.device.flash, board.near_memory
    script, main, elf = folder / "link.ld", folder / "main.c", folder / "program.elf"
    script.write_text(
        LINKER_SCRIPT.format(flash=flash.start, flash_bytes=flash.size_bytes, ram=ram.start, ram_bytes=ram.size_bytes)
    )
    main.write_text(program)
    core = [flag for flag in build_flags(board) if flag.startswith("-m")]
    flags = [*core, "-O2", "-w", f"-I{root}", f"-T{script}", "-nostartfiles", "--specs=nano.specs"]
    command = [COMPILER, *flags, *map(str, sources), str(main), "-o", str(elf)]
    subprocess.run(command, check=True, timeout=120)
    return elf
