"""Whole networks on one board: planned, and run without firmware on a virtual board, whose SysTick counts the cycles.

For a run the memories are enlarged so that every tensor has a buffer of its own: cycles do not depend on offsets.
"""

import subprocess
import tempfile
from collections.abc import Container, Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, repeat
from pathlib import Path

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.layer_source import (
    LayerSource,
    c_type,
    copy_function_name,
    file_name,
    function_name,
    render_header,
    render_layer,
)
from tinysplit.codegen.platformio_ini import COMPILER, macros, render_platformio_ini
from tinysplit.common import package_files
from tinysplit.common.alignment import aligned
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable, shipped_table
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.integer_reference import run_layers
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.constants import with_constants_in_ram, with_resident_constants
from tinysplit.plan.plan import BoardPlan, Plan, make_plan
from virtual_stm32 import Stalls, VirtualBoard, VirtualRig
from virtual_stm32.timing_rules import SHIPPED, TimingFile

BOARDS = {
    "cortex-m0": "nucleo_f091rc",
    "cortex-m0plus": "nucleo_g071rb",
    "cortex-m4": "nucleo_l4r5zi",
    "cortex-m7": "nucleo_h743zi",
}
MEMORY_BYTES = 2 << 20
TIME_LIMIT_PS = 1000 * 10**12
LINKER_SCRIPT = """
ENTRY(reset)
MEMORY {{
  FLASH (rx) : ORIGIN = {flash}, LENGTH = {size}
  RAM (rw) : ORIGIN = {ram}, LENGTH = {ram_size}
  CODE_RAM (rx) : ORIGIN = {code_ram}, LENGTH = {code_ram_size}
}}
SECTIONS {{
  .start : {{ KEEP(*(.vectors)) *(.start) }} > FLASH
  .text : {{ code_begin = .; *(.text*) code_end = .; }} {code_place}
  code_in_flash = LOADADDR(.text);
  .constants : {{ *(.rodata*) *(.weights*) }} > FLASH
  .bss (NOLOAD) : {{ *(.data*) *(.bss*) *(COMMON) }} > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
  /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.attributes) }}
}}
"""
MAIN = """
#include "layers.h"
#define SYSTICK ((volatile uint32_t *)0xE000E010u) /* control, reload, current value */
extern const uint8_t stack_top[];
void reset(void);
__attribute__((section(".vectors"), used)) const void *const vectors[] = {{stack_top, (const void *)reset}};
uint32_t cycles[{count}];
uint32_t done;
__attribute__((noinline, section(".start"))) void finished(void) {{ done = 1; }}
extern volatile uint32_t code_begin[], code_end[], code_in_flash[];
{buffers}
static const uint8_t input[{input_bytes}] = {{{input}}};
__attribute__((section(".start"))) void reset(void) {{
  if (code_begin != code_in_flash) {{
    for (volatile uint32_t *to = code_begin, *from = code_in_flash; to < code_end;) *to++ = *from++;
  }}
  for (uint32_t i = 0; i < sizeof input; i++) ((uint8_t *)tensor_0)[i] = input[i];
{memory}
  SYSTICK[1] = 0xFFFFFFu;
{calls}
  finished();
  for (;;) __asm__ volatile("wfi");
}}
"""
# What the firmware of a family sets before it raises the clock: wait states, prefetch and caches.
FLASH_CONTROLS = {
    "stm32g0": 0x40022000,
    "stm32f4": 0x40023C00,
    "stm32l4": 0x40022000,
    "stm32g4": 0x40022000,
    "stm32h7": 0x52002000,
}
ALL_ON = {"stm32g0": 0x300, "stm32f4": 0x700, "stm32l4": 0x700, "stm32g4": 0x700, "stm32h7": 0}
SET_CACHES = (
    "  *(volatile uint32_t *)0x58024418 = 8; *(volatile uint32_t *)0xE000ED14 = 3u << 16; /* AHB at half, caches */"
)
NO_KERNELS = ("vectors", "reset", "input", "finished", "words_copy", "memcpy")  # memcpy() is reset()'s
CALL = "  {before}SYSTICK[2] = 0; SYSTICK[0] = 5; {call}; cycles[{index}] = 0xFFFFFFu - SYSTICK[2]; SYSTICK[0] = 0;"


@dataclass(frozen=True)
class RealMemory:
    """Cycles and stalls of the kernels with the memory of the board at its clock."""

    cycles: tuple[int, ...]
    stalls: tuple[Stalls, ...]


@dataclass(frozen=True, eq=False)
class BareRun:
    """Cycles of the kernels; `code_bytes` is the code of all layers and of the functions that they share."""

    kernels: tuple[LayerSource, ...]
    cycles: tuple[int, ...]
    code_bytes: int
    real: RealMemory | None

    @property
    def flash_bytes(self) -> int:
        """Code and constants of all layers."""
        return self.code_bytes + sum(source.weights_bytes for source in self.kernels)


def run_bare(
    table: CycleTable,
    quantized: QuantizedGraph,
    board_name: str,
    x: IntArray,
    level: str = "",
    named: str | Sequence[str] | None = None,
    *,
    has_real_memory: bool = False,
    copied: Container[int] = (),
    resident: Container[int] = (),
    has_ram_code: bool = False,
    timing: TimingFile = SHIPPED,
) -> BareRun:
    """Build and run the network for a board with ideal memory, and again with its own if `has_real_memory`.

    The constants of the layers (from 0) in `copied` are copied to RAM before the layer runs, and that is counted; those
    of layers in `resident` lie there. With `has_ram_code` all code runs from the RAM on the code buses.
    `level` replaces the optimisation level of its projects, `named` is the kernel or scheme of layers that allow it, of
    each or of all; `timing` has the rules of the virtual boards. Raises CheckFailedError if the output is not that of
    the integer reference.
    """
    board = enlarged(load_board(board_name))
    names = repeat(named) if named is None or isinstance(named, str) else named
    chosen = (
        LayerSource.choose(table, *each)
        for each in zip(quantized.layers, repeat(board.device.core), names, strict=False)
    )
    kernels = tuple(
        _with_copy(source) if index in copied or index in resident else source for index, source in enumerate(chosen)
    )
    numbered = dict(enumerate(kernels, 1))
    texts = {"layers.h": render_header(numbered), "main.c": _main(board, quantized, kernels, x, resident)}
    texts |= {file_name(source.quantized, number): render_layer(source, number) for number, source in numbered.items()}
    with tempfile.TemporaryDirectory() as name:
        elf = _build(board, Path(name), texts, level, has_ram_code)
        rows = symbols_of(elf)
        symbols = {name: (address, size) for name, address, size in rows}
        on_board = VirtualBoard(board, elf, timing=timing)
        rig = _finish(VirtualRig([on_board], has_ideal_memory=True), symbols)
        real = _run_with_real_memory(on_board, symbols, len(kernels)) if has_real_memory else None
    cycles = tuple(rig.read_word(0, symbols["cycles"][0] + 4 * i) for i in range(len(kernels)))
    in_flash = (row for row in rows if row[1] < board.near_memory.start and row[0] not in NO_KERNELS)
    code_bytes = sum(size for _, _, size in in_flash) - sum(source.weights_bytes for source in kernels)
    _check_output(_read_output(rig, symbols, quantized), quantized, x, board_name)
    return BareRun(kernels, cycles, code_bytes, real)


def _check_output(output: IntArray, quantized: QuantizedGraph, x: IntArray, board_name: str) -> None:
    *_, expected = run_layers(quantized, x)
    if not np.array_equal(output, expected.reshape(-1)):
        title = f"{quantized.graph.name}, {quantized.bits} bits on {board_name}"
        raise CheckFailedError(f"{title}: the output is not that of the integer reference")


def _with_copy(source: LayerSource) -> LayerSource:
    """Return the layer with its constants at the beginning of the arena, which all layers share."""
    sizes = {name: aligned(array.nbytes) for name, array in source.constants.items()}
    ends = accumulate(sizes.values(), initial=0)
    return replace(source, offsets=dict(zip(sizes, ends, strict=False)))


def _finish(rig: VirtualRig, symbols: Mapping[str, tuple[int, int]]) -> VirtualRig:
    while not rig.read_word(0, symbols["done"][0]) & 1 or rig.time_ps == 0:
        rig.run_until(rig.time_ps + TIME_LIMIT_PS)
    return rig


def _run_with_real_memory(board: VirtualBoard, symbols: Mapping[str, tuple[int, int]], count: int) -> RealMemory:
    """Return the cycles and stalls from the begin of each layer to that of the next."""
    rig = VirtualRig([board])
    addresses = [symbols[name][0] & ~1 for name in (*map(function_name, range(1, count + 1)), "finished")]
    rig.mark(0, addresses)
    _finish(rig, symbols)
    marks = rig.marks(0)
    if [address for address, _, _ in marks] != addresses:
        raise CheckFailedError("the layers did not begin once each, in their order")
    pairs = list(pairwise(marks))
    cycles = tuple(rig.read_word(0, symbols["cycles"][0] + 4 * i) for i in range(count))
    return RealMemory(cycles, tuple(after - before for (_, _, before), (_, _, after) in pairs))


def enlarged(board: Board) -> Board:
    """Return the board with large memories."""
    device = board.device
    ram = tuple(replace(m, size_bytes=MEMORY_BYTES) if m == board.near_memory else m for m in device.ram)
    return replace(board, device=replace(device, flash=replace(device.flash, size_bytes=MEMORY_BYTES), ram=ram))


def _main(
    board: Board, quantized: QuantizedGraph, kernels: Sequence[LayerSource], x: IntArray, resident: Container[int]
) -> str:
    formats = [quantized.input_formats[0], *(layer.formats.y for layer in quantized.layers)]
    shapes = [quantized.graph.in_shape, *(layer.layer.out_shape for layer in quantized.layers)]
    buffers = [
        f"{c_type(values)} tensor_{i}[{shape.size}] __attribute__((aligned(4)));"
        for i, (values, shape) in enumerate(zip(formats, shapes, strict=True))
    ]
    arena_bytes = max((source.weights_bytes + 64 for source in kernels if source.offsets), default=4)
    buffers.append(f"uint8_t network_arena[{arena_bytes}] __attribute__((aligned(4)));")
    buffers.append(f"uint32_t scratch[{1 + max(source.scratch_bytes for source in kernels) // 4}];")
    calls = []
    for index, source in enumerate(kernels):
        tensors = [f"tensor_{tensor - NETWORK_INPUT}" for tensor in quantized.graph.predecessors[index]]
        copy = f"{copy_function_name(index + 1)}(); " if source.offsets else ""
        arguments = [*tensors, f"tensor_{index + 1}", *(["scratch"] if source.scratch_bytes else [])]
        before, copy = (copy, "") if index in resident else ("", copy)
        call = f"{copy}{function_name(index + 1)}({', '.join(arguments)})"
        calls.append(CALL.format(before=before, call=call, index=index))
    return MAIN.format(
        count=len(kernels),
        buffers="\n".join(buffers),
        input_bytes=x.nbytes,
        input=",".join(map(str, x.tobytes())),
        memory=set_memory(board),
        calls="\n".join(calls),
    )


def set_memory(board: Board) -> str:
    """Return C lines that set wait states, prefetch and caches as the firmware of the board's family does."""
    family = board.device.family
    value = board.clock.flash_wait_states | ALL_ON[family]
    lines = [f"  *(volatile uint32_t *){FLASH_CONTROLS[family]:#x} = {value};"]
    return "\n".join([*lines, *([SET_CACHES] if board.device.core == "cortex-m7" else [])])


def build_flags(board: Board) -> list[str]:
    """Return the flags that the projects of `board` are built with."""
    ini = ConfigParser(interpolation=None)
    ini.read_string(render_platformio_ini(board))
    flags = [flag for flag in ini["env"]["build_flags"].split() if flag.startswith(("-m", "-O", "-std", "-f"))]
    return [*flags, *(f"-D{macro}" for macro in macros(board))]


def _build(board: Board, folder: Path, texts: Mapping[str, str], level: str, has_ram_code: bool) -> Path:
    for name, text in texts.items():
        (folder / name).write_text(text)
    elf, script, common = folder / "bare.elf", folder / "bare.ld", package_files.firmware() / "common"
    script.write_text(_linker_script(board, has_ram_code))
    sources = [*(folder / name for name in texts if name.endswith(".c")), *common.glob("dsp_*.c"), common / "words.c"]
    link = ("-nostartfiles", "--specs=nano.specs", f"-T{script}", "-Wl,--gc-sections")
    flags = (*build_flags(board), *([level] if level else []), *link, f"-I{common}", f"-I{folder}")
    subprocess.run([COMPILER, *flags, *map(str, sources), "-o", str(elf)], check=True)
    return elf


def _linker_script(board: Board, has_ram_code: bool) -> str:
    """Return the linker script: data lie behind the RAM on the code buses, if that is a part of the data RAM."""
    code_ram, ram = board.code_ram, board.near_memory
    begin = code_ram.end if code_ram and not code_ram.is_apart else ram.start
    return LINKER_SCRIPT.format(
        flash=board.device.flash.start,
        size=MEMORY_BYTES,
        ram=begin,
        ram_size=ram.start + MEMORY_BYTES - begin,
        code_ram=code_ram.code_start + code_ram.unused_bytes if code_ram else 0,
        code_ram_size=code_ram.size_bytes - code_ram.unused_bytes if code_ram else 0,
        code_place="> CODE_RAM AT> FLASH" if has_ram_code else "> FLASH",
    )


def symbols_of(elf: Path) -> Sequence[tuple[str, int, int]]:
    """Return name, address and size of every symbol that has one; static ones may share a name."""
    table = subprocess.run(
        ["arm-none-eabi-nm", "--print-size", str(elf)], capture_output=True, text=True, check=True
    ).stdout
    rows = [row for row in map(str.split, table.splitlines()) if len(row) == 4]  # noqa: PLR2004 - with a size
    return [(name, int(address, 16), int(size, 16)) for address, size, _, name in rows]


def _read_output(rig: VirtualRig, symbols: Mapping[str, tuple[int, int]], quantized: QuantizedGraph) -> IntArray:
    address, size = symbols[f"tensor_{len(quantized.layers)}"]
    words = np.array([rig.read_word(0, address + offset) for offset in range(0, size, 4)], np.uint32)
    output: IntArray = np.frombuffer(words.tobytes()[:size], quantized.output_formats[0].dtype)
    return output


def plan_network(quantized: QuantizedGraph, board_name: str, bits: int, name: str | None = None) -> BoardPlan:
    """Return the plan of the whole network on one board, or on one with enough memory if it does not fit.

    `name` is the kernel or scheme of layers that allow it.
    """
    graph, board = quantized.dequantized, load_board(board_name)
    named = (
        LayerSource.choose(shipped_table(), layer, board.device.core, name).kernel.name for layer in quantized.layers
    )
    settings = CostSettings(bits=bits, kernels=tuple(enumerate(named)) if name else ())

    def plan_on(own: Board) -> Plan:
        problem = make_problem(shipped_table(), graph, (own,), settings)
        assignment = (0,) * len(graph.layers)
        plan = make_plan(
            shipped_table(),
            graph,
            bits,
            (own,),
            problem,
            assignment,
            settings.link_settings_on((own,)),
            kernels=settings.kernels,
        )
        return with_resident_constants(with_constants_in_ram(plan, quantized), quantized)

    try:
        plan = plan_on(board)
    except CheckFailedError:
        plan = plan_on(enlarged(board))
    return plan.boards[0]
