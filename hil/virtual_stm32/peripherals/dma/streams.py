"""The DMA controllers of STM32F4 (RM0368, RM0390) and STM32H7 (RM0433, RM0468): streams in direct mode."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

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

_LISR, _HISR, _LIFCR, _HIFCR = range(0x00, 0x10, 4)
_FIRST, _STRIDE = 0x10, 0x18
_CR, _NDTR, _PAR, _M0AR, _M1AR, _FCR = range(0x00, 0x18, 4)
_EN, _DMEIE, _TEIE, _HTIE, _TCIE, _CIRC, _MINC = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 8, 1 << 10
_DIR, _TO_MEMORY, _FROM_MEMORY = 3 << 6, 0, 1 << 6
_PRIORITY, _TRBUFF, _CHSEL, _CHSEL_POSITION = 3 << 16, 1 << 20, 7 << 25, 25
_WRITABLE_WHILE_ON = _EN | _DMEIE | _TEIE | _HTIE | _TCIE
_MODELLED = _WRITABLE_WHILE_ON | _CIRC | _MINC | _FROM_MEMORY | _PRIORITY
_HTIF, _TCIF = 1 << 4, 1 << 5
_FLAG_POSITIONS = (0, 6, 16, 22)  # of streams 0 to 3 in LISR, 4 to 7 in HISR
_FLAG_MASK = 0x3D
_FIFO_EMPTY, _FIFO_THRESHOLD, _FIFO_INTERRUPT = 4 << 3, 3, 1 << 7
_FCR_RESET = 0x21
_OFF_CYCLES = 8  # from clearing EN to EN = 0: the transfer in progress ends first; a few bus cycles


@dataclass
class _StreamRegisters:
    cr: int = 0
    par: int = 0
    m0ar: int = 0
    m1ar: int = 0
    fcr: int = _FCR_RESET & 7
    off_at: int | None = None  # the cycle at which EN, cleared by software, reads as 0


class DmaStreams(DmaController):
    """LISR, HISR, LIFCR, HIFCR, and the registers of each stream, which are write-protected while it is on.

    `selects_channel`: CHSEL selects the request (F4); else a DMAMUX does, and UARTs need TRBUFF (H7, ES0392 2.3.1).
    """

    def __init__(
        self,
        name: str,
        channels: list[Channel],
        memories: Iterable[DmaMemory],
        lines: RequestLines,
        selection: "StreamSelection | None" = None,
    ) -> None:
        super().__init__(name, channels, memories, lines)
        self._registers = [_StreamRegisters() for _ in channels]
        self._selection = selection
        self._is_stopping = False  # some stream is
        for registers, channel in zip(self._registers, channels, strict=True):
            channel.ended = partial(_end, registers, channel)

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset in (_LISR, _HISR):
            streams = self.channels[:4] if offset == _LISR else self.channels[4:]
            shown = (each.shown(half=_HTIF, complete=_TCIF) for each in streams)
            return sum(flags << position for flags, position in zip(shown, _FLAG_POSITIONS, strict=True))
        index, register = self._decode(offset)
        registers = self._registers[index]
        return {
            _CR: registers.cr,
            _NDTR: self.channels[index].remaining,
            _PAR: registers.par,
            _M0AR: registers.m0ar,
            _M1AR: registers.m1ar,
            _FCR: registers.fcr | _FIFO_EMPTY,
        }[register]

    def _decode(self, offset: int) -> tuple[int, int]:
        index, register = divmod(offset - _FIRST, _STRIDE)
        if not 0 <= index < len(self.channels):
            raise self.unknown(offset)
        return index, register

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset in (_LIFCR, _HIFCR):
            self._clear(4 if offset == _HIFCR else 0, value)
        elif offset not in (_LISR, _HISR):
            self._write_stream(*self._decode(offset), value, now)

    def _clear(self, first: int, value: int) -> None:
        for channel, position in zip(self.channels[first : first + 4], _FLAG_POSITIONS, strict=True):
            bits = value >> position & _FLAG_MASK
            if bits:
                channel.clear(Channel.flags_of(bits, half=_HTIF, complete=_TCIF))

    def _write_stream(self, index: int, register: int, value: int, now: int) -> None:
        channel, registers = self.channels[index], self._registers[index]
        if register == _CR:
            self._configure(index, value, now)
        elif registers.cr & _EN:
            raise NotModelledError(f"a register of {channel.name} is written while EN is set, which has no effect")
        elif register == _NDTR:
            channel.count = channel.remaining = value & 0xFFFF
        elif register == _PAR:
            registers.par = value
        elif register == _M0AR:
            registers.m0ar = value
        elif register == _M1AR:
            registers.m1ar = value
        elif value & ~(_FIFO_THRESHOLD | _FIFO_EMPTY):
            raise NotModelledError(f"{channel.name} with FCR = 0x{value:x}: only direct mode is modelled")
        else:
            registers.fcr = value & _FIFO_THRESHOLD

    def _configure(self, index: int, value: int, now: int) -> None:
        channel, registers = self.channels[index], self._registers[index]
        was_on = registers.cr & _EN
        if was_on and value & _EN and (value ^ registers.cr) & ~_WRITABLE_WHILE_ON:
            raise NotModelledError(f"CR of {channel.name} is changed while EN is set: only its interrupts may be")
        if was_on and not value & _EN:
            registers.off_at = now + _OFF_CYCLES
            self._is_stopping = True
            value = registers.cr & ~_WRITABLE_WHILE_ON | value & _WRITABLE_WHILE_ON | _EN
        registers.cr = value
        interrupts = Channel.flags_of(value, half=_HTIE, complete=_TCIE)
        channel.setting = ChannelSetting(value & _DIR == _TO_MEMORY, bool(value & _CIRC), interrupts)
        if value & _EN and not was_on:
            self._check(index)
            self.begin(index, registers.par, registers.m0ar)
        channel.clear(0)
        self._lines.reconnect(now)

    def _check(self, index: int) -> None:
        """Raise NotModelledError unless a stream may be switched on."""
        channel = self.channels[index]
        value = self._registers[index].cr
        modelled = _MODELLED | (_CHSEL if self._selection else _TRBUFF)
        if value & ~modelled or not value & _MINC:
            raise NotModelledError(f"{channel.name} with CR = 0x{value:x}: only bytes with MINC are modelled")
        if channel.flags:
            raise NotModelledError(f"{channel.name} is enabled with flags set: LIFCR or HIFCR has to clear them first")
        if not channel.remaining:
            raise NotModelledError(f"{channel.name} is enabled with NDTR = 0")
        if not self._selection and not value & _TRBUFF:
            raise NotModelledError(f"{channel.name} serves a UART without TRBUFF, which may lock it (ES0392)")

    def channel_field(self, index: int) -> int:
        """Return CHSEL of a stream."""
        return self._registers[index].cr >> _CHSEL_POSITION & 7

    @override
    def next_event(self) -> int | None:
        if not self._is_stopping:
            return None
        return min((each.off_at for each in self._registers if each.off_at is not None), default=None)

    @override
    def advance(self, now: int) -> None:
        for registers, channel in zip(self._registers, self.channels, strict=True):
            if registers.off_at is not None and registers.off_at <= now:
                _end(registers, channel)
                channel.set(Channel.COMPLETE)  # RM0368, RM0433: the end of a transfer that software has suspended
                self._lines.reconnect(now)
        self._is_stopping = any(each.off_at is not None for each in self._registers)


def _end(registers: _StreamRegisters, channel: Channel) -> None:
    registers.cr &= ~_EN
    registers.off_at = None
    channel.is_on = False


class StreamSelection(RequestRouter):
    """CHSEL of the STM32F4 (RM0368 tables 28 and 29): `table` has the request by controller, stream and CHSEL."""

    def __init__(self, table: dict[tuple[str, int, int], str]) -> None:
        self._table = table
        self.controllers: dict[str, DmaStreams] = {}

    @override
    def request_of(self, controller: str, index: int) -> str | None:
        field = self.controllers[controller].channel_field(index)
        return self._table.get((controller, index, field), f"{field} of stream {index}")
