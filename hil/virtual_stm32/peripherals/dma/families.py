"""The DMA controllers of each device family: addresses, channels, request selection and interrupts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tinysplit.boards.board import Device
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.channels import ChannelSelection, DmaChannels
from virtual_stm32.peripherals.dma.controller import Channel, DmaMemory, RequestLine, RequestLines
from virtual_stm32.peripherals.dma.multiplexer import Dmamux, RequestSelection
from virtual_stm32.peripherals.dma.streams import DmaStreams, StreamSelection

_DMAMUX_BASE = 0x40020800
_DMA1, _DMA2 = ("DMA1", 0x40020000), ("DMA2", 0x40020400)
_CHANNELS, _STREAMS = 7, 8
_G0_SHARED = {1: "DMA1_Channel1", 2: "DMA1_Channel2_3", 3: "DMA1_Channel2_3"}  # the others share the last vector
_G0_LAST = "DMA1_Ch4_"  # and the numbers of the last channel and of those of DMA2, if there is one


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


class _DmaBuilder:
    def __init__(self, device: Device, lines: Sequence[RequestLine], ports: DmaPorts) -> None:
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

    def vector(self, beginning: str) -> str:
        """Return the name of the interrupt that begins so."""
        return next(name for name in self._positions if name.startswith(beginning))

    def system(self, *peripherals: tuple[int, Peripheral]) -> DmaSystem:
        return DmaSystem(peripherals, tuple(self.channels))


def dma_of(device: Device, lines: Sequence[RequestLine], ports: DmaPorts, *, has_dmamux: bool) -> DmaSystem:
    """Return the DMA controllers of a device; `lines` are the requests of its UARTs."""
    return _FAMILIES[device.family](_DmaBuilder(device, lines, ports), has_dmamux)


def _g0(builder: _DmaBuilder, _has_dmamux: bool) -> DmaSystem:
    selection = RequestSelection(requests.G0, _CHANNELS, _CHANNELS)
    lines = RequestLines(builder.lines, selection)
    last = builder.vector(_G0_LAST)
    names = [(f"DMA1 channel {n}", _G0_SHARED.get(n, last)) for n in range(1, _CHANNELS + 1)]
    name, base = _DMA1
    dma = DmaChannels(name, builder.new_channels(names), builder.ports.memories, lines)
    return builder.system((base, dma), (_DMAMUX_BASE, Dmamux(selection, lines)))


def _l4(builder: _DmaBuilder, has_dmamux: bool) -> DmaSystem:
    by_number = RequestSelection(requests.L4_PLUS, _CHANNELS, 2 * _CHANNELS)
    by_field = ChannelSelection(requests.L4)
    lines = RequestLines(builder.lines, by_number if has_dmamux else by_field)
    peripherals: list[tuple[int, Peripheral]] = []
    for name, base in (_DMA1, _DMA2):
        names = [(f"{name} channel {n}", f"{name}_Channel{n}") for n in range(1, _CHANNELS + 1)]
        selection = None if has_dmamux else by_field
        dma = DmaChannels(name, builder.new_channels(names), builder.ports.memories, lines, selection)
        peripherals.append((base, dma))
    if has_dmamux:
        peripherals.append((_DMAMUX_BASE, Dmamux(by_number, lines)))
    return builder.system(*peripherals)


def _streams(
    builder: _DmaBuilder,
    lines: RequestLines,
    bases: Iterable[tuple[str, int]],
    selection: StreamSelection | None = None,
) -> list[tuple[int, Peripheral]]:
    peripherals: list[tuple[int, Peripheral]] = []
    for name, base in bases:
        names = [(f"{name} stream {n}", f"{name}_Stream{n}") for n in range(_STREAMS)]
        dma = DmaStreams(name, builder.new_channels(names), builder.ports.memories, lines, selection)
        if selection:
            selection.controllers[name] = dma
        peripherals.append((base, dma))
    return peripherals


def _f4(builder: _DmaBuilder, _has_dmamux: bool) -> DmaSystem:
    selection = StreamSelection(requests.F4)
    lines = RequestLines(builder.lines, selection)
    bases = (("DMA1", 0x40026000), ("DMA2", 0x40026400))
    return builder.system(*_streams(builder, lines, bases, selection))


def _h7(builder: _DmaBuilder, _has_dmamux: bool) -> DmaSystem:
    selection = RequestSelection(requests.H7, _STREAMS, 2 * _STREAMS)
    lines = RequestLines(builder.lines, selection)
    peripherals = _streams(builder, lines, (_DMA1, _DMA2))
    return builder.system(*peripherals, (_DMAMUX_BASE, Dmamux(selection, lines)))


_FAMILIES: dict[str, Callable[[_DmaBuilder, bool], DmaSystem]] = {
    "stm32g0": _g0,
    "stm32f4": _f4,
    "stm32l4": _l4,
    "stm32h7": _h7,
}
