"""The flash controllers of STM32L4 (RM0394), L4+ (RM0432), G4 (RM0440), G0 (RM0444), C0 (RM0490), WB and WL."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.flash.cells import Change, FlashCells
from virtual_stm32.peripherals.flash.controller import ACR, KEYS, OPTION_KEYS, FlashController, Lock

_PDKEYR, _KEYR, _OPTKEYR, _SR, _CR, _ECCR, _OPTR = 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x20
_PCROP1SR, _PCROP1ER = 0x24, 0x28
_WRP = ((0x2C, 0x30), (0x4C, 0x50))  # two areas in each bank
_PROGERR, _WRPERR, _PGAERR, _SIZERR, _PGSERR, _BSY = 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 16
_ERRORS, _EOP = 0xC3FA, 1
_PEMPTY, _PROGEMPTY = 1 << 17, 1 << 16  # the empty check's, in SR of the L4 and ACR of the G0
_PG, _PER, _BANK_2, _STRT, _OPTSTRT = 1 << 0, 1 << 1, 1 << 11, 1 << 16, 1 << 17
_MASS_ERASE = (1 << 2, 1 << 15)  # MER1 and MER2
_OBL_LAUNCH, _OPTLOCK, _LOCK = 1 << 27, 1 << 30, 1 << 31
_PNB, _PNB_MASK = 3, 0xFF
_NO_AREA = 0xFF  # from the last page to the first
_WORD, _DOUBLE_WORD = 4, 8  # bytes
_DBANK = 1 << 22  # of OPTR
_ECCC, _ECCD = 1 << 30, 1 << 31  # of ECCR: corrected, detected
_KB = 1024
# Typical times of DS12232, DS11449 and DS12023 (Flash memory characteristics), rounded.
_DOUBLE_WORD_US, _ERASE_US, _OPTIONS_US = 85, 22_000, 22_000


class FlashL4(FlashController):
    """Pages; programs double words, `word_bytes` in a row, that are erased."""

    option_defaults: ClassVar[Mapping[int, int]] = {
        _OPTR: 0xFFEFF8AA,
        _PCROP1SR: 0xFFFF,
        _PCROP1ER: 0,
        **dict.fromkeys(_WRP[0], _NO_AREA),
    }
    protection_register, protection_shift = _OPTR, 0
    page_bytes, banks, corrected_bytes, word_bytes = 2 * _KB, 1, _DOUBLE_WORD, _DOUBLE_WORD
    protected_areas: ClassVar[Sequence[Sequence[int]]] = _WRP  # registers, by bank
    failed_bytes, failed_bank_bit = 1, 1 << 19  # of ECCR: the unit of its address, and the bit of bank 2
    empty_flag: ClassVar[tuple[int, int] | None] = (_SR, _PEMPTY)
    toggled = _PEMPTY  # bits of SR, by writing 1

    def __init__(self, cells: FlashCells, cycle_after: Callable[[int, int], int]) -> None:
        plain = dict.fromkeys((_PDKEYR, _KEYR, _OPTKEYR, _SR, _ECCR), 0)
        super().__init__({**plain, _CR: _LOCK | _OPTLOCK}, cells, cycle_after)
        self._bank_bytes = cells.size_bytes // self.banks
        self._lock = Lock(KEYS)
        self._option_lock = Lock(OPTION_KEYS)
        self._first: tuple[int, bytes] | None = None  # words of a double word, and their offset

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == _KEYR:
            self._lock.take(value)
            self.set_bits(_CR, _LOCK, _LOCK if self._lock.is_locked else 0)
        elif offset == _OPTKEYR and not self._lock.is_locked:
            self._option_lock.take(value)
            self.set_bits(_CR, _OPTLOCK, _OPTLOCK if self._option_lock.is_locked else 0)
        elif offset == _SR:
            self.words[_SR] = self.words[_SR] & ~(value & (_EOP | _ERRORS)) ^ value & self.toggled
        elif offset == _ECCR:
            self.words[_ECCR] &= ~(value & (_ECCC | _ECCD))
            self.nmi_changed()
        elif offset == _CR and not self._lock.is_locked and not self.is_busy:
            self._control(value, now)
        elif offset in self.option_defaults and not self._option_lock.is_locked:
            self.words[offset] = value

    def _control(self, value: int, now: int) -> None:
        options_are_locked = self._option_lock.is_locked
        self.words[_CR] = value & ~(_STRT | _OPTSTRT | _OBL_LAUNCH) | (_OPTLOCK if options_are_locked else 0)
        self._first = None
        if value & _OPTLOCK:
            self._option_lock.close()
        if value & _LOCK:
            self._lock.close()
            self._option_lock.close()
            self.words[_CR] |= _OPTLOCK
        elif value & _STRT:
            self._erase(value, now)
        elif value & _OPTSTRT and not options_are_locked:
            self._busy(now, _OPTIONS_US, (), self._options_changed)
        elif value & _OBL_LAUNCH and not options_are_locked:
            self.launch()

    def _erase(self, control: int, now: int) -> None:
        banks = [bank for bank, bit in enumerate(_MASS_ERASE[: self.banks]) if control & bit]
        pages = self._bank_bytes // self.page_bytes
        if banks:
            wanted = [(bank, page) for bank in banks for page in range(pages)]
        elif control & _PER:
            bank = 1 if self.banks > 1 and control & _BANK_2 else 0
            wanted = [(bank, control >> _PNB & _PNB_MASK)]
        else:
            self.words[_SR] |= _PGSERR
            return
        if any(page >= pages or self._is_write_protected(bank, page) for bank, page in wanted):
            self.words[_SR] |= _WRPERR
            return
        areas = [Change(bank * self._bank_bytes + page * self.page_bytes, self.page_bytes) for bank, page in wanted]
        self._busy(now, _ERASE_US, areas, partial(self._erased, areas))

    def _erased(self, areas: list[Change]) -> None:
        for area in areas:
            self.cells.erase(area.offset, area.size)

    @property
    @override
    def has_nmi(self) -> bool:
        return bool(self.words[_ECCR] & _ECCD)

    @override
    def failed(self, offset: int) -> bool:
        if not self.has_nmi:
            bank, inside = divmod(offset & -self.corrected_bytes, self._bank_bytes)
            address = inside // self.failed_bytes | (self.failed_bank_bit if bank else 0)
            self.words[_ECCR] = self.words[_ECCR] & _ECCC | _ECCD | address
            self.nmi_changed()
        return True

    def _busy(self, now: int, us: int, changes: Sequence[Change], done: Callable[[], None]) -> None:
        def end() -> None:
            self.words[_SR] &= ~_BSY
            done()

        self.words[_SR] |= _BSY
        self.occupy(now, us, changes, end)

    def _is_write_protected(self, bank: int, page: int) -> bool:
        areas = [self.cells.options.get(offset, _NO_AREA) for offset in self.protected_areas[bank]]
        return any(area & 0xFF <= page <= area >> 16 & 0xFF for area in areas)

    @property
    @override
    def takes_words(self) -> bool:
        return bool(self.words[_CR] & _PG)

    @override
    def take(self, offset: int, data: bytes, now: int) -> None:
        self.cells.keep(offset, len(data))
        if error := self._error(offset, data):
            self.words[_SR] |= error
            self._first = None
            return
        start, first = self._first or (offset, b"")
        self._first = start, first + data
        if len(first) + len(data) == self.word_bytes:
            self._first = None
            self._program_double_word(start, first + data, now)

    def _error(self, offset: int, data: bytes) -> int:
        """Return the flag of the error that a word makes, 0 for none."""
        has_failed = self.words[_SR] & _ERRORS
        if self._lock.is_locked or not self.words[_CR] & _PG or self.is_busy or has_failed:
            return _PGSERR
        if len(data) != _WORD:
            return _SIZERR
        expected = offset & -self.word_bytes if self._first is None else self._first[0] + len(self._first[1])
        return _PGAERR if offset != expected else 0

    def _program_double_word(self, offset: int, data: bytes, now: int) -> None:
        bank, inside = divmod(offset, self._bank_bytes)
        if self._is_write_protected(bank, inside // self.page_bytes):
            self.words[_SR] |= _WRPERR
        elif any(data) and not self.cells.is_erased(offset, self.word_bytes):
            self.words[_SR] |= _PROGERR
        else:
            self._busy(now, _DOUBLE_WORD_US, [self.cells.program(offset, data)], lambda: None)
            self.programmed()

    def _options_changed(self) -> None:
        self.change_options({offset: self.words[offset] for offset in self.option_defaults})


class FlashL4TwoBanks(FlashL4):
    """The L4 with 1 MB: two banks, each with write protection of its own."""

    option_defaults: ClassVar[Mapping[int, int]] = {
        **FlashL4.option_defaults,
        0x44: 0xFFFF,
        0x48: 0,  # PCROP2SR, PCROP2ER
        **dict.fromkeys(_WRP[1], _NO_AREA),
    }
    banks = 2


class FlashG0(FlashL4):
    """The G0: CR and SR almost as those of the L4, other option bytes; ECCR has the number of a double word."""

    option_defaults: ClassVar[Mapping[int, int]] = {
        _OPTR: 0xFFFFFEAA,
        _PCROP1SR: 0x1FF,
        _PCROP1ER: 0,
        **dict.fromkeys(_WRP[0], _NO_AREA),
    }
    failed_bytes = _DOUBLE_WORD
    empty_flag = (ACR, _PROGEMPTY)
    toggled = 0


class FlashC0(FlashG0):
    """The C0: as the G0, without error correction."""

    corrected_bytes = 0

    def __init__(self, cells: FlashCells, cycle_after: Callable[[int, int], int]) -> None:
        super().__init__(cells, cycle_after)
        del self.words[_ECCR]

    @property
    @override
    def has_nmi(self) -> bool:
        return False

    @override
    def failed(self, offset: int) -> bool:
        raise AssertionError(offset)  # no error is found


class FlashL4Plus(FlashL4TwoBanks):
    """The L4+ with 2 MB in two banks (DBANK), as delivered."""

    option_defaults: ClassVar[Mapping[int, int]] = {
        **FlashL4TwoBanks.option_defaults,
        _OPTR: FlashL4.option_defaults[_OPTR] | _DBANK,
    }
    page_bytes, failed_bank_bit = 4 * _KB, 1 << 21

    @override
    def _options_changed(self) -> None:
        if (self.words[_OPTR] ^ self.option_defaults[_OPTR]) & _DBANK:
            raise NotModelledError("a board that changes its option bit DBANK is not modelled: use the other board")
        super()._options_changed()


class FlashL4PlusOneBank(FlashL4Plus):
    """The L4+ with 2 MB in one bank, whose option bit DBANK was cleared."""

    option_defaults: ClassVar[Mapping[int, int]] = {
        **FlashL4Plus.option_defaults,
        _OPTR: FlashL4Plus.option_defaults[_OPTR] & ~_DBANK,
    }
    page_bytes, banks = 8 * _KB, 1
    protected_areas: ClassVar[Sequence[Sequence[int]]] = ((*_WRP[0], *_WRP[1]),)


class FlashWb(FlashG0):
    """The WB: as the G0, with other pages and option bytes; those of the second core are not modelled."""

    option_defaults: ClassVar[Mapping[int, int]] = {**FlashG0.option_defaults, _OPTR: 0x3D8FF1AA}
    page_bytes = 4 * _KB


class FlashWl(FlashWb):
    """The WL: as the WB, with smaller pages."""

    option_defaults: ClassVar[Mapping[int, int]] = {**FlashG0.option_defaults, _OPTR: 0x3FFFF0AA}
    page_bytes = 2 * _KB


class FlashG4(FlashL4):
    """The G4 with one bank. It has no empty check."""

    empty_flag = None
    toggled = 0


class FlashG4TwoBanks(FlashL4Plus):
    """The G47x and G48x with two banks (DBANK), as delivered."""

    page_bytes, empty_flag, toggled = 2 * _KB, None, 0


class FlashG4OneBank(FlashL4PlusOneBank):
    """The G47x and G48x with one bank, whose option bit DBANK was cleared."""

    page_bytes, empty_flag, toggled = 4 * _KB, None, 0
