"""The flash controller of the STM32L0 (RM0367, section Flash program memory and data EEPROM), without its EEPROM."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.peripherals.flash.cells import Change, FlashCells
from virtual_stm32.peripherals.flash.controller import ACR, PS_PER_US, FlashController, Lock

KEYS = (0x89ABCDEF, 0x02030405)  # FLASH_PEKEYR
MEMORY_KEYS = (0x8C9DAEBF, 0x13141516)  # FLASH_PRGKEYR
OPTION_KEYS = (0xFBEAD9C8, 0x24252627)
_PECR, _PDKEYR, _PEKEYR, _PRGKEYR, _OPTKEYR, _SR, _OPTR, _WRPR, _WRPR2 = (*range(0x04, 0x24, 4), 0x80)
_LOCKS = {_PEKEYR: 1 << 0, _PRGKEYR: 1 << 1, _OPTKEYR: 1 << 2}  # bits of PECR: PELOCK, PRGLOCK and OPTLOCK
_PROG, _ERASE, _FPRG, _OBL_LAUNCH = 1 << 3, 1 << 9, 1 << 10, 1 << 18
_BSY, _EOP, _READY, _WRPERR, _PGAERR, _SIZERR, _NOTZEROERR = 1 << 0, 1 << 1, 3 << 2, 1 << 8, 1 << 9, 1 << 10, 1 << 16
_ERRORS = 0x32F00 | _EOP
_LATENCY, _PRFTEN, _DISAB_BUF = 1, 1 << 1, 1 << 5
_WORD, _HALF_PAGE, _PAGE, _SECTOR = 4, 64, 128, 4096
# Typical times of DS10152 and DS10685 (Flash memory and data EEPROM characteristics): a page, half a page or a word.
_ERASE_US = _PROGRAM_US = 3200


class FlashL0(FlashController):
    """Pages of 128 bytes; programs words, or half pages from code in RAM. Erased bits are 0."""

    option_defaults: ClassVar[Mapping[int, int]] = {_OPTR: 0x807000AA, _WRPR: 0, _WRPR2: 0}
    protection_register, protection_shift = _OPTR, 0
    corrected_bytes = 0  # it corrects one bit of a word, and finds no more

    def __init__(self, cells: FlashCells, cycle_after: Callable[[int, int], int]) -> None:
        keys = dict.fromkeys((_PDKEYR, *_LOCKS), 0)
        super().__init__({**keys, _PECR: sum(_LOCKS.values()), _SR: _READY}, cells, cycle_after)
        pairs = {_PEKEYR: KEYS, _PRGKEYR: MEMORY_KEYS, _OPTKEYR: OPTION_KEYS}
        self._locks = {register: Lock(pair) for register, pair in pairs.items()}
        self._half_page: list[tuple[int, bytes]] = []
        self._operations, self._free_at = 0, 0  # under way, and the cycle of their end

    @property
    @override
    def access_control(self) -> int:
        acr = self.words[ACR]
        has_buffers = not acr & _DISAB_BUF
        return acr & _LATENCY | (0x600 | (0x100 if acr & _PRFTEN else 0) if has_buffers else 0)

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        del now
        if offset in self._locks and (offset == _PEKEYR or not self._locks[_PEKEYR].is_locked):
            self._locks[offset].take(value)
            self.set_bits(_PECR, _LOCKS[offset], _LOCKS[offset] if self._locks[offset].is_locked else 0)
        elif offset == _SR:
            self.words[_SR] &= ~(value & _ERRORS)
        elif offset == _PECR and not self._locks[_PEKEYR].is_locked and not self.is_busy:
            self._control(value)

    def _control(self, value: int) -> None:
        closed = [register for register, bit in _LOCKS.items() if value & (bit | _LOCKS[_PEKEYR])]
        for register in closed:
            self._locks[register].close()
        locks = sum(bit for register, bit in _LOCKS.items() if self._locks[register].is_locked)
        self.words[_PECR] = value & ~(sum(_LOCKS.values()) | _OBL_LAUNCH) | locks
        self._half_page.clear()
        if value & _OBL_LAUNCH and not self._locks[_OPTKEYR].is_locked:
            self.launch()

    @property
    @override
    def takes_words(self) -> bool:
        return not self._locks[_PRGKEYR].is_locked

    @override
    def take(self, offset: int, data: bytes, now: int) -> None:
        self.cells.keep(offset, len(data))
        control = self.words[_PECR] & (_PROG | _ERASE | _FPRG)
        if self._locks[_PRGKEYR].is_locked or self._is_write_protected(offset):
            self.words[_SR] |= _WRPERR
        elif len(data) != _WORD:
            self.words[_SR] |= _SIZERR
        elif control == _ERASE | _PROG:
            page = Change(offset & -_PAGE, _PAGE)
            self.cells.erase(page.offset, page.size)
            self._busy(now, _ERASE_US, page)
        elif control == _FPRG | _PROG:
            self._take_half_page(offset, data, now)
        else:
            self._program(offset, data, now)

    def _is_write_protected(self, offset: int) -> bool:
        register, bit = divmod(offset // _SECTOR, 32)
        word = self.words[(_WRPR, _WRPR2)[register]] if register < 2 else 0  # noqa: PLR2004 (two registers)
        return bool(word >> bit & 1)

    def _take_half_page(self, offset: int, data: bytes, now: int) -> None:
        expected = self._half_page[-1][0] + _WORD if self._half_page else offset & -_HALF_PAGE
        if offset != expected:
            self.words[_SR] |= _PGAERR
            self._half_page.clear()
            return
        self._half_page.append((offset, data))
        if len(self._half_page) * _WORD == _HALF_PAGE:
            start, words = self._half_page[0][0], b"".join(word for _, word in self._half_page)
            self._half_page.clear()
            self._program(start, words, now)

    def _program(self, offset: int, data: bytes, now: int) -> None:
        if any(data) and not self.cells.is_erased(offset, len(data)):
            self.words[_SR] |= _NOTZEROERR
        self._busy(now, _PROGRAM_US, self.cells.program(offset, data))
        self.programmed()

    def _busy(self, now: int, us: int, change: Change) -> None:
        """Be busy, behind what is under way: the bus stalls until that has ended, which no core here does."""
        start, self._free_at = max(now, self._free_at), self._cycle_after(max(now, self._free_at), us * PS_PER_US)
        self._operations += 1
        self.words[_SR] |= _BSY
        self.occupy(start, us, [change], self._ended)

    def _ended(self) -> None:
        self._operations -= 1
        self.is_busy = self._operations > 0
        self.words[_SR] = self.words[_SR] & ~(0 if self.is_busy else _BSY) | _EOP

    @override
    def failed(self, offset: int) -> bool:
        raise AssertionError(offset)  # no error is found
