"""The cells of a flash memory."""

from collections.abc import Callable

_ERASED = 0xFF


class FlashCells:
    """Contents of a flash: programming makes bits 0, erasing a whole area makes them 1.

    `changed` is called with offset and size in bytes. `options` are the option bytes that were changed, by the offset
    of their register: like the contents, they stay when the board has no supply.
    """

    def __init__(self, content: memoryview, options: dict[int, int], changed: Callable[[int, int], None]) -> None:
        self._content = content
        self.options = options
        self._changed = changed
        self._stored: list[tuple[int, bytes]] = []

    @property
    def size_bytes(self) -> int:
        """Size in bytes."""
        return len(self._content)

    def is_erased(self, offset: int, size: int) -> bool:
        """Whether all bits are 1."""
        return all(byte == _ERASED for byte in self._content[offset : offset + size])

    def program(self, offset: int, data: bytes) -> None:
        """Make bits 0 that are 0 in `data`."""
        before = self._content[offset : offset + len(data)]
        self.put(offset, bytes(old & new for old, new in zip(before, data, strict=True)))

    def erase(self, offset: int, size: int) -> None:
        """Make all bits of an area 1."""
        self.put(offset, bytes([_ERASED]) * size)

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
