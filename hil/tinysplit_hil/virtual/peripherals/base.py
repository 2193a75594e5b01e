"""What every peripheral of a virtual board has in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from typing_extensions import override

from tinysplit_hil.virtual.errors import NotModelledError

WORD_MASK = 0xFFFFFFFF


class Peripheral(ABC):
    """A group of registers; offsets are those of words, `now` counts core cycles.

    What changes by itself changes in `advance`, at the cycles that `next_event` announces; registers for which that
    does not hold, or whose reading has an effect, are not `is_steady`.
    """

    merges_bytes = True  # a byte is written into the word that is read back

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def read(self, offset: int, now: int) -> int:
        """Return a register."""

    @abstractmethod
    def write(self, offset: int, value: int, now: int) -> None:
        """Write a register."""

    def is_steady(self, offset: int) -> bool:
        """Say whether reading has no effect and gives the same until the next event."""
        del offset
        return True

    def next_event(self) -> int | None:
        """Return the cycle at which something changes by itself, or None."""
        return None

    def advance(self, now: int) -> None:
        """Do what is due at `now` or before; nothing where nothing changes by itself."""
        del now

    def unknown(self, offset: int) -> NotModelledError:
        """Return the error for a register that is not modelled."""
        return NotModelledError(f"the register at offset 0x{offset:x} of {self.name} is not modelled")


class Registers(Peripheral):
    """Registers that keep what is written, with changes that follow later."""

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
        """Take `value`; families add what follows from it."""
        del now
        self.words[offset] = value

    def set_bits(self, offset: int, mask: int, value: int) -> None:
        """Replace the bits of `mask`."""
        self.words[offset] = self.words[offset] & ~mask | value & mask

    def field(self, offset: int, position: int, bits: int) -> int:
        """Return a field of a register."""
        return self.words[offset] >> position & ((1 << bits) - 1)

    def later(self, cycle: int, change: Callable[[int], None]) -> None:
        """Have `change` called with the cycle when that is reached."""
        self._later.append((cycle, change))

    @override
    def next_event(self) -> int | None:
        return min((cycle for cycle, _ in self._later), default=None)

    @override
    def advance(self, now: int) -> None:
        due = [each for each in self._later if each[0] <= now]
        self._later = [each for each in self._later if each[0] > now]
        for cycle, change in sorted(due, key=lambda each: each[0]):
            change(cycle)
