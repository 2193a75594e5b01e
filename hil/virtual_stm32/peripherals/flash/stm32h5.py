"""The flash controller of the STM32H5 (RM0481): sectors of 8 KB in two banks with one set of registers. TZEN is 0."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.flash.cells import Change, FlashCells
from virtual_stm32.peripherals.flash.controller import KEYS, OPTION_KEYS, FlashController, Lock
from virtual_stm32.peripherals.flash.icache import Icache

_KEYR, _OPTKEYR, _OPTCR, _SR, _CR, _CCR = 0x04, 0x0C, 0x1C, 0x20, 0x28, 0x30
_OPTSR_CUR, _OPTSR2_CUR, _ECCCORR, _ECCDETR = 0x50, 0x70, 0x100, 0x104
_WRP = (0xE8, 0x1E8)  # of each bank: a bit for four sectors
_PRG = 4  # from what is in force to what is programmed next
_BSY, _WBNE = 1 << 0, 1 << 1
_WRPERR, _PGSERR, _INCERR = 1 << 17, 1 << 18, 1 << 20
_LOCK, _PG, _SER, _BER, _START = (1 << bit for bit in (0, 1, 2, 3, 5))
_BKSEL, _SNB, _SNB_MASK = 31, 6, 0x7F
_OPTLOCK, _OPTSTART = 1 << 0, 1 << 1
_ECCC, _ECCD, _BK_ECC = 1 << 30, 1 << 31, 1 << 22
_OPEN, _SECTORS_OF_WRP, _BANKS = 0xED, 4, 2
_SECTOR_BYTES, _FLASH_WORD = 8 << 10, 16
_WORD_US, _ERASE_US, _OPTIONS_US = 50, 2_000, 20_000  # assumed: the datasheet was not at hand


class FlashH5(FlashController):
    """Programs flash words of 128 bits, of a write buffer."""

    option_defaults: ClassVar[Mapping[int, int]] = {
        _OPTSR_CUR: 0x2D30_EDF8,
        _OPTSR2_CUR: 0xC300_0070,
        **dict.fromkeys(_WRP, 0xFFFFFFFF),
    }
    protection_register, protection_shift, unprotected, for_ever = _OPTSR_CUR, 8, _OPEN, 0x5C
    corrected_bytes = _FLASH_WORD

    def __init__(self, cells: FlashCells, cycle_after: Callable[[int, int], int], icache: Icache) -> None:
        plain = dict.fromkeys((_KEYR, _OPTKEYR, _SR, _CCR, _ECCCORR, _ECCDETR), 0)
        super().__init__({**plain, _CR: _LOCK, _OPTCR: _OPTLOCK}, cells, cycle_after)
        self.words |= {offset + _PRG: self.words[offset] for offset in self.option_defaults}
        self._bank_bytes = cells.size_bytes // _BANKS
        self._lock, self._option_lock = Lock(KEYS), Lock(OPTION_KEYS)
        self._start, self._word = 0, bytearray()  # what the write buffer has, and where it belongs
        self._icache = icache
        icache.connect(self._cache_changed)

    def _cache_changed(self) -> None:
        self.changed()

    @property
    @override
    def access_control(self) -> int:
        return self._icache.access_control(super().access_control)

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == _KEYR:
            self._lock.take(value)
            self.set_bits(_CR, _LOCK, _LOCK if self._lock.is_locked else 0)
        elif offset == _CR and not self._lock.is_locked and not self.is_busy:
            self._control(value, now)
        elif offset == _CCR:
            self.words[_SR] &= ~value | _BSY | _WBNE
        elif offset in (_ECCCORR, _ECCDETR):
            self.words[offset] &= ~(value & (_ECCC | _ECCD))
            self.nmi_changed()
        elif offset == _OPTKEYR:
            self._option_lock.take(value)
            self.set_bits(_OPTCR, _OPTLOCK, _OPTLOCK if self._option_lock.is_locked else 0)
        elif offset == _OPTCR and not self._option_lock.is_locked:
            self._option_control(value, now)
        elif offset - _PRG in self.option_defaults and not self._option_lock.is_locked:
            self.words[offset] = value

    def _control(self, value: int, now: int) -> None:
        self.words[_CR] = value & ~_START
        if value & _LOCK:
            self._lock.close()
        elif value & _START and value & (_SER | _BER):
            every = range(self._bank_bytes // _SECTOR_BYTES)
            self._erase(value >> _BKSEL, every if value & _BER else [value >> _SNB & _SNB_MASK], now)

    def _erase(self, bank: int, sectors: Sequence[int], now: int) -> None:
        if any(self._is_write_protected(bank, sector) for sector in sectors):
            self.words[_SR] |= _WRPERR
            return
        areas = [Change(bank * self._bank_bytes + sector * _SECTOR_BYTES, _SECTOR_BYTES) for sector in sectors]
        self._busy(now, _ERASE_US * len(areas), areas, partial(self._erased, areas))

    def _erased(self, areas: list[Change]) -> None:
        for area in areas:
            self.cells.erase(area.offset, area.size)

    def _is_write_protected(self, bank: int, sector: int) -> bool:
        return not self.words[_WRP[bank]] >> sector // _SECTORS_OF_WRP & 1

    def _busy(self, now: int, us: int, changes: Sequence[Change], done: Callable[[], None]) -> None:
        def end() -> None:
            self.words[_SR] &= ~_BSY
            done()

        self.words[_SR] |= _BSY
        self.occupy(now, us, changes, end)

    @property
    @override
    def has_nmi(self) -> bool:
        return bool(self.words[_ECCDETR] & _ECCD)

    @override
    def failed(self, offset: int) -> bool:
        if not self.has_nmi:
            bank, inside = divmod(offset, self._bank_bytes)
            self.words[_ECCDETR] = _ECCD | inside // _FLASH_WORD | (_BK_ECC if bank else 0)
            self.nmi_changed()
        return True

    @property
    @override
    def takes_words(self) -> bool:
        return bool(self.words[_CR] & _PG)

    @override
    def take(self, offset: int, data: bytes, now: int) -> None:
        self.cells.keep(offset, len(data))
        bank, inside = divmod(offset, self._bank_bytes)
        follows = offset == self._start + len(self._word) if self._word else offset % _FLASH_WORD == 0
        if self._lock.is_locked or not self.takes_words or self.is_busy:
            self.words[_SR] |= _PGSERR
        elif self._is_write_protected(bank, inside // _SECTOR_BYTES):
            self.words[_SR] |= _WRPERR
        elif not follows:
            self.words[_SR] |= _INCERR
        else:
            self._start = offset - len(self._word)
            self._word += data
            self.words[_SR] |= _WBNE
            if len(self._word) == _FLASH_WORD:
                self._program_word(now)

    def _program_word(self, now: int) -> None:
        was_erased = self.cells.is_erased(self._start, _FLASH_WORD)
        change = self.cells.program(self._start, bytes(self._word))
        if not was_erased:  # nothing refuses that: the bits of the error correction are those of both contents
            self.cells.tear(self._start, _FLASH_WORD)
        self._word.clear()
        self.words[_SR] &= ~_WBNE
        self._busy(now, _WORD_US, [change], lambda: None)
        self.programmed()

    @override
    def change_options(self, values: Mapping[int, int]) -> None:
        if self.is_protected:
            raise NotModelledError("debug authentication, which alone leaves a product state but Open, is not modelled")
        super().change_options(values)

    def _option_control(self, value: int, now: int) -> None:
        self.words[_OPTCR] = value & ~_OPTSTART
        if value & _OPTLOCK:
            self._option_lock.close()
        elif value & _OPTSTART:
            self._busy(now, _OPTIONS_US, (), self._options_changed)

    def _options_changed(self) -> None:
        changed = {offset: self.words[offset + _PRG] for offset in self.option_defaults}
        self.words |= changed
        self.change_options(changed)
