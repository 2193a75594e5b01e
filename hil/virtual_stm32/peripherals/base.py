"""Base classes of the peripherals of a virtual board."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from typing_extensions import override

from virtual_stm32.errors import NotModelledError

WORD_MASK = 0xFFFFFFFF


class Peripheral(ABC):
    """A group of registers; offsets are in bytes, of whole words, and `now` counts core cycles.

    State changes by itself only in `advance`, at the cycles that `next_event` returns. Registers that change at other
    times, or whose reading has side effects, are not steady (`is_steady`).
    """

    merges_bytes = True  # a byte write is a read-modify-write of the word

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def read(self, offset: int, now: int) -> int:
        """Return a register. Raises NotModelledError for an unknown one."""

    @abstractmethod
    def write(self, offset: int, value: int, now: int) -> None:
        """Write a register. Raises NotModelledError for an unknown one or an unmodelled value."""

    def is_steady(self, offset: int) -> bool:
        """Return whether reading has no side effect and the value does not change before the next event."""
        del offset
        return True

    def next_event(self) -> int | None:
        """Return the cycle of the next change by itself, or None."""
        return None

    def advance(self, now: int) -> None:
        """Process the changes that are due at `now` or before."""
        del now

    def unknown(self, offset: int) -> NotModelledError:
        """Return the error for a register that is not modelled."""
        return NotModelledError(f"the register at offset 0x{offset:x} of {self.name} is not modelled")


class Registers(Peripheral):
    """Registers that store written values, with delayed changes."""

    def __init__(self, name: str, reset: Mapping[int, int]) -> None:
        super().__init__(name)
        self.words = dict(reset)
        self._later: list[tuple[int, Callable[[int], None]]] = []

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset not in self.words:
            raise self.unknown(offset)
        return self.words[offset]

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset not in self.words:
            raise self.unknown(offset)
        self.store(offset, value, now)

    def store(self, offset: int, value: int, now: int) -> None:
        """Store `value`; subclasses add side effects."""
        del now
        self.words[offset] = value

    def set_bits(self, offset: int, mask: int, value: int) -> None:
        """Replace the bits of `mask`."""
        self.words[offset] = self.words[offset] & ~mask | value & mask

    def field(self, offset: int, position: int, bits: int) -> int:
        """Return a field of a register."""
        return self.words[offset] >> position & ((1 << bits) - 1)

    def later(self, cycle: int, change: Callable[[int], None]) -> None:
        """Call `change` with the cycle when `cycle` is reached."""
        self._later.append((cycle, change))

    @override
    def next_event(self) -> int | None:
        return min(cycle for cycle, _ in self._later) if self._later else None

    @override
    def advance(self, now: int) -> None:
        due = [each for each in self._later if each[0] <= now]
        self._later = [each for each in self._later if each[0] > now]
        for cycle, change in sorted(due, key=lambda each: each[0]):
            change(cycle)
