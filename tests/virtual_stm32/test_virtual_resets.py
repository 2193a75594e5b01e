"""Resets of virtual boards: by watchdog, software, pin and brown-out; their flags, and what RAM keeps."""

from pathlib import Path

import pytest

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import BoardStoppedError, ResetCause, VirtualBoard, VirtualRig

MS_PS = 10**9
# Name, RAM, address of the flags in RCC, of IWDG, bit RMVF, and the flags after power-up and by cause (RM0444, RM0394,
# RM0434, RM0453, RM0440, RM0438, RM0456, RM0481, RM0490, RM0367, RM0008, RM0316, RM0368, RM0385 and RM0433: RCC_CSR,
# CSR2, RSR).
FAMILIES = [
    ("nucleo_g071rb", 0x20000000, 0x40021060, 0x40003000, 23, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_c031c6", 0x20000000, 0x40021060, 0x40003000, 23, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_l073rz", 0x20000000, 0x40021050, 0x40003000, 23, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_l452re", 0x20000000, 0x40021094, 0x40003000, 23, 0x0C000600, (0x04000600, 0x0C000600, 0x14, 0x24)),
    ("nucleo_g431rb", 0x20000000, 0x40021094, 0x40003000, 23, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_u575zi_q", 0x20000000, 0x46020CF4, 0x40003000, 23, 0x0C004400, (0x04004400, 0x0C004400, 0x14, 0x24)),
    ("nucleo_h563zi", 0x20000000, 0x44020CF4, 0x40003000, 23, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_l552ze_q", 0x20000000, 0x40021094, 0x40003000, 23, 0x0C000600, (0x04000600, 0x0C000600, 0x14, 0x24)),
    ("nucleo_wb55rg", 0x20000000, 0x58000094, 0x40003000, 23, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_wl55jc", 0x20000000, 0x58000094, 0x40003000, 23, 0x0C01C600, (0x0401C600, 0x0C01C600, 0x14, 0x24)),
    ("nucleo_f072rb", 0x20000000, 0x40021024, 0x40003000, 24, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_f103rb", 0x20000000, 0x40021024, 0x40003000, 24, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_f303re", 0x20000000, 0x40021024, 0x40003000, 24, 0x0C000000, (0x04000000, 0x0C000000, 0x14, 0x24)),
    ("nucleo_f401re", 0x20000000, 0x40023874, 0x40003000, 24, 0x0E000000, (0x04000000, 0x06000000, 0x14, 0x24)),
    ("nucleo_f746zg", 0x20000000, 0x40023874, 0x40003000, 24, 0x0E000000, (0x04000000, 0x06000000, 0x14, 0x24)),
    ("nucleo_h743zi", 0x24000000, 0x580244D0, 0x58004800, 16, 0x00FA0000, (0x00420000, 0x00620000, 0x01, 0x04)),
]
OTHER_BITS = {
    "nucleo_l452re": 0x600,
    "nucleo_l552ze_q": 0x600,
    "nucleo_u575zi_q": 0x4400,
    "nucleo_wl55jc": 0x1C600,
}  # after a reset
COMMON = """
#include <stdint.h>
#define WORD(address) (*(volatile uint32_t *)(address))
#define OUT ((volatile uint32_t *)%d)
#define FLAGS WORD(%d)
#define IWDG %du
#define CLEAR_FLAGS() (FLAGS |= 1u << %d)
enum { MAGIC = 0x1234ABCD };
static inline void rest(void) { for (;;) __asm volatile("wfi"); }
static inline void count_starts(void) {
  if (OUT[0] != MAGIC) { OUT[0] = MAGIC; OUT[1] = 0; }
  OUT[2 + OUT[1]++] = FLAGS;
}
"""
Row = tuple[str, int, int, int, int, int, tuple[int, int, int, int]]
ids = [row[0] for row in FAMILIES]


def start(folder: Path, row: Row, body: str, *, ram_seed: int = 0) -> VirtualRig:
    name, ram, flags, iwdg, remove, *_ = row
    board = load_board(name)
    return VirtualRig(
        [VirtualBoard(board, build(folder, board, COMMON % (ram, flags, iwdg, remove) + body))],
        ram_seed=ram_seed,
        has_ideal_memory=True,
    )


def outs(row: Row, rig: VirtualRig, count: int) -> list[int]:
    return [rig.read_word(0, row[1] + 4 * index) for index in range(count)]


@pytest.mark.parametrize("row", FAMILIES, ids=ids)
def test_flags_tell_the_cause_until_they_are_cleared_and_ram_is_lost_without_power(tmp_path: Path, row: Row) -> None:
    body = "void reset(void) { count_starts(); if (OUT[1] > 1) CLEAR_FLAGS(); OUT[10] = FLAGS; rest(); }"
    rig = start(tmp_path, row, body)
    rig.run_until(MS_PS)
    _, _, _, _, _, at_power_up, (pin, brown_out, _, _) = row
    assert outs(row, rig, 3)[1:] == [1, at_power_up]
    rig.reset_board(0, ResetCause.PIN)
    rig.run_until(2 * MS_PS)
    assert outs(row, rig, 4)[1:] == [2, at_power_up, at_power_up | pin]
    assert rig.read_word(0, row[1] + 40) == OTHER_BITS.get(row[0], 0)
    rig.reset_board(0, ResetCause.PIN)
    rig.run_until(3 * MS_PS)
    assert outs(row, rig, 5)[1:] == [3, at_power_up, at_power_up | pin, pin]
    rig.reset_board(0, ResetCause.BROWN_OUT)
    rig.run_until(4 * MS_PS)
    assert outs(row, rig, 3)[1:] == [1, brown_out]
    assert rig.start_count(0) == 4


@pytest.mark.parametrize("row", FAMILIES, ids=ids)
def test_software_and_watchdog_reset_and_keep_ram(tmp_path: Path, row: Row) -> None:
    body = """void reset(void) {
      count_starts(); CLEAR_FLAGS();
      if (OUT[1] == 1) WORD(0xE000ED0C) = 0x05FA0004;
      WORD(IWDG) = 0xCCCC; WORD(IWDG) = 0x5555; WORD(IWDG + 8) = 7;
      while (WORD(IWDG + 12)) {}
      WORD(IWDG) = 0xAAAA;
      rest();
    }"""
    rig = start(tmp_path, row, body)
    rig.run_until(MS_PS // 2)
    software, watchdog = (byte << 24 for byte in row[6][2:])
    also = row[6][0] & ~0x04000000
    assert outs(row, rig, 4)[1:] == [2, row[5], software | also]
    rig.run_until(3 * MS_PS // 2)
    # Five cycles of LSI for the update, then 4 * (7 + 1) of them: 1.16 ms, of F0 and F3 0.93 ms.
    assert outs(row, rig, 5)[1:] == [3, row[5], software | also, watchdog | also]


def test_the_watchdog_counts_lsi_and_is_fed(tmp_path: Path) -> None:
    """Timeout 4 * 2^2 * (9 + 1) / 32 kHz = 5 ms; fed every 4 ms by a loop of 16 MHz, until 40 ms have passed."""
    body = """void reset(void) {
      count_starts(); if (OUT[1] > 1) rest();
      WORD(0x4002103C) = 1; WORD(0x4000002C) = 0xFFFFFFFF; WORD(0x40000014) = 1; WORD(0x40000000) = 1;
      WORD(IWDG) = 0xCCCC; WORD(IWDG) = 0x5555; WORD(IWDG + 4) = 2; WORD(IWDG + 8) = 9;
      while (WORD(IWDG + 12)) {}
      for (uint32_t next = 0; next < 640000; next += 64000) {
        while (WORD(0x40000024) < next) {}
        WORD(IWDG) = 0xAAAA; OUT[9] = WORD(0x40000024);
      }
      for (;;) OUT[10] = WORD(0x40000024);
    }"""
    rig = start(tmp_path, FAMILIES[0], body)
    rig.run_until(40 * MS_PS)
    assert outs(FAMILIES[0], rig, 2)[1] == 1
    rig.run_until(42 * MS_PS)
    assert outs(FAMILIES[0], rig, 2)[1] == 2
    fed, last = (rig.read_word(0, 0x20000000 + offset) for offset in (36, 40))
    assert last - fed == pytest.approx(5 * 16_000, abs=50)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("WORD(IWDG + 4) = 1;", "without 0x5555 in KR before"),
        ("WORD(IWDG) = 0x5555; WORD(IWDG + 8) = 1; WORD(IWDG + 8) = 2;", "while SR shows the update"),
    ],
)
def test_wrong_use_of_the_watchdog_stops_the_board(tmp_path: Path, statement: str, expected: str) -> None:
    with pytest.raises(BoardStoppedError, match=expected):
        start(tmp_path, FAMILIES[0], f"void reset(void) {{ {statement} rest(); }}").run_until(MS_PS)


def test_ram_after_power_up_is_random_but_the_same_in_every_run(tmp_path: Path) -> None:
    row = FAMILIES[0]
    rigs = [start(tmp_path / str(i), row, "void reset(void) { rest(); }", ram_seed=i // 2) for i in range(3)]
    contents = [outs(row, rig, 64) for rig in rigs]
    assert contents[0] == contents[1] != contents[2]
    rigs[0].reset_board(0, ResetCause.BROWN_OUT)
    rigs[0].run_until(MS_PS)
    assert outs(row, rigs[0], 64) != contents[0]


def test_a_reset_comes_at_its_time_and_takes_as_long_as_told(tmp_path: Path) -> None:
    body = """void reset(void) {
      WORD(0x4002103C) = 1; WORD(0x4000002C) = 0xFFFFFFFF; WORD(0x40000014) = 1; WORD(0x40000000) = 1;
      for (;;) OUT[3] = WORD(0x40000024);
    }"""
    rig = start(tmp_path, FAMILIES[0], body)
    rig.reset_board(0, ResetCause.PIN, at_ps=3 * MS_PS, held_ps=2 * MS_PS)
    rig.run_until(4 * MS_PS)
    assert rig.read_word(0, 0x2000000C) == pytest.approx(3 * 16_000, abs=100)
    rig.run_until(6 * MS_PS)
    assert rig.read_word(0, 0x2000000C) == pytest.approx(16_000, rel=0.1)
