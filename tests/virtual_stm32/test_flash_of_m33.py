"""Flash controllers of the STM32H5, L5 and U5 by their registers, and the product states of the H5."""

from functools import partial

import pytest

from controllers.flash_chip import Chip
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.flash.controller import KEYS, OPTION_KEYS
from virtual_stm32.peripherals.flash.icache import Icache
from virtual_stm32.peripherals.flash.stm32h5 import FlashH5
from virtual_stm32.peripherals.flash.stm32u5 import FlashL5, FlashL5OneBank, FlashU5

KB = 1024
LOCKED = 1 << 31  # of NSCR

NSKEYR, OPTKEYR, NSSR, NSCR, ECCR, OPTR = 0x08, 0x10, 0x20, 0x28, 0x30, 0x40
PG, PER, STRT, OPTSTRT, BKER = 1, 2, 1 << 16, 1 << 17, 1 << 11
PGAERR, BSY, ECCD, BK_ECC, DBANK = 1 << 5, 1 << 16, 1 << 31, 1 << 21, 1 << 22

U5 = (FlashU5, 2048 * KB, 2, 8 * KB, 16)
L5 = (FlashL5, 512 * KB, 2, 2 * KB, 8)
L5_ONE_BANK = (FlashL5OneBank, 512 * KB, 1, 4 * KB, 8)


def chip_of(make: type[FlashU5] | type[FlashH5], size: int, fill: int = 0) -> Chip:
    return Chip(partial(make, icache=Icache()), size, fill)


@pytest.mark.parametrize(("make", "size", "banks", "page_bytes", "unit"), [U5, L5, L5_ONE_BANK])
def test_pages_and_words(make: type[FlashU5], size: int, banks: int, page_bytes: int, unit: int) -> None:
    chip = chip_of(make, size)
    chip.write(NSKEYR, *KEYS)
    chip.write(NSCR, PER | 3 << 3 | BKER | STRT)
    assert chip.read(NSSR) & BSY
    chip.wait()
    start = size // banks * (banks - 1) + 3 * page_bytes
    assert chip.flash == bytes(start) + b"\xff" * page_bytes + bytes(size - start - page_bytes)
    words = [bytes([number] * 4) for number in range(unit // 4)]
    chip.write(NSCR, PG)
    chip.program(start, *words)
    assert (chip.read(NSSR), bytes(chip.flash[start : start + unit])) == (0, b"".join(words))
    chip.program(start + unit + 4, words[0])
    assert chip.read(NSSR) == PGAERR


@pytest.mark.parametrize(
    ("make", "size", "address"),
    [
        (FlashU5, 2048 * KB, 0x50000 | BK_ECC),
        (FlashL5, 512 * KB, 0x10000 | BK_ECC),
        (FlashL5OneBank, 512 * KB, 0x50000),
    ],
)
def test_errors_name_a_word_of_a_bank(make: type[FlashU5], size: int, address: int) -> None:
    chip = chip_of(make, size)
    offset = 0x50000 + (size // 2 if make is FlashU5 else 0)
    assert chip.controller.failed(offset + 4)
    assert chip.read(ECCR) == ECCD | address
    assert chip.controller.has_nmi
    chip.write(ECCR, ECCD)
    assert not chip.controller.has_nmi


@pytest.mark.parametrize(("make", "dbank"), [(FlashL5, DBANK), (FlashL5OneBank, 0)])
def test_the_banks_of_the_l5_stay(make: type[FlashL5], dbank: int) -> None:
    chip = chip_of(make, 512 * KB)
    chip.write(NSKEYR, *KEYS)
    chip.write(OPTKEYR, *OPTION_KEYS)
    assert chip.read(OPTR) & DBANK == dbank
    chip.write(OPTR, chip.read(OPTR) ^ DBANK)
    chip.write(NSCR, OPTSTRT)
    with pytest.raises(NotModelledError, match="DBANK is not modelled"):
        chip.wait()


@pytest.mark.parametrize("make", [FlashU5, FlashL5, FlashL5OneBank])
def test_read_out_protection_and_an_offset_without_a_register(make: type[FlashU5]) -> None:
    chip = chip_of(make, 512 * KB, fill=7)
    chip.write(NSKEYR, *KEYS)
    chip.write(OPTKEYR, *OPTION_KEYS)
    for level, content in ((0xBB, 7), (0xAA, 0xFF)):
        chip.write(OPTR, chip.read(OPTR) & ~0xFF | level)
        chip.write(NSCR, OPTSTRT)
        chip.wait()
        assert (chip.controller.is_protected, set(chip.flash)) == (level != 0xAA, {content})
    with pytest.raises(NotModelledError):
        chip.read(0x14)  # where the L4 has CR


H5_KEYR, H5_OPTKEYR, H5_OPTCR, H5_SR, H5_CR, H5_CCR = 0x04, 0x0C, 0x1C, 0x20, 0x28, 0x30
OPTSR_CUR, OPTSR_PRG, ECCDETR, WRP1R_PRG = 0x50, 0x54, 0x104, 0xEC
H5_PG, H5_SER, H5_START, BKSEL, OPTSTART = 1 << 1, 1 << 2, 1 << 5, 1 << 31, 1 << 1
H5_BSY, WBNE, WRPERR, INCERR = 1 << 0, 1 << 1, 1 << 17, 1 << 20
OPEN, PROVISIONED, CLOSED, LOCKED_STATE = 0xED, 0x2E, 0x72, 0x5C


@pytest.fixture
def h5() -> Chip:
    chip = chip_of(FlashH5, 2048 * KB)
    chip.write(H5_KEYR, *KEYS)
    chip.write(H5_OPTKEYR, *OPTION_KEYS)
    return chip


def set_options(chip: Chip, offset: int, value: int) -> None:
    chip.write(offset, value)
    chip.write(H5_OPTCR, OPTSTART)
    chip.wait()


def set_state(chip: Chip, state: int) -> None:
    set_options(chip, OPTSR_PRG, chip.read(OPTSR_CUR) & ~0xFF00 | state << 8)


def test_sectors_and_flash_words_of_the_h5(h5: Chip) -> None:
    h5.write(H5_CR, H5_SER | 3 << 6 | BKSEL | H5_START)
    assert h5.read(H5_SR) & H5_BSY
    h5.wait()
    start = (1024 + 3 * 8) * KB
    assert h5.flash == bytes(start) + b"\xff" * 8 * KB + bytes(2048 * KB - start - 8 * KB)
    h5.write(H5_CR, H5_PG)
    h5.program(start, b"abcd", b"efgh", b"ijkl")
    assert h5.read(H5_SR) == WBNE
    h5.program(start + 20, b"late")
    assert h5.read(H5_SR) == WBNE | INCERR
    h5.write(H5_CCR, INCERR)
    h5.program(start + 12, b"mnop")
    assert (h5.read(H5_SR), bytes(h5.flash[start : start + 16])) == (0, b"abcdefghijklmnop")


def test_four_sectors_of_the_h5_share_a_bit_of_write_protection(h5: Chip) -> None:
    set_options(h5, WRP1R_PRG, 0xFFFFFFFF & ~(1 << 1))
    for sector, flag in ((3, 0), (4, WRPERR), (7, WRPERR), (8, 0)):
        h5.write(H5_CCR, WRPERR)
        h5.write(H5_CR, H5_SER | sector << 6 | H5_START)
        h5.wait()
        assert h5.read(H5_SR) == flag


def test_an_error_of_the_h5_names_a_flash_word(h5: Chip) -> None:
    assert h5.controller.failed(1024 * KB + 0x104)
    assert h5.read(ECCDETR) == ECCD | 1 << 22 | 0x10
    assert h5.controller.has_nmi
    h5.write(ECCDETR, ECCD)
    assert not h5.controller.has_nmi


@pytest.mark.parametrize("state", [PROVISIONED, CLOSED, LOCKED_STATE])
def test_a_product_state_keeps_a_debugger_out_and_is_not_left(h5: Chip, state: int) -> None:
    assert not h5.controller.is_protected
    set_state(h5, state)
    assert h5.read(OPTSR_CUR) >> 8 & 0xFF == state
    assert (h5.controller.is_protected, h5.controller.closes_debug) == (True, state == LOCKED_STATE)
    assert not any(h5.flash)
    with pytest.raises(NotModelledError, match="debug authentication"):
        set_state(h5, OPEN)
