"""The flash controllers of the STM32F3 (RM0316, RM0365 and RM0366, section Embedded Flash memory) and F1 (PM0075)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.flash.cells import Change, FlashCells
from virtual_stm32.peripherals.flash.controller import ACR, FOR_EVER, KEYS, UNPROTECTED, FlashController, Lock

OPTION_BYTES_BASE = 0x1FFFF800
_KEYR, _OPTKEYR, _SR, _CR, _AR, _OBR, _WRPR = 0x04, 0x08, 0x0C, 0x10, 0x14, 0x1C, 0x20
_BSY, _PGERR, _WRPERR, _EOP = 1 << 0, 1 << 2, 1 << 4, 1 << 5
_PG, _PER, _MER, _STRT, _LOCK, _OBL_LAUNCH = 1 << 0, 1 << 1, 1 << 2, 1 << 6, 1 << 7, 1 << 13
_OPTIONS = 1 << 4 | 1 << 5  # OPTPG and OPTER
_LATENCY, _PRFTBE = 7, 1 << 4  # of ACR
_RDPRT, _LEVELS = 1, (UNPROTECTED, 0, 0, FOR_EVER)  # of OBR: levels 0, 1 and 2 as RDP has them
_HALF_WORD, _PAGE, _PROTECTED = 2, 2048, 4096  # bytes of a bit of WRPR, of which the last has all others
# Times of the datasheets of F303 and F302 (Flash memory characteristics): typical, and the mean of 20 and 40 ms. The
# datasheets were not at hand.
_HALF_WORD_US, _ERASE_US = 54, 30_000


class FlashF3(FlashController):
    """Erases pages and programs half-words. Option bytes are read alone."""

    option_defaults: ClassVar[Mapping[int, int]] = {_OBR: 0xFFFFFF00, _WRPR: 0xFFFFFFFF}
    protection_register, protection_shift = _OBR, 0
    corrected_bytes = 0  # it corrects no errors

    def __init__(self, cells: FlashCells, cycle_after: Callable[[int, int], int], page_bytes: int = _PAGE) -> None:
        self._page_bytes = page_bytes
        plain = dict.fromkeys((_KEYR, _OPTKEYR, _SR, _AR), 0)
        super().__init__({**plain, _CR: _LOCK}, cells, cycle_after)
        self.words[ACR] = _PRFTBE
        self._lock = Lock(KEYS)

    @property
    @override
    def protection(self) -> int:
        return _LEVELS[self.words[_OBR] >> _RDPRT & 3]

    @property
    def rdp(self) -> int:
        """The option byte RDP."""
        return self.protection

    @property
    @override
    def access_control(self) -> int:
        """The prefetch buffer is that of code."""
        acr = self.words[ACR]
        return acr & _LATENCY | (0x300 if acr & _PRFTBE else 0)

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == _KEYR:
            self._lock.take(value)
            self.set_bits(_CR, _LOCK, _LOCK if self._lock.is_locked else 0)
        elif offset == _SR:
            self.words[_SR] &= ~(value & (_PGERR | _WRPERR | _EOP))
        elif offset == _AR:
            self.words[_AR] = value
        elif offset == _CR and not self._lock.is_locked and not self.is_busy:
            self._control(value, now)

    def _control(self, value: int, now: int) -> None:
        if value & _OPTIONS:
            raise NotModelledError("changing option bytes (FLASH_CR OPTER and OPTPG) is not modelled")
        self.words[_CR] = value & ~(_STRT | _OBL_LAUNCH)
        if value & _LOCK:
            self._lock.close()
        elif value & _OBL_LAUNCH:
            self.launch()
        elif value & _STRT and value & _MER:
            self._erase(Change(0, self.cells.size_bytes), now)
        elif value & _STRT and value & _PER:
            self._erase(Change((self.words[_AR] & 0x00FFFFFF) & -self._page_bytes, self._page_bytes), now)

    def _erase(self, area: Change, now: int) -> None:
        if any(map(self._is_write_protected, range(area.offset, area.offset + area.size, self._page_bytes))):
            self.words[_SR] |= _WRPERR
        elif area.offset < self.cells.size_bytes:
            self._busy(now, _ERASE_US, area, partial(self.cells.erase, area.offset, area.size))

    def _is_write_protected(self, offset: int) -> bool:
        bit = min(offset // _PROTECTED, 31)
        return not self.words[_WRPR] >> bit & 1

    @property
    @override
    def takes_words(self) -> bool:
        return bool(self.words[_CR] & _PG)

    @override
    def take(self, offset: int, data: bytes, now: int) -> None:
        if self.is_busy or len(data) != _HALF_WORD:
            raise NotModelledError("the flash takes one half-word at a time, and the next one when BSY is 0")
        error = 0
        if self._is_write_protected(offset):
            error = _WRPERR
        elif any(data) and not self.cells.is_erased(offset, _HALF_WORD):
            error = _PGERR
        if error or not self.takes_words:
            self.words[_SR] |= error
            self.cells.keep(offset, len(data))
        else:
            self._busy(now, _HALF_WORD_US, self.cells.program(offset, data), lambda: None)
            self.programmed()

    def _busy(self, now: int, us: int, change: Change, done: Callable[[], None]) -> None:
        def end() -> None:
            done()
            self.words[_SR] = self.words[_SR] & ~_BSY | _EOP

        self.words[_SR] |= _BSY
        self.occupy(now, us, [change], end)

    @override
    def failed(self, offset: int) -> bool:
        raise AssertionError(offset)  # no error is found


class FlashF1(FlashF3):
    """Of the F1: one level of protection, and another option byte without it."""

    option_defaults: ClassVar[Mapping[int, int]] = {_OBR: 0x03FFFFFC, _WRPR: 0xFFFFFFFF}
    _OPEN = 0xA5  # RDP

    @property
    @override
    def protection(self) -> int:
        return _LEVELS[self.words[_OBR] >> _RDPRT & 1]

    @property
    @override
    def rdp(self) -> int:
        return 0 if self.is_protected else self._OPEN


class OptionBytes(Peripheral):
    """The option bytes as a debugger reads them: each beside its complement, and RDP first."""

    def __init__(self, flash: FlashF3) -> None:
        super().__init__("the option bytes")
        self._flash = flash

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset:
            raise self.unknown(offset)
        rdp = self._flash.rdp
        return 0x00FF0000 | (rdp ^ 0xFF) << 8 | rdp

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        raise self.unknown(offset)
