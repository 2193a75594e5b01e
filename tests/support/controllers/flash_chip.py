"""A flash controller with its cells, by itself."""

from collections.abc import Callable
from dataclasses import dataclass, field

from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.controller import FlashController


@dataclass
class Chip:
    """A controller of a flash whose bytes are all `fill`."""

    make: Callable[[FlashCells, Callable[[int, int], int]], FlashController]
    size: int
    fill: int = 0
    erased: int = 0xFF
    options: dict[int, int] = field(default_factory=dict)
    now: int = 0

    def __post_init__(self) -> None:
        self.flash = bytearray([self.fill]) * self.size
        self.torn = bytearray(self.size)
        self.reset()

    def reset(self) -> None:
        cells = FlashCells(memoryview(self.flash), self.options, self.torn, lambda _offset, _size: None, self.erased)
        self.controller = self.make(cells, lambda cycle, ps: cycle + ps // 10**6)

    def write(self, offset: int, *values: int) -> None:
        for value in values:
            self.controller.write(offset, value, self.now)

    def read(self, offset: int) -> int:
        return self.controller.read(offset, self.now)

    def wait(self) -> None:
        """Until the operation has ended."""
        while (event := self.controller.next_event()) is not None:
            self.now = event
            self.controller.advance(event)

    def program(self, offset: int, *parts: bytes) -> None:
        for part in parts:
            self.controller.program(offset, part, self.now)
            self.flash[offset : offset + len(part)] = part  # as the emulator does
            offset += len(part)
        self.wait()
        self.controller.cells.settle()
