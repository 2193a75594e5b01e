"""The debug port of a virtual board, by the levels of its pins: state machine, chain of TAPs, transfers and errors."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from programs.virtual_firmware import build
from rigs.debugged_boards import COUNTING
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.debug.probe import open_probes

NAME = "nucleo_f401re"
TO_IDLE = "111110"  # TMS, from any state
IDCODES = (0x4BA00477, 0x06433041)  # debug port, boundary scan
DPACC, APACC = 0b1010, 0b1011
BYPASS = 0b11111  # of the boundary scan
OK = 0b010
CTRL_STAT, SELECT, RDBUFF = 0x4, 0x8, 0xC
CSW, TAR, DRW = 0x0, 0x4, 0xC
POWER, STICKY_ERROR = 0x50000000, 1 << 5
WORDS, WORDS_IN_A_ROW = 2, 0x12
RAM, NOWHERE = 0x20000000, 0x60000000


class Pins:
    """A client that drives the pins, bit by bit."""

    def __init__(self, rig: VirtualRig) -> None:
        (self._probe,) = open_probes(rig)

    def close(self) -> None:
        self._probe.close()

    def clock(self, levels: str, tdi: str = "") -> str:
        """Clock TMS and TDI; return TDO before each rising edge."""
        levels_and_data = zip(levels, tdi.ljust(len(levels), "0"), strict=True)
        edges = "".join(f"{2 * int(tms) + int(bit)}R{4 + 2 * int(tms) + int(bit)}" for tms, bit in levels_and_data)
        return self._probe.process(edges.encode()).decode()

    def scan(self, value: int, bits: int, *, is_instruction: bool = False) -> int:
        """Shift bits through a register, from and to Run-Test/Idle; return what was there."""
        self.clock("1100" if is_instruction else "100")
        data = f"{value:0{bits}b}"[::-1]
        out = self.clock("0" * (bits - 1) + "1", data)
        self.clock("10")
        return int(out[::-1], 2)

    def transfer(self, instruction: int, register: int, value: int | None = None) -> int:
        """Read or write a register of debug or access port."""
        self.scan(BYPASS << 4 | instruction, 9, is_instruction=True)
        self.scan((value or 0) << 3 | register >> 1 | (value is None), 36)  # the last bit is for BYPASS
        self.scan(BYPASS << 4 | DPACC, 9, is_instruction=True)
        result = self.scan(RDBUFF >> 1 | 1, 36) & (1 << 35) - 1
        assert result & 7 == OK
        return result >> 3


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Pins]:
    elf = build(tmp_path / "counting", load_board(NAME), COUNTING)
    rig = VirtualRig([VirtualBoard(load_board(NAME), elf)], has_ideal_memory=True, is_debuggable=True)
    with closing(Pins(rig)) as made:
        made.clock(TO_IDLE)
        yield made


def powered(pins: Pins) -> Pins:
    pins.transfer(DPACC, CTRL_STAT, POWER)
    pins.transfer(DPACC, SELECT, 0)
    pins.transfer(APACC, CSW, WORDS)
    return pins


def test_after_reset_the_chain_shows_the_idcodes(pins: Pins) -> None:
    value = pins.scan(0, 64)
    assert (value & 0xFFFFFFFF, value >> 32) == IDCODES


def test_instruction_registers_capture_01(pins: Pins) -> None:
    assert pins.scan((1 << 9) - 1, 9, is_instruction=True) == 0b00001_0001
    assert pins.scan(0b1011, 4) == 0b101100 & 0xF  # both in BYPASS: two bits late


def test_without_a_shift_nobody_drives_tdo(pins: Pins) -> None:
    assert pins.clock("0000") == "1111"


def test_power_is_acknowledged(pins: Pins) -> None:
    assert pins.transfer(DPACC, CTRL_STAT) == 0
    pins.transfer(DPACC, CTRL_STAT, POWER)
    assert pins.transfer(DPACC, CTRL_STAT) == POWER | POWER << 1


def test_memory_is_written_and_read_in_a_row(pins: Pins) -> None:
    powered(pins).transfer(APACC, CSW, WORDS_IN_A_ROW)
    pins.transfer(APACC, TAR, RAM + 0x100)
    for value in (0x11111111, 0x22222222):
        pins.transfer(APACC, DRW, value)
    assert pins.transfer(APACC, TAR) == RAM + 0x108
    pins.transfer(APACC, TAR, RAM + 0x100)
    assert [pins.transfer(APACC, DRW) for _ in range(2)] == [0x11111111, 0x22222222]


def test_an_access_without_power_and_one_that_faults_set_the_sticky_error(pins: Pins) -> None:
    pins.transfer(APACC, TAR, RAM)
    assert pins.transfer(DPACC, CTRL_STAT) & STICKY_ERROR
    pins.transfer(DPACC, CTRL_STAT, POWER | STICKY_ERROR)
    assert not pins.transfer(DPACC, CTRL_STAT) & STICKY_ERROR
    powered(pins).transfer(APACC, TAR, NOWHERE)
    pins.transfer(APACC, DRW)
    assert pins.transfer(DPACC, CTRL_STAT) & STICKY_ERROR
    pins.transfer(APACC, TAR, RAM)  # discarded
    pins.transfer(DPACC, CTRL_STAT, POWER | STICKY_ERROR)
    assert pins.transfer(APACC, TAR) == NOWHERE
