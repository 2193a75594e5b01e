"""GPDMA1 of the STM32U5 (RM0456) and H5 (RM0481): bytes between UARTs and memory; an item that loads itself repeats."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.dma.builder import DmaBuilder, DmaSystem
from virtual_stm32.peripherals.dma.controller import (
    Channel,
    ChannelSetting,
    DmaController,
    DmaMemory,
    RequestLines,
    RequestRouter,
)

NAME, BASE = "GPDMA1", 0x40020000
_FIRST, _STRIDE = 0x50, 0x80
_CLBAR, _CFCR, _CSR, _CCR, _CTR1, _CTR2, _CBR1, _CSAR, _CDAR, _CLLR = (
    *(0x00, 0x0C, 0x10, 0x14, 0x40, 0x44, 0x48, 0x4C, 0x50),
    0x7C,
)
_PLAIN = (_CLBAR, _CTR1, _CTR2, _CSAR, _CDAR, _CLLR)
_EN, _RESET, _TCIE, _HTIE = 1, 2, 1 << 8, 1 << 9
_IDLEF, _TCF, _HTF = 1, 1 << 8, 1 << 9
_FROM_MEMORY, _TO_MEMORY = 1 << 3, 1 << 19  # SINC and DINC, with bytes on both sides
_DREQ, _REQUEST = 1 << 10, 0x7F
_RELOADS = 1 << 16 | 1 << 27 | 1 << 29  # ULL, UDA and UB1 of CLLR
_ITEM_WORDS = 3
_BLOCK = 0xFFFF  # BNDT of CBR1
_ITEM_PLACE, _LIST_BASE = 0xFFFC, 0xFFFF0000


@dataclass
class _ChannelRegisters:
    words: dict[int, int]
    ccr: int = 0


class Gpdma(DmaController):
    """The registers of each channel, which are write-protected while it is on."""

    def __init__(
        self, channels: list[Channel], memories: Iterable[DmaMemory], lines: RequestLines, selection: "GpdmaRequests"
    ) -> None:
        super().__init__(NAME, channels, memories, lines)
        self._registers = [_ChannelRegisters(dict.fromkeys(_PLAIN, 0)) for _ in channels]
        selection.controller = self
        for registers, channel in zip(self._registers, channels, strict=True):
            channel.ended = partial(_end, registers, channel)

    def _decode(self, offset: int) -> tuple[int, int]:
        index, register = divmod(offset - _FIRST, _STRIDE)
        if not 0 <= index < len(self.channels) or register not in (*_PLAIN, _CFCR, _CSR, _CCR, _CBR1):
            raise self.unknown(offset)
        return index, register

    def request_number(self, index: int) -> int:
        """Return REQSEL of a channel."""
        return self._registers[index].words[_CTR2] & _REQUEST

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        index, register = self._decode(offset)
        channel, registers = self.channels[index], self._registers[index]
        if register in _PLAIN:
            return registers.words[register]
        idle = 0 if channel.is_on else _IDLEF
        return {
            _CFCR: 0,
            _CSR: channel.shown(half=_HTF, complete=_TCF) | idle,
            _CCR: registers.ccr,
            _CBR1: channel.remaining,
        }[register]

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        index, register = self._decode(offset)
        channel, registers = self.channels[index], self._registers[index]
        if register == _CFCR:
            channel.clear(Channel.flags_of(value, half=_HTF, complete=_TCF))
        elif register == _CCR:
            self._configure(index, value, now)
        elif channel.is_on:
            raise NotModelledError(f"a register of {channel.name} is written while EN is set, which has no effect")
        elif register == _CBR1:
            channel.count = channel.remaining = value & _BLOCK
            if value & ~_BLOCK:
                raise NotModelledError(f"{channel.name} with CBR1 = 0x{value:x}: only BNDT is modelled")
        elif register in _PLAIN:
            registers.words[register] = value

    def _configure(self, index: int, value: int, now: int) -> None:
        channel, registers = self.channels[index], self._registers[index]
        if value & ~(_EN | _TCIE | _HTIE) or (channel.is_on and not value & _EN):
            raise NotModelledError(f"{channel.name} with CCR = 0x{value:x}: only EN, TCIE and HTIE are modelled")
        was_on = channel.is_on
        registers.ccr = value
        to_memory, is_circular = self._direction(index), False
        if value & _EN and not was_on:
            self._check(index)
            is_circular = self._is_circular(index)
        interrupts = Channel.flags_of(value, half=_HTIE, complete=_TCIE)
        channel.setting = ChannelSetting(to_memory, is_circular or (was_on and channel.setting.is_circular), interrupts)
        if value & _EN and not was_on:
            peripheral, memory = (_CSAR, _CDAR) if to_memory else (_CDAR, _CSAR)
            self.begin(index, registers.words[peripheral], registers.words[memory])
        channel.clear(0)
        self._lines.reconnect(now)

    def _direction(self, index: int) -> bool:
        return self._registers[index].words[_CTR1] == _TO_MEMORY

    def _check(self, index: int) -> None:
        """Raise NotModelledError unless a channel may be switched on."""
        channel, words = self.channels[index], self._registers[index].words
        control, request = words[_CTR1], words[_CTR2]
        wanted = {_TO_MEMORY: 0, _FROM_MEMORY: _DREQ}.get(control)
        if wanted is None or request & ~_REQUEST != wanted:
            raise NotModelledError(
                f"{channel.name} with CTR1 = 0x{control:x} and CTR2 = 0x{request:x}: only bytes between a UART and"
                " memory are modelled, with DREQ where the UART sends"
            )
        if not channel.remaining:
            raise NotModelledError(f"{channel.name} is enabled with BNDT = 0")

    def _is_circular(self, index: int) -> bool:
        """Return whether CLLR leads to an item that begins the block anew and stays; raise for another one."""
        channel, words = self.channels[index], self._registers[index].words
        if not words[_CLLR]:
            return False
        address = words[_CLBAR] & _LIST_BASE | words[_CLLR] & _ITEM_PLACE
        item = self._words_at(channel, address)
        if words[_CLLR] & ~_ITEM_PLACE != _RELOADS or item != (channel.count, words[_CDAR], words[_CLLR]):
            raise NotModelledError(
                f"{channel.name} with CLLR = 0x{words[_CLLR]:x}: only an item that begins the same block again, and"
                " itself, is modelled"
            )
        return True

    def _words_at(self, channel: Channel, address: int) -> tuple[int, ...]:
        for memory in self._memories:
            if memory.start <= address <= memory.start + len(memory.content) - 4 * _ITEM_WORDS:
                place = address - memory.start
                data = bytes(memory.seen_by_dma()[place : place + 4 * _ITEM_WORDS])
                return tuple(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))
        raise NotModelledError(f"{channel.name}: the item at 0x{address:08x} is in no memory")


def _end(registers: _ChannelRegisters, channel: Channel) -> None:
    registers.ccr &= ~_EN
    channel.is_on = False


class GpdmaRequests(RequestRouter):
    """REQSEL in CTR2 of each channel."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self.controller: Gpdma | None = None

    @override
    def request_of(self, controller: str, index: int) -> str | None:
        if self.controller is None:
            raise AssertionError(controller)
        number = self.controller.request_number(index)
        return self._names.get(number, f"{number}")


def gpdma(builder: DmaBuilder, *, requests: dict[int, str], channels: int) -> DmaSystem:
    """Return GPDMA1, whose channels select their requests."""
    selection = GpdmaRequests(requests)
    lines = RequestLines(builder.lines, selection)
    own = builder.new_channels([(f"{NAME} channel {n}", f"{NAME}_Channel{n}") for n in range(channels)])
    return builder.system((BASE, Gpdma(own, builder.ports.memories, lines, selection)))
