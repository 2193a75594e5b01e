"""The parts of which a device family makes its DMA controllers: channels with their interrupts, and streams."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from tinysplit.boards.board import Device
from tinysplit.boards.devices import dma_interrupt
from tinysplit.common.errors import InputError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.dma.controller import Channel, DmaMemory, RequestLine, RequestLines
from virtual_stm32.peripherals.dma.streams import DmaStreams, StreamSelection

DMAMUX_BASE = 0x40020800
DMA1, DMA2 = ("DMA1", 0x40020000), ("DMA2", 0x40020400)  # of all but the F4
CHANNELS, STREAMS = 7, 8


@dataclass(frozen=True)
class DmaPorts:
    """Connections of the DMA controllers inside their board."""

    memories: Iterable[DmaMemory]
    changed: Callable[[int], None]  # the interrupt line of a position may have changed
    steal: Callable[[], None]  # a transfer uses the bus


@dataclass(frozen=True)
class DmaSystem:
    """The controllers with their multiplexer by address, and their channels by the position of their interrupt."""

    peripherals: tuple[tuple[int, Peripheral], ...]
    channels: tuple[tuple[int, Channel], ...]


class DmaBuilder:
    """Makes the channels of a device, for the requests `lines` of its peripherals."""

    def __init__(self, device: Device, lines: Sequence[RequestLine], ports: DmaPorts) -> None:
        self._interrupts = device.interrupts
        self._positions = {interrupt.name: interrupt.position for interrupt in device.interrupts}
        self.lines = lines
        self.ports = ports
        self.channels: list[tuple[int, Channel]] = []

    def new_channels(self, names: Sequence[tuple[str, str]]) -> list[Channel]:
        """Return channels with these names, each with the name of its interrupt."""
        made = []
        for name, interrupt in names:
            position = self._positions[interrupt]
            channel = Channel(name, partial(self.ports.changed, position), self.ports.steal)
            self.channels.append((position, channel))
            made.append(channel)
        return made

    def served_channels(self, controller: int) -> Iterator[tuple[str, str]]:
        """Yield the names of the channels of a controller that a vector serves, and of that."""
        for number in range(1, CHANNELS + 1):
            with suppress(InputError):
                interrupt = dma_interrupt(self._interrupts, controller, number)
                yield f"DMA{controller} channel {number}", interrupt.name

    def system(self, *peripherals: tuple[int, Peripheral]) -> DmaSystem:
        """Return the controllers, by address, with the channels that were made."""
        return DmaSystem(peripherals, tuple(self.channels))


def streams(
    builder: DmaBuilder,
    lines: RequestLines,
    bases: Iterable[tuple[str, int]],
    selection: StreamSelection | None = None,
) -> list[tuple[int, Peripheral]]:
    """Return the controllers with streams at `bases`, by address."""
    peripherals: list[tuple[int, Peripheral]] = []
    for name, base in bases:
        names = [(f"{name} stream {n}", f"{name}_Stream{n}") for n in range(STREAMS)]
        dma = DmaStreams(name, builder.new_channels(names), builder.ports.memories, lines, selection)
        if selection:
            selection.controllers[name] = dma
        peripherals.append((base, dma))
    return peripherals
