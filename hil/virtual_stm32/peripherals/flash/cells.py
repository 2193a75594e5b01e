"""The cells of a flash memory."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from operator import and_, or_

_ONES = 0xFF
# Of words with arbitrary bits: 72 of 256 syndromes are those of a wrong bit (64 bits and 8), 266 of 1024 (256 and 10).
_UNCORRECTABLE = 0.72


@dataclass(frozen=True)
class Change:
    """A change that takes a while: an area that is erased, or (`before`) programmed over these bytes."""

    offset: int
    size: int
    before: bytes = b""


class FlashCells:
    """Contents of a flash: programming makes bits 0, erasing a whole area makes them 1; or the other way around.

    `changed` is called with offset and size in bytes. `options` are the option bytes that were changed, by the offset
    of their register: like the contents, they stay when the board has no supply. So does `torn`, a byte for each of the
    contents, 1 in words whose error correction fails: their programming or erasing was interrupted.
    """

    def __init__(
        self,
        content: memoryview,
        options: dict[int, int],
        torn: bytearray,
        changed: Callable[[int, int], None],
        erased: int = _ONES,
    ) -> None:
        self._content = content
        self._erased = erased  # byte
        self.options = options
        self.torn = torn
        self._changed = changed
        self._stored: list[tuple[int, bytes]] = []

    @property
    def size_bytes(self) -> int:
        """Size in bytes."""
        return len(self._content)

    def is_erased(self, offset: int, size: int) -> bool:
        """Whether all bits are those of erased flash, with the error correction included."""
        area = slice(offset, offset + size)
        return all(byte == self._erased for byte in self._content[area]) and not any(self.torn[area])

    def program(self, offset: int, data: bytes) -> Change:
        """Make bits 0 that are 0 in `data`, or 1 that are 1 there where erased flash is 0."""
        before = bytes(self._content[offset : offset + len(data)])
        join = and_ if self._erased else or_
        self.put(offset, bytes(map(join, before, data)))
        return Change(offset, len(data), before)

    def erase(self, offset: int, size: int) -> None:
        """Make all bits of an area those of erased flash."""
        self.put(offset, bytes([self._erased]) * size)
        self.torn[offset : offset + size] = bytes(size)

    def tear(self, offset: int, size: int) -> None:
        """Let the error correction fail for a word."""
        self.torn[offset : offset + size] = b"\x01" * size

    def interrupt(self, change: Change, word_bytes: int, numbers: random.Random) -> None:
        """Leave a change half done: random bits, and words of `word_bytes` (0: none) that cannot be corrected."""
        self.settle()
        bits = numbers.randbytes(change.size)
        if change.before:
            wanted = self._content[change.offset : change.offset + change.size]
            bits = bytes(new & ~bit | old & bit for new, old, bit in zip(wanted, change.before, bits, strict=True))
        self.put(change.offset, bits)
        for offset in range(change.offset, change.offset + change.size, word_bytes) if word_bytes else ():
            if numbers.random() < _UNCORRECTABLE:
                self.tear(offset, word_bytes)

    def keep(self, offset: int, size: int) -> None:
        """Keep what is there, whatever the core has tried to store."""
        self.put(offset, bytes(self._content[offset : offset + size]))

    def put(self, offset: int, data: bytes) -> None:
        """Set contents. Where the core stores, its emulator still writes its own value: `settle` puts that right."""
        self._content[offset : offset + len(data)] = data
        self._stored.append((offset, data))
        self._changed(offset, len(data))

    def settle(self) -> None:
        """Put right what the emulator has stored since."""
        for offset, data in self._stored:
            self._content[offset : offset + len(data)] = data
        self._stored.clear()
