"""Invalid and unmodelled behaviour that stops a virtual board, and its error messages."""

from pathlib import Path

import pytest

from programs.virtual_firmware import assembler, build
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError
from virtual_stm32 import BoardStoppedError, VirtualBoard, VirtualRig

F0, F1, G0 = "nucleo_f072rb", "nucleo_f103rb", "nucleo_g071rb"
F4, H7, WL = "nucleo_f401re", "nucleo_h743zi", "nucleo_wl55jc"
MS_PS = 10**9


def message(folder: Path, board_name: str, source: str) -> str:
    board = load_board(board_name)
    rig = VirtualRig([VirtualBoard(board, build(folder, board, source))], has_ideal_memory=True)
    with pytest.raises(BoardStoppedError) as caught:
        rig.run_until(MS_PS)
    text = str(caught.value)
    assert text.startswith(f"board 1 ({board_name}) stopped: ")
    assert "\n" not in text
    return text.removeprefix(f"board 1 ({board_name}) stopped: ")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("ldr r0, =0x60000000", "ldr r1, [r0]"), "read of 4 bytes at 0x60000000, which is not mapped, pc 0x0800"),
        (("ldr r0, =0x20009000", "strb r1, [r0]"), "write of 1 bytes at 0x20009000, which is not mapped, pc 0x0800"),
        (("ldr r0, =0x08001000", "strh r1, [r0]"), "write of 2 bytes at 0x08001000, which is flash, pc 0x0800"),
        (("ldr r0, =0x20000001", "bx r0"), "execution at 0x20000000, which has no code, reached, pc 0x0800"),
        (("ldr r0, =0x20000002", "ldr r1, [r0]"), "an unaligned access, which this core cannot make, pc 0x0800"),
        ((".inst.n 0xb108", "nop"), "ARMv6-M has no instruction `cbz"),
        ((".inst.w 0xfbb0f0f1",), "ARMv6-M has no instruction `udiv"),
        ((".inst.n 0xbf08", "nop"), "ARMv6-M has no instruction `it eq`"),
        ((".inst.w 0xf2412034",), "ARMv6-M has no instruction `movw"),
        (("bkpt #0",), "a breakpoint (BKPT), pc 0x0800"),
        (("svc #0",), "the instruction `svc #0` at 0x0800"),
        (("ldr r0, =0xfffffff9", "bx r0"), "an exception return outside a handler"),
        (("ldr r0, =0x40021068", "ldr r1, [r0]"), "the register at offset 0x68 of RCC is not modelled"),
        (("ldr r0, =0x40010400", "ldr r1, [r0]"), "no peripheral is modelled at 0x40010400"),
        (("ldr r0, =0x40021008", "movs r1, #2", "str r1, [r0]"), "RCC_CFGR selects the system clock 2, which is not"),
    ],
    ids=lambda value: "; ".join(value) if isinstance(value, tuple) else "",
)
def test_an_m0plus_board_stops(tmp_path: Path, lines: tuple[str, ...], expected: str) -> None:
    text = message(tmp_path, G0, assembler(*lines))
    assert text.startswith(expected)
    assert " in reset+0x" in text


@pytest.mark.parametrize(
    ("board_name", "lines", "expected"),
    [
        (F0, ("ldr r0, =0xe000ed08", "str r1, [r0]"), "the register at offset 0xd08 of the system control space is"),
        (F0, ("ldr r0, =0xe000ed90", "ldr r1, [r0]"), "the register at offset 0xd90 of the system control space is"),
        (F1, (".inst.w 0xfb213002",), "ARMv7-M has no instruction `smlad"),
        (F1, (".inst.w 0xfa3ff081",), "ARMv7-M has no instruction `uxtb16"),
        (F1, (".inst.w 0xee200a00",), "a floating point instruction with the FPU disabled in CPACR"),
        (F4, (".inst.w 0xee200a00",), "a floating point instruction with the FPU disabled in CPACR"),
        (F4, ("ldr r0, =0x40004400", "ldr r1, [r0]", "b 1f", "nop", "1: .inst.w 0xeee00a10"), "a floating point"),
        (WL, ("ldr r0, =0xe000ed88", "mov r1, #0xf00000", "str r1, [r0]", ".inst.w 0xee200a00"), "a floating point"),
        (H7, ("ldr r0, =0x58024818", "movs r1, #0", "str r1, [r0]"), "PWR_D3CR is written while locked"),
        (H7, ("ldr r0, =0x20020000", "ldr r1, [r0]"), "read of 4 bytes at 0x20020000, which is not mapped"),
        (F4, ("mov r0, #0", "ldr r1, [r0, #-4]"), "read of 4 bytes at 0xfffffffc, which is not mapped"),
    ],
)
def test_larger_boards_stop(tmp_path: Path, board_name: str, lines: tuple[str, ...], expected: str) -> None:
    assert message(tmp_path, board_name, assembler(*lines)).startswith(expected)


PLL = """
#include "device.h"
void reset(void) {
  FLASH->ACR = %d;
  RCC->PLLCFGR = RCC_PLLCFGR_PLLSRC_HSI | %du << RCC_PLLCFGR_PLLN_Pos | 1u << RCC_PLLCFGR_PLLR_Pos | RCC_PLLCFGR_PLLREN;
  RCC->CR |= RCC_CR_PLLON;
  while (!(RCC->CR & RCC_CR_PLLRDY)) {}
  RCC->CFGR = RCC_CFGR_SW_1;
  while ((RCC->CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_1) {}
  for (;;) {}
}
"""


def test_the_clock_follows_the_pll_registers(tmp_path: Path) -> None:
    board = load_board(G0)
    rig = VirtualRig(
        [VirtualBoard(board, build(tmp_path, board, PLL % (2, 8)))], finds_loops=False, has_ideal_memory=True
    )
    rig.run_until(MS_PS)
    before = rig.cycles(0)
    rig.run_until(2 * MS_PS)
    assert rig.cycles(0) - before == pytest.approx(64_000, abs=6000)  # a board may be ahead of the host by a byte


def test_a_clock_without_its_wait_states_stops_the_board(tmp_path: Path) -> None:
    text = message(tmp_path / "a", G0, PLL % (1, 8))
    assert text.startswith(
        "a clock of 64000000 Hz needs more than the 1 flash wait states of FLASH_ACR, which allow up to 48000000 Hz"
    )
    assert message(tmp_path / "b", G0, PLL % (2, 30)).startswith("the PLL's oscillator at 480000000 Hz is outside")


def test_ram_is_not_zero_at_power_up(tmp_path: Path) -> None:
    board = load_board(G0)
    rig = VirtualRig([VirtualBoard(board, build(tmp_path, board, assembler("nop")))], has_ideal_memory=True)
    assert rig.read_word(0, 0x20000000) != 0
    assert rig.read_word(0, 0x20000000 + 36 * 1024 - 4) != 0


def test_a_peripheral_without_its_clock_reads_zero_and_ignores_writes(tmp_path: Path) -> None:
    lines = (
        "ldr r0, =0x50000000",
        "movs r1, #1",
        "str r1, [r0]",
        "ldr r2, [r0]",
        "ldr r3, =0x20000000",
        "str r2, [r3]",
    )
    board = load_board(G0)
    rig = VirtualRig([VirtualBoard(board, build(tmp_path, board, assembler(*lines)))], has_ideal_memory=True)
    rig.run_until(MS_PS)
    assert rig.read_word(0, 0x20000000) == 0


def test_an_elf_of_another_board_or_an_invalid_file_is_refused(tmp_path: Path) -> None:
    board = load_board(G0)
    none = tmp_path / "none.elf"
    none.write_text("nothing")
    with pytest.raises(InputError, match=r"is not a readable ELF file .*build it first"):
        VirtualRig([VirtualBoard(board, none)], has_ideal_memory=True)
    source = assembler("nop") + "\nconst char large[400000] = {1};"
    large = build(tmp_path / "f4", load_board(F4), source)
    with pytest.raises(InputError, match="outside the flash of nucleo_g071rb"):
        VirtualRig([VirtualBoard(board, large)], has_ideal_memory=True)
