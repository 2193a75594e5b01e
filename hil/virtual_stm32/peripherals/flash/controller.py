"""What the flash controllers of all families have in common: keys, locks, errors and the time of an operation."""

import random
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.flash.cells import Change, FlashCells

KEYS = (0x45670123, 0xCDEF89AB)  # FLASH_KEYR, in all five reference manuals
OPTION_KEYS = (0x08192A3B, 0x4C5D6E7F)  # FLASH_OPTKEYR
ACR = 0x00
UNPROTECTED, FOR_EVER = 0xAA, 0xCC  # RDP of levels 0 and 2; others are level 1
PS_PER_US = 10**6


@dataclass
class Lock:
    """A lock that two keys in a row open; after a wrong one it stays locked until the next reset."""

    keys: tuple[int, int]
    is_locked: bool = True
    _accepted: int = 0
    _is_blocked: bool = False

    def take(self, key: int) -> None:
        """Take a key."""
        if self._is_blocked or not self.is_locked or key != self.keys[self._accepted]:
            self._is_blocked = True
            return
        self._accepted = (self._accepted + 1) % len(self.keys)
        self.is_locked = self._accepted != 0

    def close(self) -> None:
        """Lock again."""
        self.is_locked, self._accepted = True, 0


class FlashController(Registers):
    """A flash controller; `changed` is called when ACR may have changed, `launch` to load the option bytes anew.

    `cycle_after` returns the cycle that is some picoseconds after one.
    """

    option_defaults: ClassVar[Mapping[int, int]]  # as delivered, by the offset of their register
    protection_register: ClassVar[int]
    protection_shift: ClassVar[int]
    unprotected, for_ever = UNPROTECTED, FOR_EVER
    corrected_bytes: ClassVar[int]  # of a word with an error correction of its own, 0 without
    empty_flag: ClassVar[tuple[int, int] | None] = None  # of the empty check: offset of its register, and its mask

    def __init__(self, reset: Mapping[int, int], cells: FlashCells, cycle_after: Callable[[int, int], int]) -> None:
        super().__init__("FLASH", {ACR: 0, **reset, **self.option_defaults, **cells.options})
        self.cells = cells
        self._cycle_after = cycle_after
        self.changed: Callable[[], None] = lambda: None
        self.launch: Callable[[], None] = lambda: None
        self.programmed: Callable[[], None] = lambda: None  # a word
        self.nmi_changed: Callable[[], None] = lambda: None
        self._under_way: list[Change] = []
        self.is_busy = False

    @property
    def protection(self) -> int:
        """RDP of the option bytes."""
        options = {**self.option_defaults, **self.cells.options}
        return options[self.protection_register] >> self.protection_shift & 0xFF

    @property
    def is_protected(self) -> bool:
        """Read-out protection level 1 or 2: no access to the flash from a debugger."""
        return self.protection != self.unprotected

    @property
    def closes_debug(self) -> bool:
        """Level 2: the debug port is off, for ever."""
        return self.protection == self.for_ever

    @property
    def access_control(self) -> int:
        """ACR as most families have it: wait states in bits 0 to 3, prefetch, and the caches of code and data above."""
        return self.words[ACR]

    @property
    def is_empty(self) -> bool:
        """Whether the flag of the empty check is set: the part starts its boot loader."""
        return self.empty_flag is not None and bool(self.words[self.empty_flag[0]] & self.empty_flag[1])

    def was_reset(self, *, is_empty: bool) -> None:
        """Take over what the last empty check has found, or what the flag was made since."""
        if self.empty_flag and is_empty:
            self.words[self.empty_flag[0]] |= self.empty_flag[1]

    @override
    def read(self, offset: int, now: int) -> int:
        self.cells.settle()
        return super().read(offset, now)

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        self.cells.settle()
        if offset == ACR:
            self.words[ACR] = value
            self.changed()
        else:
            self.set_register(offset, value, now)

    @override
    def advance(self, now: int) -> None:
        self.cells.settle()
        super().advance(now)

    @abstractmethod
    def set_register(self, offset: int, value: int, now: int) -> None:
        """Write a register other than ACR."""

    @property
    @abstractmethod
    def takes_words(self) -> bool:
        """Whether a program has set the bit that lets it write to the flash."""

    def program(self, offset: int, data: bytes, now: int) -> None:
        """Take what is written to the flash, `offset` bytes behind its start."""
        self.cells.settle()
        self.take(offset, data, now)

    @abstractmethod
    def take(self, offset: int, data: bytes, now: int) -> None:
        """Program what is written to the flash, or flag an error."""

    @property
    def has_nmi(self) -> bool:
        """Whether the controller asks for an NMI."""
        return False

    @abstractmethod
    def failed(self, offset: int) -> bool:
        """Note that a word with an error that cannot be corrected was read; return False for a bus error."""

    def occupy(self, now: int, us: int, changes: Sequence[Change], done: Callable[[], None]) -> None:
        """Be busy for `us` microseconds, with these changes of the cells, then call `done`."""
        self.is_busy = True
        self._under_way += changes

        def end(_cycle: int) -> None:
            self.is_busy = False
            for change in changes:
                self._under_way.remove(change)
            done()

        self.later(self._cycle_after(now, us * PS_PER_US), end)

    def interrupt(self, numbers: random.Random) -> None:
        """Leave half done what is under way, as a reset or a supply that fails."""
        self.cells.settle()
        for change in self._under_way:
            self.cells.interrupt(change, self.corrected_bytes, numbers)

    def change_options(self, values: Mapping[int, int]) -> None:
        """Program option bytes, by the offset of their register; without read-out protection all else is erased.

        Level 2 is for ever. Raises NotModelledError for an attempt to leave it.
        """
        before = self.protection
        if before == self.for_ever:
            raise NotModelledError("option bytes cannot be changed at read-out protection level 2")
        self.cells.options.update(values)
        if before != self.unprotected and self.protection == self.unprotected:
            self.cells.erase(0, self.cells.size_bytes)
