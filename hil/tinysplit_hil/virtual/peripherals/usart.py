"""UARTs with a shift register and a holding register; a byte takes ten bit times (8N1)."""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from tinysplit_hil.virtual.clock import PS_PER_S, TICKS_PER_CYCLE, Clock
from tinysplit_hil.virtual.errors import NotModelledError
from tinysplit_hil.virtual.peripherals.base import Peripheral

BITS_PER_BYTE = 10
TOLERANCE_PERCENT = 4  # of the byte time: approximately the tolerance of 8N1 with oversampling by 16
FE, NE, ORE, RXNE, TC, TXE = 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 6, 1 << 7
_RE, _TE = 1 << 2, 1 << 3
_INTERRUPT_ENABLES = RXNE | TC | TXE  # the enable bits in CR1 have the positions of the flags
_CR1_MODELLED = _INTERRUPT_ENABLES | _RE | _TE
_SMALLEST_BRR, _SMALLEST_LOW_POWER_BRR = 16, 0x300

Sink = Callable[[int, int, int], None]  # arrival time (ps), duration (ps), value


@dataclass(frozen=True)
class UartPorts:
    """Connections of a UART inside its board."""

    clock: Clock
    cycles_per_clock: Callable[[], int]  # core cycles in one cycle of the UART's kernel clock
    sends: Callable[[], bool]  # TX pin in its alternate function
    receives: Callable[[], bool]
    changed: Callable[[], None]  # the interrupt line may have changed
    expecting: Callable[[], None]  # this UART will receive a byte


class Usart(Peripheral):
    """Base of both USART generations; subclasses define the registers."""

    merges_bytes = False
    enable_bit = 0

    def __init__(self, name: str, ports: UartPorts, *, is_low_power: bool) -> None:
        super().__init__(name)
        self._ports = ports
        self._is_low_power = is_low_power
        self.sink: Sink | None = None
        self.flags = TXE | TC
        self.cr1 = 0
        self.brr = 0
        self.received = 0
        self._holding = 0
        self._shift_end: int | None = None  # ticks
        self._arrivals: deque[tuple[int, int, int]] = deque()

    # The line

    def receive(self, arrival_ps: int, byte_ps: int, value: int) -> None:
        """Schedule the arrival of a byte at `arrival_ps`, sent at `byte_ps` per byte."""
        self._arrivals.append((arrival_ps, byte_ps, value))
        self._ports.expecting()

    def byte_ps(self) -> int | None:
        """Return the duration of a byte in picoseconds, or None while the UART is disabled."""
        if not self.cr1 & self.enable_bit or not self.brr:
            return None
        return self._byte_ticks() * PS_PER_S // (self._ports.clock.hz * TICKS_PER_CYCLE)

    def _byte_ticks(self) -> int:
        scale = 1 if self._is_low_power else TICKS_PER_CYCLE
        return BITS_PER_BYTE * self.brr * scale * self._ports.cycles_per_clock()

    def has_interrupt(self) -> bool:
        """Return the level of the interrupt line."""
        overrun = RXNE if self.flags & ORE else 0
        return bool(self.cr1 & (self.flags | overrun) & _INTERRUPT_ENABLES)

    @override
    def next_event(self) -> int | None:
        sent = None if self._shift_end is None else -(-self._shift_end // TICKS_PER_CYCLE)
        if not self._arrivals:
            return sent
        arrival = self._ports.clock.cycle(self._arrivals[0][0])
        return arrival if sent is None else min(sent, arrival)

    @override
    def advance(self, now: int) -> None:
        while self._shift_end is not None and self._shift_end <= now * TICKS_PER_CYCLE:
            self._shift_done(self._shift_end)
        while self._arrivals and self._ports.clock.cycle(self._arrivals[0][0]) <= now:
            self._take(*self._arrivals.popleft())
        self._ports.changed()

    def _shift_done(self, ticks: int) -> None:
        if self.flags & TXE:
            self._shift_end = None
            self.flags |= TC
        else:
            self.flags |= TXE
            self._shift(self._holding, ticks)

    def _shift(self, value: int, start: int) -> None:
        self._shift_end = start + self._byte_ticks()
        arrival_ps = self._ports.clock.ps_of_ticks(self._shift_end)
        if self.sink and self._ports.sends():
            self.sink(arrival_ps, arrival_ps - self._ports.clock.ps_of_ticks(start), value)

    def _take(self, _arrival_ps: int, byte_ps: int, value: int) -> None:
        own_ps = self.byte_ps()
        if own_ps is None or not self.cr1 & _RE or not self._ports.receives():
            return
        if self.flags & RXNE:
            self.flags |= ORE
            return
        self.flags |= RXNE
        self.received = value
        if is_misread(byte_ps, own_ps):
            self.flags |= FE
            self.received = misread(value)

    # The registers

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        self.set_register(offset, value, now)
        self._ports.changed()

    @abstractmethod
    def set_register(self, offset: int, value: int, now: int) -> None:
        """Write a register."""

    def put(self, value: int, now: int) -> None:
        """Send a byte: to the shift register if it is empty, else to the holding register."""
        if not self.cr1 & self.enable_bit or not self.cr1 & _TE:
            return
        self.flags &= ~TC
        if self._shift_end is None:
            self._shift(value & 0xFF, now * TICKS_PER_CYCLE)
        else:
            self.flags &= ~TXE
            self._holding = value & 0xFF

    def take(self) -> int:
        """Return the received byte and clear RXNE."""
        self.flags &= ~RXNE
        self._ports.changed()
        return self.received

    def configure(self, cr1: int) -> None:
        """Set CR1. Raises NotModelledError for unmodelled bits and for a BRR out of range."""
        if cr1 & ~(_CR1_MODELLED | self.enable_bit):
            raise NotModelledError(f"bits of {self.name} CR1 = 0x{cr1:x} are not modelled")
        smallest = _SMALLEST_LOW_POWER_BRR if self._is_low_power else _SMALLEST_BRR
        if cr1 & self.enable_bit and self.brr < smallest:
            raise NotModelledError(f"{self.name} is enabled with a divider (BRR) of {self.brr}, less than {smallest}")
        self.cr1 = cr1


def is_misread(sender_ps: int, receiver_ps: int) -> bool:
    """Return whether sender and receiver differ by more than TOLERANCE_PERCENT."""
    return abs(sender_ps - receiver_ps) * 100 > TOLERANCE_PERCENT * receiver_ps


def misread(value: int) -> int:
    """Return the value received at a wrong baud rate: another one, deterministic."""
    return (value ^ value << 1) & 0xFF ^ 0x80


class UsartV1(Usart):
    """The USART of STM32F4 (RM0368, RM0390): SR, DR, BRR, CR1 to CR3."""

    enable_bit = 1 << 13
    _SR, _DR, _BRR, _CR1, _CR2, _CR3 = range(0x00, 0x18, 4)

    def __init__(self, name: str, ports: UartPorts, *, is_low_power: bool) -> None:
        super().__init__(name, ports, is_low_power=is_low_power)
        self._seen = 0  # error flags read from SR, cleared by reading DR

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != self._DR

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset == self._SR:
            self._seen = self.flags & (FE | NE | ORE)
            return self.flags
        if offset == self._DR:
            self.flags &= ~self._seen
            self._seen = 0
            return self.take()
        known = {self._BRR: self.brr, self._CR1: self.cr1, self._CR2: 0, self._CR3: 0}
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == self._DR:
            self.put(value, now)
        elif offset == self._BRR:
            self.brr = value & 0xFFFF
        elif offset == self._CR1:
            self.configure(value)
        elif offset == self._SR:
            self.flags &= value | ~(RXNE | TC)
        elif value or offset not in (self._CR2, self._CR3):
            raise self.unknown(offset)


class UsartV2(Usart):
    """The USART and LPUART of STM32G0, L4 and H7 (RM0444, RM0394, RM0432, RM0433), FIFO off."""

    enable_bit = 1 << 0
    _CR1, _CR2, _CR3, _BRR = range(0x00, 0x10, 4)
    _ISR, _ICR, _RDR, _TDR = range(0x1C, 0x2C, 4)
    _CLEARABLE = FE | NE | ORE | TC
    _TEACK, _REACK = 1 << 21, 1 << 22

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != self._RDR

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset == self._RDR:
            return self.take()
        known = {self._ISR: self._status, self._BRR: self.brr, self._CR1: self.cr1, self._CR2: 0, self._CR3: 0}
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    @property
    def _status(self) -> int:
        is_on = self.cr1 & self.enable_bit
        acknowledged = (self._TEACK if self.cr1 & _TE else 0) | (self._REACK if self.cr1 & _RE else 0)
        return self.flags | (acknowledged if is_on else 0)

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == self._TDR:
            self.put(value, now)
        elif offset == self._BRR:
            self.brr = value & (0xFFFFF if self._is_low_power else 0xFFFF)
        elif offset == self._CR1:
            self.configure(value)
        elif offset == self._ICR:
            self.flags &= ~(value & self._CLEARABLE)
        elif value or offset not in (self._CR2, self._CR3):
            raise self.unknown(offset)
