"""Permissive stand-ins for the peripherals of a part, so that firmware of others starts on a virtual board.

Core, memories and their timing are those of virtual boards; the registers here only store what is written, say that
clocks are ready, count cycles, and pass on the bytes of a UART at once. So they tell nothing of peripherals.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from typing_extensions import override

from virtual_stm32.core.system_control import Dwt, SystemControl
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.bus import Bus
from virtual_stm32.peripherals.crc import CrcUnit

_RANGES = (  # of peripherals, of all families
    (0x40000000, 0x40030000),
    (0x48000000, 0x48030000),
    (0x50000000, 0x50070000),
    (0x51000000, 0x51001000),
    (0x52000000, 0x52010000),
    (0x58000000, 0x58030000),
    (0x5C001000, 0x5C002000),
    (0xA0000000, 0xA0002000),
    (0xE0000000, 0xE0003000),
    (0xE000E000, 0xE0010000),
    (0xE0040000, 0xE0043000),
)
_PAGE = 0x1000
_TIMERS = (
    *range(0x40000000, 0x40002400, 0x400),
    *(0x40010000, 0x40010400, 0x40012C00, 0x40013400, 0x40014000, 0x40014400, 0x40014800),
)
_DIVIDERS = {8: 2, 9: 4, 10: 8, 11: 16}  # of HPRE
_LSI_CONTROL = (0x5C, 0x60, 0x70, 0x74, 0x90, 0x94, 0x98)  # CSR and BDCR of RCC: an oscillator on, and ready


@dataclass(frozen=True)
class Registers:
    """Where a part has the registers that its start waits for, by ST's reference manual of the part.

    `same` are bits that read like others of their register: by address, pairs of bits. `ones` read as 1.
    """

    flash: int
    access_control: int  # of FLASH_ACR after reset
    rcc: int
    same: Mapping[int, tuple[tuple[int, int], ...]]
    uarts: Mapping[int, int]  # positions of their interrupts, by address
    crc: int
    bus_divider: int | None = None  # address of HPRE (bits 0 to 3) where memories are on a bus that it slows down
    ones: Mapping[int, int] = field(default_factory=dict)


class Words(Peripheral):
    """All registers that nothing else stands in for: they keep what is written."""

    def __init__(self, registers: Registers, memory_changed: Callable[[int, int], None]) -> None:
        super().__init__("a stand-in")
        self._registers = registers
        self._memory_changed = memory_changed
        self._words = {registers.flash: registers.access_control}
        self._same = dict(registers.same) | {registers.rcc + each: ((0, 1),) for each in _LSI_CONTROL}
        self._never_busy = {registers.flash + each for each in (0x0C, 0x10)}  # FLASH_SR of the families

    @override
    def read(self, offset: int, now: int) -> int:
        if offset in self._never_busy:
            return 0
        word = self._words.get(offset, 0)
        for source, target in self._same.get(offset, ()):
            word = word & ~(1 << target) | (word >> source & 1) << target
        return word | self._registers.ones.get(offset, 0)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        self._words[offset] = value
        if offset in (self._registers.flash, self._registers.bus_divider):
            self.set_memory()

    def set_memory(self) -> None:
        """Tell how memory is accessed: FLASH_ACR, and the divider from the core to its bus."""
        divider = self._words.get(self._registers.bus_divider or 0, 0) & 0xF
        self._memory_changed(self._words[self._registers.flash], _DIVIDERS.get(divider, 1))

    @override
    def is_steady(self, offset: int) -> bool:
        return False


class Counter(Peripheral):
    """A timer that counts cycles of the core; it tells when it is read."""

    _CNT, _PSC, _ARR = 0x24, 0x28, 0x2C

    def __init__(self, was_read: Callable[[int], None]) -> None:
        super().__init__("a timer")
        self._was_read = was_read
        self._words = {self._ARR: 0xFFFFFFFF}
        self._begin = 0

    @override
    def read(self, offset: int, now: int) -> int:
        if offset != self._CNT:
            return self._words.get(offset, 0)
        self._was_read(now)
        count = (now - self._begin) // (self._words.get(self._PSC, 0) + 1)
        return (self._words.get(self._CNT, 0) + count) % (self._words[self._ARR] + 1)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        self._words[offset] = value
        if offset in (self._CNT, self._PSC):
            self._begin = now

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != self._CNT


class Console(Peripheral):
    """A UART (USARTv2) that sends at once, and has received a byte whenever it is given one."""

    _CR1, _CR3, _ICR, _ISR, _RDR, _TDR = 0x00, 0x08, 0x20, 0x1C, 0x24, 0x28
    _UE, _RE, _RXNE, _FLAGS = 1, 1 << 2, 1 << 5, 0xE0
    _SENT = 0x6000D0  # TXE, TC, IDLE, TEACK, REACK

    def __init__(self, send: Callable[[int, int], None], changed: Callable[[], None]) -> None:
        super().__init__("a UART")
        self._send = send
        self._changed = changed
        self._words: dict[int, int] = {}
        self._received: int | None = None

    @property
    def listens(self) -> bool:
        """Whether the program waits for a byte: receiver on, and the last byte read."""
        return self._words.get(self._CR1, 0) & (self._UE | self._RE) == self._UE | self._RE and self._received is None

    @property
    def has_receive_interrupt(self) -> bool:
        """Whether the program lets received bytes interrupt it."""
        return bool(self._words.get(self._CR1, 0) & self._RXNE or self._words.get(self._CR3, 0) >> 28 & 1)

    def receive(self, byte: int) -> None:
        """Let a byte arrive."""
        self._received = byte
        self._changed()

    def has_interrupt(self) -> bool:
        """Level of the interrupt line."""
        flags = self._flags
        enabled = self._words.get(self._CR1, 0)
        by_fifo = flags & self._RXNE and self.has_receive_interrupt
        return bool(enabled & self._UE and (enabled & flags & self._FLAGS or by_fifo))

    @property
    def _flags(self) -> int:
        return self._SENT | (0 if self._received is None else self._RXNE)

    @override
    def read(self, offset: int, now: int) -> int:
        if offset == self._ISR:
            return self._flags
        if offset != self._RDR:
            return self._words.get(offset, 0)
        byte, self._received = self._received or 0, None
        self._changed()
        return byte

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset == self._TDR:
            self._send(value & 0xFF, now)
        else:
            self._words[offset] = value
        self._changed()

    @override
    def is_steady(self, offset: int) -> bool:
        return False


class Tolerant(Peripheral):
    """A modelled peripheral whose other registers and values are kept, and have no effect."""

    def __init__(self, modelled: Peripheral) -> None:
        super().__init__(modelled.name)
        self._modelled = modelled
        self._words: dict[int, int] = {}

    @override
    def read(self, offset: int, now: int) -> int:
        try:
            return self._modelled.read(offset, now)
        except NotModelledError:
            return self._words.get(offset, 0)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        try:
            self._modelled.write(offset, value, now)
        except NotModelledError:
            self._words[offset] = value

    @override
    def is_steady(self, offset: int) -> bool:
        return self._modelled.is_steady(offset)


class TolerantControl(Tolerant):
    """The core's own registers, without priority groups, regions of the MPU and SysTick's slow clock."""

    _SYST_CSR, _CLKSOURCE = 0x010, 1 << 2
    _AIRCR, _PRIGROUP = 0xD0C, 0x700
    _MPU = range(0xD94, 0xDB8)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset in self._MPU:
            return
        if offset == self._AIRCR:
            value &= ~self._PRIGROUP
        elif offset == self._SYST_CSR:
            value |= self._CLKSOURCE
        super().write(offset, value, now)


class TolerantCounter(Tolerant):
    """The core's cycle counter; it tells when it is read."""

    _CYCCNT = 0x004

    def __init__(self, modelled: Dwt, was_read: Callable[[int], None]) -> None:
        super().__init__(modelled)
        self._was_read = was_read

    @override
    def read(self, offset: int, now: int) -> int:
        if offset == self._CYCCNT:
            self._was_read(now)
        return super().read(offset, now)


class StandIns(Bus):
    """The bus of a part with stand-ins; only the core's own registers are modelled."""

    def __init__(
        self,
        registers: Registers,
        *,
        memory_changed: Callable[[int, int], None],
        timer_read: Callable[[int], None],
        send: Callable[[int, int], None],
        look: Callable[[int], None],
    ) -> None:
        """`look` gets the position of an interrupt that may have changed, `send` each byte and its cycle."""
        super().__init__(lambda _name: True)
        self._others = Words(registers, memory_changed)
        for base in _TIMERS:
            self.add(base, 0x400, Counter(timer_read))
        self.consoles = {position: Console(send, partial(look, position)) for position in registers.uarts.values()}
        for base, position in registers.uarts.items():
            self.add(base, 0x400, self.consoles[position])
        self._timer_read = timer_read
        self.add(registers.crc, 0x400, Tolerant(CrcUnit()))

    def set_memory(self) -> None:
        """Tell how memory is accessed after reset."""
        self._others.set_memory()

    @override
    def add(self, base: int, size: int, peripheral: Peripheral) -> None:
        if isinstance(peripheral, SystemControl):
            peripheral = TolerantControl(peripheral)
        elif isinstance(peripheral, Dwt):
            peripheral = TolerantCounter(peripheral, self._timer_read)
        super().add(base, size, peripheral)

    @override
    def pages(self) -> list[int]:
        return [page for start, end in _RANGES for page in range(start, end, _PAGE)]

    @override
    def _find(self, address: int) -> tuple[int, Peripheral]:
        try:
            return super()._find(address)
        except NotModelledError:
            return 0, self._others
