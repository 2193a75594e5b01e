"""The flash controller of the STM32H743 (RM0433) and H723 (RM0468), section Embedded Flash memory."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.peripherals.flash.cells import Change, FlashCells
from virtual_stm32.peripherals.flash.controller import KEYS, OPTION_KEYS, FlashController, Lock

_BANK_2 = 0x100  # offset of its registers
_KEYR, _OPTKEYR, _CR, _SR, _CCR, _OPTCR = 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18
_OPTSR_CUR, _OPTSR_PRG, _OPTCCR, _WPSN_CUR = 0x1C, 0x20, 0x24, 0x38
_PRG = 4  # from what is in force to what is programmed next
_SHARED = (_OPTKEYR, _OPTCR, _OPTSR_CUR, _OPTSR_PRG, _OPTCCR)  # at the offsets of both banks
_BSY, _WBNE, _QW = 1 << 0, 1 << 1, 1 << 2
_WRPERR, _PGSERR, _INCERR, _DBECCERR = 1 << 17, 1 << 18, 1 << 21, 1 << 26
_LOCK, _PG, _SER, _BER, _FW, _START = (1 << bit for bit in (0, 1, 2, 3, 6, 7))
_SNB, _SNB_MASK = 8, 7
_OPTLOCK, _OPTSTART, _OPT_BUSY = 1 << 0, 1 << 1, 1 << 0
_SECTOR_BYTES = 128 << 10
_SECTORS = 8  # of a bank
_FLASH_WORD = 32  # bytes: 256 bits
# Typical times of DS12110 (Flash memory characteristics, x64), rounded.
_WORD_US, _ERASE_US, _OPTIONS_US = 100, 1_000_000, 100_000


class _Bank:
    """A bank of 8 sectors: its lock, its state, and the flash word that is being filled."""

    def __init__(self, number: int) -> None:
        self.registers = number * _BANK_2
        self.start = number * _SECTORS * _SECTOR_BYTES
        self.lock = Lock(KEYS)
        self.is_busy = False
        self.word_start = 0
        self.word = bytearray()


class FlashH7(FlashController):
    """Banks of eight sectors of 128 KB, with registers of their own; programs flash words of 256 bits."""

    protection_register, protection_shift = _OPTSR_CUR, 8
    option_defaults: ClassVar[Mapping[int, int]] = {_OPTSR_CUR: 0x1386AAF0, _WPSN_CUR: 0xFF}
    banks, corrected_bytes = 1, _FLASH_WORD

    def __init__(
        self, cells: FlashCells, cycle_after: Callable[[int, int], int], other: Mapping[int, int] | None = None
    ) -> None:
        """`other` are registers of a device that are only read."""
        reset = {_OPTKEYR: 0, _OPTCR: _OPTLOCK, _OPTCCR: 0, **(other or {})}
        self._banks = [_Bank(number) for number in range(self.banks)]
        for bank in self._banks:
            own = {_KEYR: 0, _CR: _LOCK, _SR: 0, _CCR: 0}
            reset |= {bank.registers + offset: value for offset, value in own.items()}
        super().__init__(reset, cells, cycle_after)
        self.words |= {offset + _PRG: self.words[offset] for offset in self.option_defaults}
        self._option_lock = Lock(OPTION_KEYS)

    @override
    def read(self, offset: int, now: int) -> int:
        return super().read(_own(offset), now)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        super().write(_own(offset), value, now)

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        bank = self._banks[min(offset // _BANK_2, self.banks - 1)]
        own = offset - bank.registers
        if own == _KEYR:
            bank.lock.take(value)
            self.set_bits(bank.registers + _CR, _LOCK, _LOCK if bank.lock.is_locked else 0)
        elif own == _CR and not bank.lock.is_locked and not bank.is_busy:
            self._control(bank, value, now)
        elif own == _CCR:
            self.words[bank.registers + _SR] &= ~value | _BSY | _WBNE | _QW
        elif offset == _OPTKEYR:
            self._option_lock.take(value)
            self.set_bits(_OPTCR, _OPTLOCK, _OPTLOCK if self._option_lock.is_locked else 0)
        elif offset == _OPTCR and not self._option_lock.is_locked:
            self._option_control(value, now)
        elif offset - _PRG in self.option_defaults and not self._option_lock.is_locked:
            self.words[offset] = value

    def _control(self, bank: _Bank, value: int, now: int) -> None:
        self.words[bank.registers + _CR] = value & ~(_START | _FW)
        if value & _LOCK:
            bank.lock.close()
        elif value & _START and value & _BER:
            self._erase(bank, range(_SECTORS), now)
        elif value & _START and value & _SER:
            self._erase(bank, [value >> _SNB & _SNB_MASK], now)
        elif value & _FW and bank.word:
            bank.word += b"\xff" * (_FLASH_WORD - len(bank.word))
            self._program_word(bank, now)

    def _erase(self, bank: _Bank, sectors: range | list[int], now: int) -> None:
        if any(self._is_write_protected(bank, sector) for sector in sectors):
            self._flag(bank, _WRPERR)
        else:
            areas = [Change(bank.start + sector * _SECTOR_BYTES, _SECTOR_BYTES) for sector in sectors]
            self._busy(bank, now, _ERASE_US * len(areas), areas, partial(self._erased, areas))

    def _erased(self, areas: list[Change]) -> None:
        for area in areas:
            self.cells.erase(area.offset, area.size)

    @override
    def failed(self, offset: int) -> bool:
        self._flag(self._banks[offset // (_SECTORS * _SECTOR_BYTES)], _DBECCERR)
        return False

    def _busy(self, bank: _Bank, now: int, us: int, changes: Sequence[Change], done: Callable[[], None]) -> None:
        def end() -> None:
            self.words[bank.registers + _SR] &= ~(_BSY | _QW)
            bank.is_busy = False
            done()

        self._flag(bank, _BSY | _QW)
        bank.is_busy = True
        self.occupy(now, us, changes, end)

    def _flag(self, bank: _Bank, bits: int) -> None:
        self.words[bank.registers + _SR] |= bits

    def _is_write_protected(self, bank: _Bank, sector: int) -> bool:
        return not self.words[bank.registers + _WPSN_CUR] >> sector & 1

    @property
    @override
    def takes_words(self) -> bool:
        return any(self.words[bank.registers + _CR] & _PG for bank in self._banks)

    @override
    def take(self, offset: int, data: bytes, now: int) -> None:
        self.cells.keep(offset, len(data))
        bank = self._banks[offset // (_SECTORS * _SECTOR_BYTES)]
        follows = not bank.word or offset == bank.word_start + len(bank.word)
        if bank.lock.is_locked or not self.words[bank.registers + _CR] & _PG or bank.is_busy:
            self._flag(bank, _PGSERR)
        elif self._is_write_protected(bank, (offset - bank.start) // _SECTOR_BYTES):
            self._flag(bank, _WRPERR)
        elif not follows or (not bank.word and offset % _FLASH_WORD):
            self._flag(bank, _INCERR)
        else:
            bank.word_start = offset - len(bank.word)
            bank.word += data
            self._flag(bank, _WBNE)
            if len(bank.word) == _FLASH_WORD:
                self._program_word(bank, now)

    def _program_word(self, bank: _Bank, now: int) -> None:
        was_erased = self.cells.is_erased(bank.word_start, _FLASH_WORD)
        change = self.cells.program(bank.word_start, bytes(bank.word))
        if not was_erased:  # nothing refuses that: the bits of the error correction are those of both contents
            self.cells.tear(bank.word_start, _FLASH_WORD)
        bank.word.clear()
        self.words[bank.registers + _SR] &= ~_WBNE
        self._busy(bank, now, _WORD_US, [change], lambda: None)
        self.programmed()

    def _option_control(self, value: int, now: int) -> None:
        self.words[_OPTCR] = value & ~_OPTSTART
        if value & _OPTLOCK:
            self._option_lock.close()
        elif value & _OPTSTART:
            self.words[_OPTSR_CUR] |= _OPT_BUSY
            self.occupy(now, _OPTIONS_US, (), self._options_changed)

    def _options_changed(self) -> None:
        changed = {offset: self.words[offset + _PRG] & ~_OPT_BUSY for offset in self.option_defaults}
        self.words |= changed
        self.change_options(changed)


class FlashH743(FlashH7):
    """The H743: two banks."""

    option_defaults: ClassVar[Mapping[int, int]] = {**FlashH7.option_defaults, _BANK_2 + _WPSN_CUR: 0xFF}
    banks = 2


def _own(offset: int) -> int:
    """Return where a register is kept that both banks have."""
    return offset - _BANK_2 if offset - _BANK_2 in _SHARED else offset
