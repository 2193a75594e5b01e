"""The flash controller of the virtual STM32L0 by its registers (RM0367)."""

import pytest

from controllers.flash_chip import Chip
from virtual_stm32.peripherals.flash.stm32l0 import KEYS, MEMORY_KEYS, FlashL0

KB = 1024

PECR, PEKEYR, PRGKEYR, SR = 0x04, 0x0C, 0x10, 0x18
PELOCK, PRGLOCK, OPTLOCK, PROG, ERASE, FPRG = 1, 2, 4, 1 << 3, 1 << 9, 1 << 10
BSY, EOP, READY, WRPERR, PGAERR, SIZERR, NOTZEROERR = 1, 2, 12, 1 << 8, 1 << 9, 1 << 10, 1 << 16


@pytest.fixture
def l0() -> Chip:
    """An unlocked controller, whose flash is occupied. Its erased bits are 0."""
    chip = Chip(FlashL0, 64 * KB, fill=0xA5, erased=0)
    chip.write(PEKEYR, *KEYS)
    chip.write(PRGKEYR, *MEMORY_KEYS)
    assert chip.read(PECR) == OPTLOCK
    return chip


def test_an_l0_erases_a_page_of_128_bytes(l0: Chip) -> None:
    l0.write(PECR, PROG | ERASE)
    l0.controller.program(0x1080, bytes(4), 0)
    assert l0.read(SR) == READY | BSY
    l0.wait()
    assert l0.read(SR) == READY | EOP
    assert not any(l0.flash[0x1080:0x1100])
    assert set(l0.flash[:0x1080]) == set(l0.flash[0x1100:]) == {0xA5}


def test_an_l0_programs_words_and_half_pages_that_are_erased(l0: Chip) -> None:
    l0.flash[0x100:0x180] = bytes(0x80)
    l0.program(0x100, b"word")
    assert (bytes(l0.flash[0x100:0x108]), l0.read(SR)) == (b"word\0\0\0\0", READY | EOP)
    l0.write(PECR, PROG | FPRG)
    half_page = [bytes([number]) * 4 for number in range(1, 17)]
    l0.program(0x140, *half_page)
    assert (bytes(l0.flash[0x140:0x180]), l0.read(SR)) == (b"".join(half_page), READY | EOP)
    l0.program(0x104, b"late")
    assert l0.read(SR) == READY | EOP | PGAERR
    l0.write(PECR, 0)
    l0.program(0x100, b"over")
    assert l0.read(SR) & NOTZEROERR


@pytest.mark.parametrize(("lock", "data", "error"), [(PRGLOCK, b"word", WRPERR), (0, b"ab", SIZERR)])
def test_an_l0_refuses(l0: Chip, lock: int, data: bytes, error: int) -> None:
    l0.write(PECR, lock)
    l0.program(0, data)
    assert (l0.read(SR), set(l0.flash)) == (READY | error, {0xA5})


def test_an_l0_locks_everything_together(l0: Chip) -> None:
    l0.write(PECR, PELOCK)
    assert l0.read(PECR) == PELOCK | PRGLOCK | OPTLOCK
    l0.write(PRGKEYR, *MEMORY_KEYS)  # not without the first lock
    assert l0.read(PECR) == PELOCK | PRGLOCK | OPTLOCK
