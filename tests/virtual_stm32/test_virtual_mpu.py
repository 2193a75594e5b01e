"""The MPU of virtual boards, set by the firmware's mpu.c: what is protected, to the byte, and what is not modelled."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from programs.virtual_firmware import address_of, build
from session.shared_folder import made_once
from tinysplit.boards.catalog import load_board
from virtual_stm32 import BoardStoppedError, VirtualBoard, VirtualRig
from virtual_stm32.peripherals.reset import ResetCause

G0, F4, L4, F7, H7 = BOARDS = (*("nucleo_g071rb", "nucleo_f401re", "nucleo_l4r5zi", "nucleo_f746zg", "nucleo_h743zi"),)
RUN_PS = 10**9
RAM = 0x20000000
SPARE = RAM + 0x100  # not at the begin of a page
STACK = SPARE + 0x100
DONE, COMMANDS = RAM + 0x1FFC, RAM + 0x2000
CODE_RAM, CODE_DATA, CODE_OFFSET = 0x10000000, 0x20030000, 0xC00  # SRAM2 of the L4, and code in it
MPU = 0xE000ED90

# Obeys commands that the test has written into RAM: accesses and calls.
PROGRAM = """#include "device.h"
#include "mpu.h"
{symbols}
typedef struct {{ uint32_t kind, address, value; }} command_t;
#define ACCESS(type) *(volatile type *)command->address
void in_ram(uint32_t);
__attribute__((section(".ram_code"), naked)) void in_ram(uint32_t value) {{ (void)value; __asm volatile("bx lr"); }}
__attribute__((used)) void copy(uint32_t value) {{
  *(volatile uint16_t *)((uintptr_t)in_ram & ~1u) = 0x4770;
  in_ram(value);
}}
__attribute__((naked, used)) void push_at(uint32_t sp) {{
  __asm volatile("mov sp, r0; ldr r4, =0x12345678; 1: push {{r4-r7}}; b 1b; .ltorg");
}}
__attribute__((naked, used)) void pend_at(uint32_t sp) {{
  __asm volatile("mov sp, r0; ldr r1, =0xe000ed04; ldr r2, =0x10000000; cpsie i; str r2, [r1]; 1: nop; b 1b; .ltorg");
}}
#if __CORTEX_M >= 3
__attribute__((naked, used)) void access_all(uint32_t at) {{
  __asm volatile(
      "push {{r4-r6, lr}}; ldr r1, =0x11223344; ldr r2, =0x55667788; str r1, [r0]; strh r1, [r0, #6];"
      "strb r2, [r0, #9]; strd r1, r2, [r0, #16]; stmia r0!, {{r1}}; ldr r3, [r0, #-4]; str r3, [r0, #24];"
      "ldrd r4, r5, [r0, #12]; strd r5, r4, [r0, #28]; ldrb r6, [r0, #5]; str r6, [r0, #36];"
      "ldr r6, =0x20000000; str r1, [r6]; str r2, [r6, #0xfc]; str r2, [r0, #0x1ff]; pop {{r4-r6, pc}}; .ltorg");
}}
#endif
void reset(void) {{
  for (const command_t *command = (const command_t *){commands}; command->kind; command++) {{
    switch (command->kind) {{
      case 1: (void)ACCESS(uint8_t); break;
      case 2: (void)ACCESS(uint16_t); break;
      case 4: (void)ACCESS(uint32_t); break;
      case 17: ACCESS(uint8_t) = (uint8_t)command->value; break;
      case 18: ACCESS(uint16_t) = (uint16_t)command->value; break;
      case 20: ACCESS(uint32_t) = command->value; break;
      default: ((void (*)(uint32_t))command->address)(command->value);
    }}
  }}
  *(volatile uint32_t *){done} = 1;
  for (;;) __asm volatile("wfi");
}}
"""
SYMBOL = '__asm__(".global {name}; .set {name}, {value}");\n'
SYMBOLS = {
    "_spare_start": SPARE,
}
L4_SYMBOLS = {"_code_ram_start": CODE_RAM, "_code_ram_data": CODE_DATA, "_code_ram_log2": 16}

Command = tuple[int, int | str, int]  # kind, address or function, value
READ, WRITE, CALL = 0, 16, 99
BEGIN: Command = (CALL, "mpu_begin", 0)


def read(size: int, address: int) -> Command:
    return READ + size, address, 0


def write(size: int, address: int, value: int = 0x5A) -> Command:
    return WRITE + size, address, value


class Board:
    """A virtual board that obeys `commands`; the code in RAM of an L4 begins `offset` bytes behind SRAM2's begin."""

    def __init__(
        self, name: str, commands: Sequence[Command], *, is_ideal: bool = False, offset: int = CODE_OFFSET
    ) -> None:
        board = load_board(name)
        folder = made_once(f"mpu-{name}-{offset:x}", lambda out: self._build(out, name, offset))
        elf = folder / "program.elf"
        self.rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=is_ideal)
        words = [
            word
            for kind, place, value in commands
            for word in (kind, address_of(place, elf) | 1 if isinstance(place, str) else place, value)
        ]
        for number, word in enumerate([*words, 0]):
            self.rig.write_word(0, COMMANDS + 4 * number, word)

    @staticmethod
    def _build(folder: Path, name: str, offset: int) -> None:
        symbols = {"_spare_start": SPARE}
        if name == L4:
            symbols |= {**L4_SYMBOLS, "_ram_code_start": CODE_RAM + offset}
        text = "".join(SYMBOL.format(name=symbol, value=value) for symbol, value in symbols.items())
        source = PROGRAM.format(symbols=text, commands=COMMANDS, done=DONE)
        build(folder, load_board(name), source, firmware=["mpu.c"])

    def end(self) -> str:
        """Run until the board stops, and return why; "" if it does not."""
        try:
            self.rig.run_until(RUN_PS)
        except BoardStoppedError as error:
            return str(error).partition(" stopped: ")[2]
        assert self.rig.read_word(0, DONE) == 1
        return ""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (read(4, 0), "read of 4 bytes at 0x00000000, which the MPU protects (region 0: no access), pc 0x0800"),
        (write(4, 0), "write of 4 bytes at 0x00000000, which the MPU protects (region 0: no access), pc 0x0800"),
        (read(2, 0x1FFFE), "read of 2 bytes at 0x0001fffe, which the MPU protects (region 0: no access)"),
        (write(4, 0x08000000), "write of 4 bytes at 0x08000000, which the MPU protects (region 1: read only)"),
        (write(1, 0x0801FFFF), "write of 1 bytes at 0x0801ffff, which the MPU protects (region 1: read only)"),
        (write(1, STACK - 1), "write of 1 bytes at 0x200001ff, which the MPU protects (region 3: no access)"),
        (read(1, SPARE), "read of 1 bytes at 0x20000100, which the MPU protects (region 3: no access)"),
        ((CALL, RAM + 0x801, 0), "execution at 0x20000800, which the MPU protects (region 2: no code)"),
        ((CALL, 1, 0), "execution at 0x00000000, which the MPU protects (region 0: no access)"),
        (read(4, 0x08000000), ""),
        (write(1, STACK), ""),
        (write(1, SPARE - 1), ""),
    ],
    ids=str,
)
@pytest.mark.parametrize("board_name", BOARDS)
def test_an_access_that_the_mpu_denies_stops_the_board(board_name: str, command: Command, expected: str) -> None:
    end = Board(board_name, [BEGIN, command], is_ideal=board_name in {F4, H7}).end()
    assert end.startswith(expected)
    assert bool(end) == bool(expected)


@pytest.mark.parametrize("is_ideal", [False, True])
@pytest.mark.parametrize("board_name", BOARDS)
def test_an_overflow_of_the_stack_stops_at_the_first_byte_below_it(board_name: str, *, is_ideal: bool) -> None:
    board = Board(board_name, [BEGIN, (CALL, "push_at", STACK + 0x2E8)], is_ideal=is_ideal)
    expected = f"write of 4 bytes at 0x{STACK - 8:08x}, which the MPU protects (region 3: no access)"
    assert board.end().startswith(expected)
    assert board.rig.read_word(0, STACK + 8) == 0x12345678  # of the last push that fits
    assert board.rig.read_word(0, STACK - 8) != 0x12345678


@pytest.mark.parametrize("is_ideal", [False, True])
@pytest.mark.parametrize("board_name", [F4, H7])
def test_bytes_beside_protected_ones_are_read_and_written(board_name: str, *, is_ideal: bool) -> None:
    board = Board(board_name, [BEGIN, (CALL, "access_all", STACK)], is_ideal=is_ideal)
    assert board.end() == ""
    words = [board.rig.read_word(0, STACK + 4 * i) for i in range(11)]
    assert words[0] == 0x11223344
    assert words[1] >> 16 == 0x3344
    assert words[2] >> 8 & 0xFF == 0x88
    assert words[4:] == [0x11223344, 0x55667788, words[6], 0x11223344, 0x55667788, 0x11223344, 0x88]
    assert (board.rig.read_word(0, RAM), board.rig.read_word(0, SPARE - 4)) == (0x11223344, 0x55667788)
    assert board.rig.read_word(0, STACK + 0x203) == 0x55667788


@pytest.mark.parametrize("board_name", BOARDS)
def test_a_read_of_bytes_beside_protected_ones_does_not_open_these(board_name: str) -> None:
    end = Board(board_name, [BEGIN, read(4, STACK), read(4, STACK), read(4, STACK - 4)]).end()
    assert end.startswith(f"read of 4 bytes at 0x{STACK - 4:08x}, which the MPU protects (region 3: no access)")


@pytest.mark.parametrize("board_name", BOARDS)
def test_an_exception_does_not_write_its_frame_below_the_stack(board_name: str) -> None:
    place = f"0x{STACK - 8:08x}, which the MPU protects (region 3: no access),"
    end = Board(board_name, [BEGIN, (CALL, "pend_at", STACK + 0x18)]).end()
    assert end.startswith(f"the stack at {place} cannot be written by an exception")


@pytest.mark.parametrize("board_name", BOARDS)
def test_code_in_data_ram_is_not_executed(board_name: str) -> None:
    copy, call = (CALL, "copy", 0), (CALL, "in_ram", 0)
    assert Board(board_name, [copy, call]).end() == ""
    end = Board(board_name, [copy, BEGIN, call]).end()  # although it was before
    region = "(region 0: no access)" if board_name == L4 else "(region 2: no code)"
    assert re.match(rf"execution at 0x[12][04]0[01].000, which the MPU protects {re.escape(region)}", end)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (read(4, CODE_RAM + CODE_OFFSET - 4), "read of 4 bytes at 0x10000bfc, which the MPU protects (region 0: no a"),
        (read(4, CODE_RAM + CODE_OFFSET), ""),
        (write(4, CODE_RAM + CODE_OFFSET), "write of 4 bytes at 0x10000c00, which the MPU protects (region 5: read on"),
        (write(4, CODE_RAM + 0x1FFC), "write of 4 bytes at 0x10001ffc, which the MPU protects (region 5: read only)"),
        (write(4, CODE_RAM + 0x2000), "write of 4 bytes at 0x10002000, which the MPU protects (region 4: read only)"),
        (write(4, CODE_RAM + 0xFFFC), "write of 4 bytes at 0x1000fffc, which the MPU protects (region 4: read only)"),
        (read(4, CODE_RAM + 0xFFFC), ""),
        (write(4, CODE_DATA + CODE_OFFSET - 4), ""),
        (read(4, CODE_DATA + CODE_OFFSET), ""),
        (write(1, CODE_DATA + CODE_OFFSET), "write of 1 bytes at 0x20030c00, which the MPU protects (region 7: read"),
        ((CALL, CODE_DATA + CODE_OFFSET + 1, 0), "execution at 0x20030c00, which the MPU protects (region 7: read on"),
        (write(4, CODE_DATA + 0xFFFC), "write of 4 bytes at 0x2003fffc, which the MPU protects (region 6: read only,"),
        (write(4, CODE_DATA + 0x10000), ""),
    ],
    ids=str,
)
def test_code_in_ram_is_read_only_from_its_first_byte(command: Command, expected: str) -> None:
    end = Board(L4, [BEGIN, command]).end()
    assert end.startswith(expected)
    assert bool(end) == bool(expected)


@pytest.mark.parametrize("offset", [0, 0x2000, 0xFC00])
def test_code_in_ram_may_begin_at_any_64th(offset: int) -> None:
    place = CODE_DATA + offset
    allowed = [
        write(4, place - 4),
        read(4, CODE_RAM + offset),
        read(4, CODE_RAM + 0xFFFC),
        write(4, CODE_DATA + 0x10000),
    ]
    end = Board(L4, [BEGIN, *allowed, write(4, place)], offset=offset).end()
    assert end.startswith(f"write of 4 bytes at 0x{place:08x}, which the MPU protects")


@pytest.mark.parametrize("board_name", BOARDS)
def test_flash_takes_writes_only_while_it_is_open(board_name: str) -> None:
    flash_open, flash_closed = (CALL, "mpu_open_flash", 0), (CALL, "mpu_close_flash", 0)
    end = Board(board_name, [BEGIN, flash_open, write(4, 0x08010000)]).end()
    assert end.startswith("write of 4 bytes at 0x08010000, which is flash")
    end = Board(board_name, [BEGIN, flash_open, flash_closed, write(4, 0x08010000)]).end()
    assert end.startswith("write of 4 bytes at 0x08010000, which the MPU protects (region 1: read only)")


def test_a_reset_switches_the_mpu_off() -> None:
    board = Board(G0, [write(4, SPARE), BEGIN])
    assert board.end() == ""
    board.rig.reset_board(0, ResetCause.PIN)
    board.rig.run_until(2 * RUN_PS)
    assert board.rig.start_count(0) == 2


def region(number: int, base: int, settings: int) -> list[Command]:
    """Return commands that set a region by RNR, RBAR and RASR."""
    return [write(4, MPU + 8, number), write(4, MPU + 12, base), write(4, MPU + 16, settings)]


ON, OFF = write(4, MPU + 4, 5), write(4, MPU + 4, 0)
READ_WRITE = 3 << 24


@pytest.mark.parametrize(
    ("board_name", "commands", "expected"),
    [
        (G0, [*region(7, 0x20001000, 6 << 1 | 1), ON], "region 7 of the MPU, 128 bytes at 0x20001000, is smaller than"),
        (
            F4,
            [*region(7, 0x20001000, 3 << 1 | 1), ON],
            "region 7 of the MPU, 16 bytes at 0x20001000, is smaller than 32",
        ),
        (
            F4,
            [*region(7, 0x20001020, 5 << 1 | 1), ON],
            "region 7 of the MPU, 64 bytes at 0x20001020, is not at a multi",
        ),
        (F4, [*region(7, 0x20001000, 0x10D), ON], "region 7 of the MPU, 128 bytes at 0x20001000, is too small for sub"),
        (F4, [*region(7, 0x20001000, 4 << 24 | 0xF), ON], "region 7 of the MPU, 256 bytes at 0x20001000, has reserved"),
        (
            H7,
            [*region(15, 0x24000000, READ_WRITE | 1 << 19 | 0xF), ON],
            "region 15 of the MPU, 256 bytes at 0x24000000,",
        ),
        (H7, [*region(15, 0x24000000, READ_WRITE | 0xF << 16 | 0xF), ON], "region 15 of the MPU, 256 bytes at 0x24000"),
        (
            H7,
            [*region(15, 0, READ_WRITE | 2 << 16 | 0x3B), ON],
            "region 15 of the MPU, 1073741824 bytes at 0x00000000,",
        ),
        (H7, [*region(15, 0, 0x3F), ON], "region 15 of the MPU, 4294967296 bytes at 0x00000000, has peripherals in it"),
        (F4, [write(4, MPU + 8, 8)], "the MPU has no region 8"),
        (F4, [write(4, MPU + 4, 7)], "an MPU with HFNMIENA or without PRIVDEFENA is not modelled"),
        (F4, [write(4, MPU + 4, 1)], "an MPU with HFNMIENA or without PRIVDEFENA is not modelled"),
        (G0, [write(4, MPU + 20, 0)], "the register at offset 0xda4 of the system control space is not modelled"),
    ],
    ids=str,
)
def test_settings_that_are_not_modelled_stop_the_board(board_name: str, commands: list[Command], expected: str) -> None:
    assert Board(board_name, [BEGIN, OFF, *commands]).end().startswith(expected)


def test_registers_of_the_mpu_and_their_aliases() -> None:
    alias = [write(4, MPU + 20, 0x20001016), write(4, MPU + 24, 0x0F)]  # VALID, region 6
    end = Board(H7, [BEGIN, *alias, read(4, 0x20000FFC), read(4, 0x200010FC)]).end()
    assert end.startswith("read of 4 bytes at 0x200010fc, which the MPU protects (region 6: no access)")
    disabled = [write(4, MPU + 16, 0), read(4, 0x200010FC), read(4, MPU), read(4, MPU + 12)]
    assert Board(H7, [BEGIN, *alias, *disabled]).end() == ""
