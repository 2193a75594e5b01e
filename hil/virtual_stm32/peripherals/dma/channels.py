"""The DMA controllers of STM32G0 (RM0444, DMA controller), L4 (RM0394, RM0432) and F3 (RM0316): channels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.dma.controller import (
    Channel,
    ChannelSetting,
    DmaController,
    DmaMemory,
    RequestLines,
    RequestRouter,
)

_ISR, _IFCR, _CSELR = 0x00, 0x04, 0xA8
_FIRST, _STRIDE = 0x08, 0x14
_CCR, _CNDTR, _CPAR, _CMAR = range(0x00, 0x10, 4)
_EN, _TCIE, _HTIE, _TEIE, _DIR, _CIRC, _MINC = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 7
_HALF_WORDS, _SIZES = 1 << 8 | 1 << 10, 3 << 8 | 3 << 10  # PSIZE and MSIZE
_PRIORITY = 3 << 12
_WRITABLE_WHILE_ON = _EN | _TCIE | _HTIE | _TEIE
_MODELLED = _WRITABLE_WHILE_ON | _DIR | _CIRC | _MINC | _PRIORITY
_TCIF, _HTIF, _GIF = 1 << 1, 1 << 2, 1 << 0
_FLAG_BITS = 4  # of a channel in ISR and IFCR


@dataclass
class _ChannelRegisters:
    ccr: int = 0
    cpar: int = 0
    cmar: int = 0


class DmaChannels(DmaController):
    """ISR, IFCR, and CCR, CNDTR, CPAR and CMAR of each channel, which are write-protected while it is on."""

    def __init__(
        self,
        name: str,
        channels: list[Channel],
        memories: Iterable[DmaMemory],
        lines: RequestLines,
        selection: "ChannelSelection | None" = None,
    ) -> None:
        super().__init__(name, channels, memories, lines)
        self._registers = [_ChannelRegisters() for _ in channels]
        self._selection = selection  # None: a DMAMUX selects the requests, or nothing does

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset == _ISR:
            return sum(_status(channel) << _FLAG_BITS * index for index, channel in enumerate(self.channels))
        if offset == _CSELR and self._selection:
            return self._selection.fields[self.name]
        index, register = self._decode(offset)
        registers = self._registers[index]
        return {
            _CCR: registers.ccr,
            _CNDTR: self.channels[index].remaining,
            _CPAR: registers.cpar,
            _CMAR: registers.cmar,
        }[register]

    def _decode(self, offset: int) -> tuple[int, int]:
        index, register = divmod(offset - _FIRST, _STRIDE)
        if not 0 <= index < len(self.channels) or register > _CMAR:
            raise self.unknown(offset)
        return index, register

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset == _IFCR:
            self._clear(value)
        elif offset == _CSELR and self._selection:
            self._selection.fields[self.name] = value
            self._lines.reconnect(now)
        else:
            self._write_channel(*self._decode(offset), value, now)

    def _clear(self, value: int) -> None:
        for index, channel in enumerate(self.channels):
            bits = value >> _FLAG_BITS * index & 0xF
            if flags := Channel.flags_of(bits, half=_HTIF | _GIF, complete=_TCIF | _GIF):
                channel.clear(flags)

    def _write_channel(self, index: int, register: int, value: int, now: int) -> None:
        channel, registers = self.channels[index], self._registers[index]
        if register == _CCR:
            self._configure(index, value, now)
        elif channel.is_on:
            raise NotModelledError(f"a register of {channel.name} is written while EN is set, which has no effect")
        elif register == _CNDTR:
            channel.count = channel.remaining = value & 0xFFFF
        elif register == _CPAR:
            registers.cpar = value
        else:
            registers.cmar = value

    def _configure(self, index: int, value: int, now: int) -> None:
        channel, registers = self.channels[index], self._registers[index]
        if channel.is_on and value & _EN and (value ^ registers.ccr) & ~_WRITABLE_WHILE_ON:
            raise NotModelledError(f"CCR of {channel.name} is changed while EN is set: only its interrupts may be")
        was_on = channel.is_on
        registers.ccr = value
        sizes = value & _SIZES
        if value & _EN and (value & ~(_MODELLED | _SIZES) or sizes not in (0, _HALF_WORDS) or not value & _MINC):
            raise NotModelledError(
                f"{channel.name} with CCR = 0x{value:x}: only bytes and half-words with MINC are modelled"
            )
        interrupts = Channel.flags_of(value, half=_HTIE, complete=_TCIE)
        channel.setting = ChannelSetting(not value & _DIR, bool(value & _CIRC), interrupts, 2 if sizes else 1)
        channel.is_on = bool(value & _EN)
        if channel.is_on and not was_on:
            self.begin(index, registers.cpar, registers.cmar)
        channel.clear(0)
        self._lines.reconnect(now)


def _status(channel: Channel) -> int:
    flags = channel.shown(half=_HTIF, complete=_TCIF)
    return flags | (_GIF if flags else 0)


class ChannelSelection(RequestRouter):
    """CSELR of the STM32L4 (RM0394, DMA request mapping): `table` has the request by controller, index and field."""

    def __init__(self, table: dict[tuple[str, int, int], str]) -> None:
        self._table = table
        self.fields = {"DMA1": 0, "DMA2": 0}

    @override
    def request_of(self, controller: str, index: int) -> str | None:
        field = self.fields[controller] >> 4 * index & 0xF
        return self._table.get((controller, index, field), f"{field} of channel {index + 1}")


class FixedRequests(RequestRouter):
    """Requests of channels that nothing selects (RM0316, DMA request mapping): by controller and index."""

    def __init__(self, table: Mapping[tuple[str, int], str]) -> None:
        self._table = table

    @override
    def request_of(self, controller: str, index: int) -> str | None:
        return self._table.get((controller, index))
