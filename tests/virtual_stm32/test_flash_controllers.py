"""Flash controllers of virtual boards by their registers: what they do, and what the reference manuals forbid."""

import random
from collections.abc import Callable

import pytest

from controllers.flash_chip import Chip
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.controller import KEYS, OPTION_KEYS, FlashController
from virtual_stm32.peripherals.flash.stm32f4 import FlashF4, FlashF7, FlashF76
from virtual_stm32.peripherals.flash.stm32h7 import FlashH743
from virtual_stm32.peripherals.flash.stm32l4 import (
    FlashG0,
    FlashG4,
    FlashG4OneBank,
    FlashG4TwoBanks,
    FlashL4,
    FlashL4Plus,
    FlashL4PlusOneBank,
    FlashL4TwoBanks,
)

KB = 1024
LOCKED = 1 << 31  # CR of F4, G0 and L4


# STM32G0 and L4: KEYR, OPTKEYR, SR, CR, OPTR, WRP1AR

KEYR, OPTKEYR, SR, CR, OPTR, WRP1AR = 0x08, 0x0C, 0x10, 0x14, 0x20, 0x2C
WRP2AR, DBANK = 0x4C, 1 << 22  # of the L4+
PG, PER, STRT, OPTSTRT, MER1, MER2, BKER = 1, 2, 1 << 16, 1 << 17, 1 << 2, 1 << 15, 1 << 11
PROGERR, WRPERR, PGAERR, SIZERR, PGSERR, BSY = 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 16


@pytest.fixture
def g0() -> Chip:
    chip = Chip(FlashG0, 128 * KB, fill=0xFF)
    chip.write(KEYR, *KEYS)
    return chip


def test_without_keys_nothing_is_programmed_or_erased() -> None:
    chip = Chip(FlashG0, 128 * KB)
    assert chip.read(CR) & LOCKED
    chip.write(CR, PER | STRT)
    chip.wait()
    assert chip.read(CR) & LOCKED
    assert not any(chip.flash)


def test_a_wrong_key_locks_until_reset() -> None:
    chip = Chip(FlashG0, 128 * KB)
    chip.write(KEYR, KEYS[0], 1, *KEYS)
    assert chip.read(CR) & LOCKED
    chip.reset()
    chip.write(KEYR, *KEYS)
    assert not chip.read(CR) & LOCKED


def test_a_page_is_erased_after_its_time() -> None:
    chip = Chip(FlashG0, 128 * KB)
    chip.write(KEYR, *KEYS)
    chip.write(CR, PER | 3 << 3 | STRT)
    assert chip.read(SR) & BSY
    assert not any(chip.flash)
    chip.wait()
    assert chip.now == 22_000
    assert not chip.read(SR) & BSY
    assert chip.flash == bytes(6 * KB) + b"\xff" * 2 * KB + bytes(120 * KB)


def test_a_double_word_is_programmed_by_its_second_word(g0: Chip) -> None:
    g0.write(CR, PG)
    g0.program(8, b"abcd")
    assert g0.flash[8:16] == b"\xff" * 8
    g0.program(12, b"efgh")
    assert g0.flash[8:16] == b"abcdefgh"
    assert g0.read(SR) == 0


@pytest.mark.parametrize(
    ("control", "writes", "error"),
    [
        (0, [(8, b"abcd")], PGSERR),
        (PG, [(8, b"ab")], SIZERR),
        (PG, [(12, b"abcd")], PGAERR),
        (PG, [(8, b"abcd"), (16, b"efgh")], PGAERR),
        (PG, [(0, b"abcd"), (4, b"efgh")], PROGERR),
    ],
)
def test_errors_of_programming(g0: Chip, control: int, writes: list[tuple[int, bytes]], error: int) -> None:
    g0.flash[0:8] = b"occupied"
    before = bytes(g0.flash)
    g0.write(CR, control)
    for offset, data in writes:
        g0.program(offset, data)
    assert g0.read(SR) == error
    assert g0.flash == before
    g0.write(SR, error)
    assert g0.read(SR) == 0


def test_nothing_is_programmed_while_an_error_is_flagged(g0: Chip) -> None:
    g0.write(CR, PG)
    g0.program(12, b"abcd")
    g0.program(16, b"abcd", b"efgh")
    assert g0.read(SR) == PGAERR | PGSERR
    assert g0.flash[16:24] == b"\xff" * 8


def test_zeros_may_be_written_over_anything(g0: Chip) -> None:
    g0.flash[0:8] = b"occupied"
    g0.write(CR, PG)
    g0.program(0, bytes(4), bytes(4))
    assert g0.flash[0:8] == bytes(8)
    assert g0.read(SR) == 0


def test_pages_with_write_protection(g0: Chip) -> None:
    g0.write(OPTKEYR, *OPTION_KEYS)
    g0.write(WRP1AR, 2 << 16 | 1)
    g0.write(CR, OPTSTRT)
    g0.wait()
    for page, error in ((0, 0), (1, WRPERR), (2, WRPERR), (3, 0)):
        g0.write(SR, WRPERR)
        g0.write(CR, PER | page << 3 | STRT)
        assert g0.read(SR) & WRPERR == error
        g0.wait()


@pytest.mark.parametrize(("make", "bank_kb", "page_kb"), [(FlashL4Plus, 1024, 4), (FlashG4TwoBanks, 256, 2)])
def test_both_banks_of_l4_plus_and_g4(
    make: Callable[[FlashCells, Callable[[int, int], int]], FlashController], bank_kb: int, page_kb: int
) -> None:
    chip = Chip(make, 2 * bank_kb * KB)
    chip.write(KEYR, *KEYS)
    chip.write(CR, PER | BKER | 1 << 3 | STRT)
    chip.wait()
    start = (bank_kb + page_kb) * KB
    assert set(chip.flash[start : start + page_kb * KB]) == {0xFF}
    assert not any(chip.flash[:start])
    chip.write(CR, MER1 | STRT)
    chip.wait()
    assert set(chip.flash[: bank_kb * KB]) == {0xFF}
    assert not any(chip.flash[start + page_kb * KB :])


def test_the_last_page_of_a_g431() -> None:
    """RM0440: 64 pages of 2 KB, and the bits of SR and CR of the L4; no empty check, which SR of the L4 has."""
    chip = Chip(FlashG4, 128 * KB)
    chip.write(KEYR, *KEYS)
    chip.write(CR, PER | 63 << 3 | STRT)
    chip.wait()
    assert set(chip.flash[126 * KB :]) == {0xFF}
    assert not any(chip.flash[: 126 * KB])
    chip.write(SR, PEMPTY)
    assert chip.read(SR) == 0
    assert not chip.controller.is_empty
    chip.write(CR, PER | 64 << 3 | STRT)
    chip.wait()
    assert chip.read(SR) & WRPERR, "there is no such page"


def test_the_one_bank_of_the_l4_plus() -> None:
    """Pages of 8 KB from the first to the last, and all four areas of write protection are of the one bank."""
    chip = Chip(FlashL4PlusOneBank, 2048 * KB)
    chip.write(KEYR, *KEYS)
    chip.write(OPTKEYR, *OPTION_KEYS)
    chip.write(WRP2AR, 201 << 16 | 201)
    chip.write(CR, OPTSTRT)
    chip.wait()
    for page in (200, 201):
        chip.write(CR, PER | page << 3 | STRT)
        chip.wait()
    assert chip.read(SR) & WRPERR
    start = 1600 * KB
    assert set(chip.flash[start : start + 8 * KB]) == {0xFF}
    assert not any(chip.flash[:start] + chip.flash[start + 8 * KB :])
    chip.write(SR, WRPERR)
    chip.write(WRP2AR, 0xFF)
    chip.write(CR, OPTSTRT)
    chip.wait()
    chip.write(CR, MER1 | STRT)
    chip.wait()
    assert set(chip.flash) == {0xFF}


@pytest.mark.parametrize(
    ("make", "dbank"),
    [(FlashL4Plus, DBANK), (FlashL4PlusOneBank, 0), (FlashG4TwoBanks, DBANK), (FlashG4OneBank, 0)],
)
def test_the_banks_of_the_l4_plus_stay(
    make: Callable[[FlashCells, Callable[[int, int], int]], FlashController], dbank: int
) -> None:
    chip = Chip(make, 2048 * KB)
    chip.write(KEYR, *KEYS)
    chip.write(OPTKEYR, *OPTION_KEYS)
    assert chip.read(OPTR) & DBANK == dbank
    chip.write(OPTR, chip.read(OPTR) ^ DBANK)
    chip.write(CR, OPTSTRT)
    with pytest.raises(NotModelledError, match="DBANK is not modelled"):
        chip.wait()


def test_removing_read_out_protection_erases_everything(g0: Chip) -> None:
    g0.flash[0:8] = b"a secret"
    g0.write(OPTKEYR, *OPTION_KEYS)
    for level, is_protected, content in ((0xBB, True, b"a secret"), (0xAA, False, b"\xff" * 8)):
        g0.write(OPTR, g0.read(OPTR) & ~0xFF | level)
        g0.write(CR, OPTSTRT)
        g0.wait()
        assert g0.controller.is_protected == is_protected
        assert g0.flash[0:8] == content
    g0.reset()
    assert not g0.controller.is_protected


ACR, PEMPTY, PROGEMPTY = 0x00, 1 << 17, 1 << 16


@pytest.mark.parametrize("make", [FlashL4, FlashL4TwoBanks, FlashL4Plus, FlashL4PlusOneBank])
def test_writing_1_toggles_the_empty_check_of_the_l4(
    make: Callable[[FlashCells, Callable[[int, int], int]], FlashController],
) -> None:
    chip = Chip(make, 1024 * KB)
    for is_empty in (True, False, True):
        chip.write(SR, PEMPTY)
        assert (chip.read(SR), chip.controller.is_empty) == (PEMPTY * is_empty, is_empty)
    chip.write(SR, PGSERR)
    assert chip.controller.is_empty


def test_the_empty_check_of_the_g0_is_written_as_it_shall_be(g0: Chip) -> None:
    for is_empty in (True, True, False, False):
        g0.write(ACR, PROGEMPTY * is_empty | 1)
        assert (g0.read(ACR), g0.controller.is_empty) == (PROGEMPTY * is_empty | 1, is_empty)
    g0.write(SR, PEMPTY)
    assert g0.read(SR) == 0


@pytest.mark.parametrize(
    ("make", "size", "offset", "flag"),
    [
        (FlashG0, 128 * KB, ACR, PROGEMPTY),
        (FlashL4, 512 * KB, SR, PEMPTY),
        (FlashF4, 512 * KB, ACR, 0),
        (FlashH743, 2048 * KB, ACR, 0),
    ],
)
def test_the_empty_check_is_told_after_a_reset(
    make: Callable[[FlashCells, Callable[[int, int], int]], FlashController], size: int, offset: int, flag: int
) -> None:
    for is_empty in (True, False):
        chip = Chip(make, size)
        chip.controller.was_reset(is_empty=is_empty)
        assert chip.read(offset) == flag * is_empty
        assert chip.controller.is_empty == bool(flag and is_empty)


def test_read_out_protection_level_2_is_for_ever(g0: Chip) -> None:
    g0.write(OPTKEYR, *OPTION_KEYS)
    g0.write(OPTR, g0.read(OPTR) & ~0xFF | 0xCC)
    g0.write(CR, OPTSTRT)
    g0.wait()
    g0.write(OPTR, g0.read(OPTR) & ~0xFF | 0xAA)
    g0.write(CR, OPTSTRT)
    with pytest.raises(NotModelledError, match="level 2"):
        g0.wait()


# STM32F4: KEYR, SR, CR, OPTCR

F4_KEYR, F4_SR, F4_CR = 0x04, 0x0C, 0x10
F4_SER, F4_MER, PSIZE_32 = 2, 4, 2 << 8
F4_WRPERR, F4_PGSERR, F4_PGPERR = 1 << 4, 1 << 7, 1 << 6


def f4(fill: int) -> Chip:
    chip = Chip(FlashF4, 512 * KB, fill)
    chip.write(F4_KEYR, *KEYS)
    return chip


def test_sectors_of_the_f4() -> None:
    chip = f4(fill=0)
    for sector, start, size in ((1, 16, 16), (4, 64, 64), (5, 128, 128), (7, 384, 128)):
        chip.write(F4_CR, F4_SER | sector << 3 | STRT)
        chip.wait()
        assert set(chip.flash[start * KB : (start + size) * KB]) == {0xFF}
    assert chip.flash.count(0xFF) == 336 * KB
    chip.write(F4_CR, F4_MER | STRT)
    chip.wait()
    assert set(chip.flash) == {0xFF}


@pytest.mark.parametrize(("make", "sectors"), [(FlashF7, 8), (FlashF76, 12)])
def test_sectors_of_the_f7(make: type[FlashF7], sectors: int) -> None:
    chip = Chip(make, (sectors - 4) * 256 * KB, fill=0)
    chip.write(F4_KEYR, *KEYS)
    for sector, start, size in ((3, 96, 32), (4, 128, 128), (5, 256, 256), (sectors - 1, (sectors - 5) * 256, 256)):
        chip.write(F4_CR, F4_SER | sector << 3 | STRT)
        chip.wait()
        assert set(chip.flash[start * KB : (start + size) * KB]) == {0xFF}
    assert chip.flash.count(0xFF) == 672 * KB
    chip.write(F4_CR, F4_SER | sectors << 3 | STRT)
    assert chip.read(F4_SR) == F4_WRPERR


def test_the_f4_programs_what_psize_says() -> None:
    chip = f4(fill=0xFF)
    chip.program(0, b"abcd")
    assert chip.read(F4_SR) == F4_PGSERR
    chip.write(F4_SR, F4_PGSERR)
    chip.write(F4_CR, PG | PSIZE_32)
    chip.program(0, b"ab")
    assert chip.read(F4_SR) == F4_PGPERR
    assert set(chip.flash[:4]) == {0xFF}
    chip.program(0, b"\x0f\x0f\x0f\x0f")
    chip.program(0, b"\xfc\xfc\xfc\xfc")  # only makes bits 0
    assert chip.flash[:4] == b"\x0c\x0c\x0c\x0c"


# STM32H7: KEYR, CR, SR, CCR of bank 1, and 0x100 behind them those of bank 2

H7_KEYR, H7_CR, H7_SR, H7_CCR = 0x04, 0x0C, 0x10, 0x14
H7_PG, H7_SER, H7_BER, H7_FW, H7_START = 2, 4, 8, 0x40, 0x80
WBNE, INCERR, H7_PGSERR = 2, 1 << 21, 1 << 18
WORDS = [bytes([i]) * 4 for i in range(8)]


@pytest.mark.parametrize("bank", [0, 1])
def test_a_flash_word_of_the_h7_is_programmed_when_it_is_whole(bank: int) -> None:
    chip, registers, start = Chip(FlashH743, 2048 * KB, fill=0xFF), bank * 0x100, bank * 1024 * KB
    chip.write(registers + H7_KEYR, *KEYS)
    chip.write(registers + H7_CR, H7_PG)
    chip.program(start + 32, *WORDS[:7])
    assert chip.read(registers + H7_SR) == WBNE
    assert set(chip.flash) == {0xFF}
    chip.program(start + 60, WORDS[7])
    assert chip.read(registers + H7_SR) == 0
    assert chip.flash[start + 32 : start + 64] == b"".join(WORDS)


def test_errors_of_the_h7() -> None:
    chip = Chip(FlashH743, 2048 * KB, fill=0xFF)
    chip.program(0, WORDS[0])
    assert chip.read(H7_SR) == H7_PGSERR
    chip.write(H7_CCR, H7_PGSERR)
    chip.write(H7_KEYR, *KEYS)
    chip.write(H7_CR, H7_PG)
    chip.program(0, WORDS[0])
    chip.program(64, WORDS[0])
    assert chip.read(H7_SR) == INCERR | WBNE
    chip.write(H7_CCR, INCERR)
    chip.write(H7_CR, H7_PG | H7_FW)
    chip.wait()
    assert chip.flash[:32] == WORDS[0] + b"\xff" * 28


def test_sectors_and_banks_of_the_h7() -> None:
    chip = Chip(FlashH743, 2048 * KB)
    chip.write(0x100 + H7_KEYR, *KEYS)
    chip.write(0x100 + H7_CR, H7_SER | 2 << 8 | H7_START)
    chip.wait()
    start = (1024 + 256) * KB
    assert set(chip.flash[start : start + 128 * KB]) == {0xFF}
    assert chip.flash.count(0xFF) == 128 * KB
    chip.write(0x100 + H7_CR, H7_BER | H7_START)
    chip.wait()
    assert chip.flash.count(0xFF) == 1024 * KB


# Errors that cannot be corrected

ECCR, ECCC, ECCD = 0x18, 1 << 30, 1 << 31
SR_H7, CCR_H7, DBECCERR, BANK_2_H7 = 0x10, 0x14, 1 << 26, 0x100


@pytest.mark.parametrize(
    ("make", "size", "offset", "address"),
    [
        (FlashG0, 128 * KB, 0x10004, 0x10000 // 8),
        (FlashL4, 512 * KB, 0x10004, 0x10000),
        (FlashL4TwoBanks, 1024 * KB, 0x90004, 0x10000 | 1 << 19),
        (FlashL4Plus, 2048 * KB, 0x110004, 0x10000 | 1 << 21),
        (FlashL4PlusOneBank, 2048 * KB, 0x110004, 0x110000),
    ],
)
def test_the_first_error_asks_for_an_nmi_until_it_is_cleared(
    make: Callable[[FlashCells, Callable[[int, int], int]], FlashController], size: int, offset: int, address: int
) -> None:
    chip = Chip(make, size)
    assert chip.controller.failed(offset)
    assert chip.controller.failed(8)
    assert chip.read(ECCR) == ECCD | address
    assert chip.controller.has_nmi
    chip.write(ECCR, ECCC)
    assert chip.controller.has_nmi
    chip.write(ECCR, ECCD)
    assert not chip.controller.has_nmi


def test_an_error_of_the_h7_is_a_bus_error_and_flagged_in_its_bank() -> None:
    chip = Chip(FlashH743, 2048 * KB)
    assert not chip.controller.failed(1 << 20)
    assert not chip.controller.has_nmi
    assert chip.read(SR_H7) == 0
    assert chip.read(BANK_2_H7 + SR_H7) == DBECCERR
    chip.write(BANK_2_H7 + CCR_H7, DBECCERR)
    assert chip.read(BANK_2_H7 + SR_H7) == 0


def test_an_interrupted_erase_leaves_words_that_cannot_be_corrected_and_another_one_mends_them(g0: Chip) -> None:
    g0.write(CR, PER | 3 << 3)
    g0.write(CR, PER | 3 << 3 | STRT)
    g0.controller.interrupt(random.Random(1))  # noqa: S311 (repeatable)
    torn = [any(g0.torn[offset : offset + 8]) for offset in range(3 * 2 * KB, 4 * 2 * KB, 8)]
    assert 0.6 < sum(torn) / len(torn) < 0.85
    assert sum(g0.torn) == 8 * sum(torn)
    g0.reset()
    g0.write(KEYR, *KEYS)
    g0.write(CR, PER | 3 << 3 | STRT)
    g0.wait()
    assert not any(g0.torn)
    assert g0.flash == b"\xff" * 128 * KB


def test_an_interrupted_word_has_bits_of_before_and_of_what_was_wanted(g0: Chip) -> None:
    for offset in range(0, 800, 8):
        g0.write(CR, PG)
        g0.controller.program(offset, bytes(4), 0)
        g0.controller.program(offset + 4, bytes(4), 0)
        g0.controller.interrupt(random.Random(offset))  # noqa: S311 (repeatable)
        g0.reset()
        g0.write(KEYR, *KEYS)
    words = [bytes(g0.flash[offset : offset + 8]) for offset in range(0, 800, 8)]
    assert len(set(words)) == len(words)
    assert 0.4 < sum(each.bit_count() for word in words for each in word) / 6400 < 0.6
    assert 60 < sum(g0.torn) / 8 < 85


def test_a_torn_word_is_not_erased(g0: Chip) -> None:
    g0.controller.cells.tear(16, 8)
    g0.write(CR, PG)
    g0.program(16, b"\x01" * 4, bytes(4))
    assert g0.read(SR) & PROGERR


def test_an_h7_word_that_is_programmed_twice_cannot_be_corrected() -> None:
    chip = Chip(FlashH743, 2048 * KB, fill=0xFF)
    for value in (0x0F, 0x03):
        chip.write(0x04, *KEYS)
        chip.write(0x0C, 2)
        chip.program(0, *(bytes([value]) * 4 for _ in range(8)))
        chip.write(0x0C, 1)
    assert bytes(chip.flash[:32]) == b"\x03" * 32
    assert sum(chip.torn) == 32
