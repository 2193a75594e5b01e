"""The flash controllers of the STM32F4 and F7 (RM0368, RM0390, RM0385 and RM0410, sections Embedded Flash memory)."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.peripherals.flash.cells import Change, FlashCells
from virtual_stm32.peripherals.flash.controller import KEYS, OPTION_KEYS, FlashController, Lock

_KEYR, _OPTKEYR, _SR, _CR, _OPTCR, _OPTCR1 = 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18
_EOP, _WRPERR, _PGPERR, _PGSERR, _BSY = 1 << 0, 1 << 4, 1 << 6, 1 << 7, 1 << 16
_ERRORS = 0x1F2
_PG, _SER, _MER, _STRT, _LOCK = 1 << 0, 1 << 1, 1 << 2, 1 << 16, 1 << 31
_SNB, _PSIZE = 3, 8
_OPTLOCK, _OPTSTRT = 1 << 0, 1 << 1
_NWRP = 16  # bits nWRPi: 0 protects sector i
_KB = 1024
# Typical times of DS10086 and DS10693 (Flash memory programming, x32), rounded; those of the F7 are equal (DS11853).
_WORD_US, _OPTIONS_US = 16, 16
_ERASE_US = (250_000, 550_000, 1_000_000)  # of the smallest, the middle and the largest sectors


class FlashF4(FlashController):
    """Sectors of 16, 64 and 128 KB; programs 1, 2 or 4 bytes at a time, as PSIZE says."""

    sectors_kb: ClassVar[tuple[int, ...]] = (16, 16, 16, 16, 64, 128)  # the last one repeats
    sector_mask: ClassVar[int] = 0xF  # of SNB
    option_defaults: ClassVar[Mapping[int, int]] = {_OPTCR: 0x0FFFAAED}
    protection_register, protection_shift = _OPTCR, 8
    corrected_bytes = 0

    def __init__(self, cells: FlashCells, cycle_after: Callable[[int, int], int]) -> None:
        super().__init__({_KEYR: 0, _OPTKEYR: 0, _SR: 0, _CR: _LOCK}, cells, cycle_after)
        self._lock = Lock(KEYS)
        self._option_lock = Lock(OPTION_KEYS)
        self._sectors = list(_sectors(cells.size_bytes, self.sectors_kb))

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == _KEYR:
            self._lock.take(value)
            self.set_bits(_CR, _LOCK, _LOCK if self._lock.is_locked else 0)
        elif offset == _OPTKEYR:
            self._option_lock.take(value)
            self.set_bits(_OPTCR, _OPTLOCK, _OPTLOCK if self._option_lock.is_locked else 0)
        elif offset == _SR:
            self.words[_SR] &= ~(value & (_EOP | _ERRORS))
        elif offset == _CR and not self._lock.is_locked and not self.is_busy:
            self._control(value, now)
        elif offset == _OPTCR and not self._option_lock.is_locked and not self.is_busy:
            self._option_control(value, now)

    def _control(self, value: int, now: int) -> None:
        self.words[_CR] = value & ~_STRT
        if value & _LOCK:
            self._lock.close()
        elif value & _STRT and value & _MER:
            areas = range(len(self._sectors))
            self._erase(list(areas), now)
        elif value & _STRT and value & _SER:
            self._erase([value >> _SNB & self.sector_mask], now)

    def _erase(self, numbers: list[int], now: int) -> None:
        if any(number >= len(self._sectors) or self._is_write_protected(number) for number in numbers):
            self.words[_SR] |= _WRPERR
            return
        areas = [self._sectors[number] for number in numbers]
        self.words[_SR] |= _BSY
        sizes_kb = sorted(set(self.sectors_kb))
        us = sum(_ERASE_US[sizes_kb.index(size // _KB)] for _, size in areas)
        self.occupy(now, us, [Change(*area) for area in areas], partial(self._erased, areas))

    def _erased(self, areas: list[tuple[int, int]]) -> None:
        for offset, size in areas:
            self.cells.erase(offset, size)
        self.words[_SR] &= ~_BSY

    def _is_write_protected(self, number: int) -> bool:
        return not self.cells.options.get(_OPTCR, self.option_defaults[_OPTCR]) >> _NWRP + number & 1

    @property
    @override
    def takes_words(self) -> bool:
        return bool(self.words[_CR] & _PG)

    @override
    def take(self, offset: int, data: bytes, now: int) -> None:
        control = self.words[_CR]
        sector = next(number for number, (start, size) in enumerate(self._sectors) if start <= offset < start + size)
        if self._lock.is_locked or not control & _PG or self.is_busy:
            error = _PGSERR
        elif len(data) != 1 << (control >> _PSIZE & 3):
            error = _PGPERR
        else:
            error = _WRPERR if self._is_write_protected(sector) else 0
        if error:
            self.words[_SR] |= error
            self.cells.keep(offset, len(data))
            return
        change = self.cells.program(offset, data)
        self.words[_SR] |= _BSY
        self.occupy(now, _WORD_US, [change], self._ended)
        self.programmed()

    @override
    def failed(self, offset: int) -> bool:
        raise AssertionError(offset)  # no error is found

    def _ended(self) -> None:
        self.words[_SR] &= ~_BSY

    def _option_control(self, value: int, now: int) -> None:
        self.words[_OPTCR] = value & ~_OPTSTRT
        if value & _OPTLOCK:
            self._option_lock.close()
        elif value & _OPTSTRT:
            self.words[_SR] |= _BSY
            self.occupy(now, _OPTIONS_US, (), partial(self._options_changed, value & ~_OPTSTRT | _OPTLOCK))

    def _options_changed(self, value: int) -> None:
        self.change_options({_OPTCR: value})
        self._ended()


class FlashF7(FlashF4):
    """Sectors of 32, 128 and 256 KB in one bank; this is the F74x and F75x, with eight of them."""

    sectors_kb = (32, 32, 32, 32, 128, 256)
    sector_mask = 0x1F
    option_defaults: ClassVar[Mapping[int, int]] = {_OPTCR: 0xC0FFAAFD, _OPTCR1: 0x00400080}


class FlashF76(FlashF7):
    """The F76x and F77x as delivered: nDBANK 1, up to twelve sectors."""

    option_defaults: ClassVar[Mapping[int, int]] = {_OPTCR: 0xFFFFAAFD, _OPTCR1: 0x00400080}


def _sectors(size_bytes: int, sizes_kb: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield offset and size of each sector in bytes."""
    offset, number = 0, 0
    while offset < size_bytes:
        size = sizes_kb[min(number, len(sizes_kb) - 1)] * _KB
        yield offset, size
        offset, number = offset + size, number + 1
