"""Stalls of virtual boards with real memory, counted by hand from the rules in docs/understand/virtual_boards.md.

A read of flash that begins in cycle t gives its data in cycle t + wait states; the port is free one cycle later.
"""

from pathlib import Path

import pytest

from programs.virtual_firmware import address_of, assembler, build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import Stalls, VirtualBoard, VirtualRig

G0, L4, L4PLUS, F4, H7 = "nucleo_g071rb", "nucleo_l452re", "nucleo_l4r5zi", "nucleo_f401re", "nucleo_h743zi"
CONTROL = {G0: 0x40022000, L4: 0x40022000, L4PLUS: 0x40022000, F4: 0x40023C00, H7: 0x52002000}
PREFETCH, CODE, DATA = 1 << 8, 1 << 9, 1 << 10
CACHES_ON = ("ldr r0, =0xE000ED14", "ldr r1, =0x30000", "str r1, [r0]", "push {r4-r7}", "pop {r4-r7}")
AXI_AT_HALF = ("ldr r0, =0x58024418", "movs r1, #8", "str r1, [r0]")
MS_PS = 10**9


def stalls(folder: Path, board_name: str, control: int, lines: tuple[str, ...], before: tuple[str, ...] = ()) -> Stalls:
    """Return the stalls of `lines` at a multiple of 64 bytes and of the branch behind them.

    FLASH_ACR is `control`. r2 holds the address of constants in flash, a multiple of 64, r3 that of RAM. The port
    is free when the lines begin.
    """
    set_up = (
        *before,
        f"ldr r0, ={CONTROL[board_name]}",
        "ldr r2, =constants",
        "ldr r3, =0x20001000",
        f"ldr r1, ={control}",
    )
    wait = (".balign 64", "2: push {r4-r7}", "pop {r4-r7}", "push {r4-r7}", "b 3f")
    free = ("str r1, [r0]", "b 2f", *wait, ".balign 64", ".global first")
    end = ("b 4f", ".ltorg", ".balign 64", ".global last", "last: 4: nop", "b 9f", ".balign 64")
    constants = ("constants: .space 1024", "9:")
    source = assembler(*set_up, *free, "first: 3:", *lines, *end, *constants)
    board = load_board(board_name)
    elf = build(folder, board, source)
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False)
    rig.mark(0, [address_of("first", elf), address_of("last", elf)])
    rig.run_until(MS_PS)
    (_, _, first), (_, _, last) = rig.marks(0)
    return last - first


def loop(passes: int, halfwords: int) -> tuple[str, ...]:
    """Return a loop of `halfwords`, at least 2, that begins 16 bytes behind the first line."""
    branch, size = ("bne.n 1b", 1) if halfwords < 120 else ("bne.w 1b", 2)
    nops = halfwords - 1 - size
    return (f"movs r0, #{passes}", *["nop"] * 7, "1: subs r0, #1", *["nop"] * nops, branch)


@pytest.mark.parametrize(
    ("control", "lines", "code"),
    [
        (0, ("nop",) * 8, 0),  # no wait states
        (2, ("nop",) * 8, 2 + 2 + 2),  # four instructions a read, and the branch in a third
        (1, ("nop",) * 8, 1 + 1 + 1),
        (2 | PREFETCH, ("nop",) * 8, 2),  # the next read takes 3 of 4 cycles
        # The prefetch takes the port from cycle 3 to 5; the branch in cycle 2 ends before 4.
        (2 | PREFETCH, ("b 1f", *["nop"] * 7, "1: nop"), 2 + (6 - 4) + 2),
        (2, loop(5, 4), 2 * 2 + 2 + 2),  # one read, and the branch behind it
        (2, loop(5, 8), 2 * 2 + 5 * (2 + 2) + 2),
        (2 | CODE, loop(5, 8), 2 * 2 + (2 + 2) + 2),  # two lines of 64 bits
        (2 | CODE, loop(5, 12), 2 * 2 + 5 * (2 + 2 + 2) + 2),  # LRU of two lines forgets each of three
    ],
)
def test_g0_reads_64_bits_and_keeps_two_lines(tmp_path: Path, control: int, lines: tuple[str, ...], code: int) -> None:
    assert stalls(tmp_path, G0, control, lines) == Stalls(code, 0, 0)


@pytest.mark.parametrize(
    ("lines", "constants"),
    [
        (("ldr r1, [r2]",), 2),
        (("ldr r1, [r2]", "ldr r1, [r2]"), 2 + 2),  # no buffer for data
        (("ldrb r1, [r2]", "ldrb r1, [r2, #1]", "ldrh r1, [r2, #2]"), 2 + 2 + 2),
        (("ldmia r2!, {r4-r7}",), 4 * 2),
        (("ldr r1, [r3]", "str r1, [r3]", "ldmia r3!, {r4-r7}"), 0),  # SRAM has no wait states
    ],
)
def test_g0_reads_constants_without_a_cache(tmp_path: Path, lines: tuple[str, ...], constants: int) -> None:
    assert stalls(tmp_path, G0, 2 | CODE, lines).constants == constants


@pytest.mark.parametrize(
    ("control", "lines", "code"),
    [
        (4, ("nop",) * 16, 4 * 4 + 4),
        (4 | PREFETCH, ("nop",) * 16, 4 + 4 * 1),  # a read takes five cycles, its four instructions four
        (5 | PREFETCH, ("nop",) * 16, 5 + 4 * 2),
        (5 | PREFETCH, ("add.w r0, r1, r2",) * 4, 5 + 2 * 4),  # two instructions a read
        # A taken branch into another line that is in the cache waits a cycle.
        (4 | CODE, loop(3, 128), 4 * 2 + 32 * 4 + 4 + 2 * 1),
        (4 | CODE, loop(3, 8), 4 * 2 + 2 * 4 + 4),
        (
            4 | CODE,
            loop(3, 512 - 8),
            4 * 2 + 126 * 4 + 4 + 2 * 1,
        ),  # 32 lines of 32 bytes, with the 16 bytes before the loop
        (4 | CODE, loop(3, 512 + 8), 4 * 2 + 3 * 130 * 4 + 4),  # LRU forgets each of 33 lines
        (4, loop(3, 128), 4 * 2 + 3 * 32 * 4 + 4),
    ],
)
def test_l4_keeps_1_kb_of_code(tmp_path: Path, control: int, lines: tuple[str, ...], code: int) -> None:
    assert stalls(tmp_path, L4PLUS, control, lines) == Stalls(code, 0, 0)


@pytest.mark.parametrize(
    ("control", "lines", "constants"),
    [
        (4, ("ldr r1, [r2]", "ldr r1, [r2, #4]"), 4 + 4),
        (4 | DATA, ("ldr r1, [r2]", "ldr r1, [r2, #4]"), 4),  # 64 bits
        (4 | DATA, ("ldr r1, [r2]", "ldr r1, [r2, #8]", "ldr r1, [r2]"), 4 + 4),  # a line is filled in parts
        (4 | DATA, tuple(f"ldr r1, [r2, #{32 * (i % 8)}]" for i in range(16)), 8 * 4),
        (4 | DATA, tuple(f"ldr r1, [r2, #{32 * (i % 9)}]" for i in range(18)), 18 * 4),  # LRU of 8 lines
        (4 | DATA, ("ldmia r2!, {r4-r7}",), 4 + 4),
    ],
)
def test_l4_keeps_8_lines_of_constants(tmp_path: Path, control: int, lines: tuple[str, ...], constants: int) -> None:
    assert stalls(tmp_path, L4, control | CODE, lines).constants == constants


def test_constants_wait_for_a_prefetch_that_has_begun(tmp_path: Path) -> None:
    """The first read takes cycles 0 to 4, the prefetch 5 to 9, and the constant 10 to 14; it is wanted in cycle 5."""
    assert stalls(tmp_path, L4, 4 | PREFETCH | CODE | DATA, ("ldr r1, [r2]", "nop")).constants == 14 - 5


@pytest.mark.parametrize(
    ("control", "lines", "expected"),
    [
        (2, ("nop",) * 16, Stalls(2 * 2 + 2, 0, 0)),  # 128 bits: eight instructions a read
        (2 | PREFETCH, ("nop",) * 16, Stalls(2, 0, 0)),
        (2 | CODE, loop(3, 256), Stalls(2 + 32 * 2 + 2, 0, 0)),
        (2 | CODE, loop(3, 512 + 8), Stalls(2 + 3 * 65 * 2 + 2, 0, 0)),  # LRU of 64 lines
        (
            5 | PREFETCH | CODE,
            loop(3, 256),
            Stalls(5, 0, 0),
        ),  # 8 cycles a line, 6 a read; the cache keeps what was read
        (2 | CODE | DATA, ("ldmia r2!, {r4-r7}", "ldr r1, [r2]"), Stalls(2, 2 + 2, 0)),
        # The last load of a line takes the port for a cycle more, when the next line wants it.
        (2 | CODE | DATA, tuple(f"ldr r1, [r2, #{16 * (i % 9)}]" for i in range(18)), Stalls(2 + 3 + 3, 18 * 2, 0)),
    ],
)
def test_f4_reads_128_bits(tmp_path: Path, control: int, lines: tuple[str, ...], expected: Stalls) -> None:
    assert stalls(tmp_path, F4, control, lines) == expected


AXI, DTCM, D2 = "ldr r3, =0x24001000", "ldr r3, =0x20001000", "ldr r3, =0x30001000"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # Two wait states: 4 + 1 + 2 cycles to the first beat, 3 to the end of the line; the branch is in the next line.
        (("nop",) * 16, Stalls(10 + 10, 0, 0)),
        (("dsb", "ldr r1, [r2]", "ldr r1, [r2, #28]"), Stalls(10, 7, 0)),
        # The literal pool is in the cache.
        ((DTCM, "ldr r1, [r3]", "str r1, [r3]"), Stalls(10, 0, 0)),
        ((AXI, *["dsb"] * 5, "ldr r1, [r3]", "ldr r1, [r3, #28]"), Stalls(10, 0, 5)),
        ((AXI, *["dsb"] * 5, "str r1, [r3]", "str r1, [r3, #28]", "ldr r1, [r3, #4]"), Stalls(10, 0, 0)),
        ((D2, *["dsb"] * 5, "ldr r1, [r3]", "ldr r1, [r3, #28]"), Stalls(10, 0, 4 + 2 + 1)),
        # The second read wants the bus in the next cycle, when the first line takes it for three more.
        ((AXI, *["dsb"] * 5, "ldr r1, [r3]", "ldr r1, [r3, #32]"), Stalls(10, 0, 5 + 2 + 5)),
    ],
)
def test_h7_fills_lines_over_axi(tmp_path: Path, lines: tuple[str, ...], expected: Stalls) -> None:
    assert stalls(tmp_path, H7, 2, lines, CACHES_ON) == expected


def test_h7_counts_in_cycles_of_its_bus(tmp_path: Path) -> None:
    lines = ("dsb", "ldr r1, [r2]", "ldr r1, [r2, #28]")
    assert stalls(tmp_path, H7, 2, lines, (*CACHES_ON, *AXI_AT_HALF)) == Stalls(20, 14, 0)


POLLED = """#include "device.h"
static volatile uint32_t ticks;
void tick(void) {{ ticks++; }}
void reset(void) {{
  *(volatile uint32_t *){control:#x} = {value};
  {caches}
  ticks = 0;
  SysTick->LOAD = 9973; SysTick->VAL = 0; SysTick->CTRL = 7;
  while (ticks < 5) {{}}
  for (;;) __asm volatile("wfi");
}}
"""


@pytest.mark.parametrize(
    ("board_name", "value"),
    [(G0, 2), (G0, 2 | PREFETCH | CODE), (L4, 4 | PREFETCH | CODE | DATA), (F4, 2 | PREFETCH), (H7, 2)],
)
def test_skipped_loops_take_the_same_cycles(tmp_path: Path, board_name: str, value: int) -> None:
    board = load_board(board_name)
    caches = "SCB->CCR |= 3u << 16;" if board_name == H7 else ""
    source = POLLED.format(control=CONTROL[board_name], value=value, caches=caches)
    elf = build(tmp_path, board, source, {15: "tick"})
    figures = []
    for finds_loops in (True, False):
        rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False, finds_loops=finds_loops)
        rig.run_until(MS_PS * 20)
        figures.append((rig.cycles(0), rig.slept_cycles(0)))
    assert figures[0] == figures[1]


CONDITIONAL = """#include "device.h"
static const uint32_t table[2] = {1, 2};
static volatile uint32_t ticks;
uint32_t results[2];
void tick(void) { ticks++; }
__attribute__((naked, noinline, noipa)) uint32_t add(uint32_t i, uint32_t sum, const uint32_t *values) {
  __asm volatile("tst r0, #7\\n it ne\\n ldrne r3, [r2]\\n it ne\\n addne r1, r3\\n mov r0, r1\\n bx lr");
}
void reset(void) {
  uint32_t sum = 0, count = 0;
  SysTick->LOAD = 60; SysTick->VAL = 0; SysTick->CTRL = 7;
  for (uint32_t i = 0; i < 4000; i++) { sum = add(i, sum, table); count++; }
  SysTick->CTRL = 0;
  results[0] = sum;
  results[1] = count;
  for (;;) __asm volatile("wfi");
}
"""


@pytest.mark.parametrize("board_name", [F4, H7])
def test_code_behind_conditional_loads_of_flash_is_unconditional(tmp_path: Path, board_name: str) -> None:
    board = load_board(board_name)
    elf = build(tmp_path, board, CONDITIONAL, {15: "tick"})
    rig = VirtualRig([VirtualBoard(board, elf)])
    rig.run_until(MS_PS * 50)
    results = address_of("results", elf)
    assert [rig.read_word(0, results + 4 * i) for i in range(2)] == [3500, 4000]


ACROSS_PAGES = """#include "device.h"
static const uint32_t table[2] = {1, 2};
uint32_t results[4];
__attribute__((naked, noinline, noipa, aligned(1024))) uint32_t add(uint32_t i, const uint32_t *values) {
  __asm volatile(
      ".rept 506\\n nop\\n .endr\\n movs r2, #0\\n movs r3, #0\\n lsls r0, r0, #31\\n"
      "itt ne\\n ldrne.w r2, [r1]\\n ldrne.w r3, [r1, #4]\\n" /* the second one begins a page */
      "bcc 1f\\n adds r2, #8\\n 1: adds r0, r2, r3\\n bx lr");
}
void reset(void) {
  for (uint32_t i = 4; i > 0; i--) results[i - 1] = add(i - 1, table);
  for (;;) __asm volatile("wfi");
}
"""


@pytest.mark.parametrize("board_name", [F4, H7])
def test_code_behind_a_page_that_begins_with_a_conditional_load_is_unconditional(
    tmp_path: Path, board_name: str
) -> None:
    elf = build(tmp_path, load_board(board_name), ACROSS_PAGES, {})
    assert address_of("add", elf) % 1024 == 0
    rig = VirtualRig([VirtualBoard(load_board(board_name), elf)])
    rig.run_until(MS_PS * 50)
    results = address_of("results", elf)
    assert [rig.read_word(0, results + 4 * i) for i in range(4)] == [0, 3, 8, 11]
