"""The flash controllers of STM32U5 (RM0456), for quad words, and L5 (RM0438): that of the L4 at other offsets."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.icache import Icache
from virtual_stm32.peripherals.flash.stm32l4 import FlashL4

_OFFSETS = {0x00: 0x00, 0x08: 0x08, 0x10: 0x0C, 0x20: 0x10, 0x28: 0x14, 0x30: 0x18, 0x40: 0x20}  # those of the L4
_WRP = ((0x58, 0x5C), (0x68, 0x6C))
_OPTR = 0x20
_DBANK = 1 << 22  # of the L5


class FlashU5(FlashL4):
    """Two banks; option bytes are kept at the offsets of the L4 where it has them. TZEN is 0."""

    option_defaults: ClassVar[Mapping[int, int]] = {_OPTR: 0x1FEFF8AA, **dict.fromkeys((*_WRP[0], *_WRP[1]), 0xFF)}
    page_bytes, banks, corrected_bytes, word_bytes = 8 << 10, 2, 16, 16
    protected_areas: ClassVar[Sequence[Sequence[int]]] = _WRP
    failed_bank_bit = 1 << 21
    empty_flag = None
    toggled = 0

    def __init__(self, cells: FlashCells, cycle_after: Callable[[int, int], int], icache: Icache) -> None:
        super().__init__(cells, cycle_after)
        self._icache = icache
        icache.connect(self._cache_changed)

    def _cache_changed(self) -> None:
        self.changed()

    @property
    @override
    def access_control(self) -> int:
        return self._icache.access_control(super().access_control)

    @override
    def read(self, offset: int, now: int) -> int:
        return super().read(self._own(offset), now)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        super().write(self._own(offset), value, now)

    def _own(self, offset: int) -> int:
        if offset in _OFFSETS:
            return _OFFSETS[offset]
        if offset not in self.option_defaults:
            raise self.unknown(offset)
        return offset


class FlashL5(FlashU5):
    """Double words; two banks (DBANK), as delivered."""

    option_defaults: ClassVar[Mapping[int, int]] = {**FlashU5.option_defaults, _OPTR: 0x7FEFF8AA}
    page_bytes, corrected_bytes, word_bytes = 2 << 10, 8, 8

    @override
    def _options_changed(self) -> None:
        if (self.words[_OPTR] ^ self.option_defaults[_OPTR]) & _DBANK:
            raise NotModelledError("a board that changes its option bit DBANK is not modelled: use the other board")
        super()._options_changed()


class FlashL5OneBank(FlashL5):
    """One bank: the option bit DBANK was cleared."""

    option_defaults: ClassVar[Mapping[int, int]] = {**FlashL5.option_defaults, _OPTR: 0x7FEFF8AA & ~_DBANK}
    page_bytes, banks = 4 << 10, 1
    protected_areas: ClassVar[Sequence[Sequence[int]]] = ((*_WRP[0], *_WRP[1]),)
