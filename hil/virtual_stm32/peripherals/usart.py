"""UARTs: the line, the shift register, holding registers or FIFOs, DMA requests; a byte takes ten bit times (8N1)."""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from virtual_stm32.clock import PS_PER_S, TICKS_PER_CYCLE, BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.dma.controller import RequestLine

BITS_PER_BYTE = 10
# Of the byte time: approximately the tolerance of 8N1 with oversampling by 16, and that with oversampling by 8 (RM0444,
# tolerance of the receiver to clock deviation).
TOLERANCE_PERCENT, TOLERANCE_PERCENT_OVER8 = 4.0, 2.5
FE, NE, ORE, IDLE, RXNE, TC, TXE = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7
ERRORS = FE | NE | ORE
RE, TE, OVER8 = 1 << 2, 1 << 3, 1 << 15
EIE, HDSEL, DMAR, DMAT = 1 << 0, 1 << 3, 1 << 6, 1 << 7
_INTERRUPT_ENABLES = IDLE | RXNE | TC | TXE  # the enable bits in CR1 have the positions of the flags
CR1_MODELLED = _INTERRUPT_ENABLES | RE | TE
_SMALLEST_BRR, _SMALLEST_LOW_POWER_BRR = 16, 0x300
_SMALLEST_CLOCKS_OVER8 = 8

Sink = Callable[[int, int, int, int], None]  # arrival time (ps), duration (ps), value, errors (FE or ORE)


@dataclass(frozen=True)
class UartPorts:
    """Connections of a UART inside its board."""

    clock: BoardClock
    cycles_per_clock: Callable[[], int]  # core cycles in one cycle of the UART's kernel clock
    sends: Callable[[], bool]  # TX pin in its alternate function
    receives: Callable[[], bool]
    listens_at_tx: Callable[[], bool]  # TX pin in its alternate function, with an open drain
    changed: Callable[[], None]  # the interrupt line may have changed
    expecting: Callable[[], None]  # this UART will receive a byte


class Usart(Peripheral):
    """Base of both USART generations; subclasses define the registers."""

    merges_bytes = False
    enable_bit = 0
    over8_bit = OVER8
    receive_offset = 0
    send_offset = 0
    cr3_modelled = 0

    def __init__(self, name: str, ports: UartPorts, *, base: int, is_low_power: bool, fifo_bytes: int) -> None:
        super().__init__(name)
        self._ports = ports
        self._is_low_power = is_low_power
        self.fifo_bytes = fifo_bytes  # 0: this UART has no FIFO
        self.sink: Sink | None = None
        self.flags = TXE | TC
        self.cr1 = 0
        self.cr3 = 0
        self.brr = 0
        self.received: deque[int] = deque()
        self.waiting: deque[int] = deque()  # to be sent
        self._last_value = 0
        self._shift_end: int | None = None  # ticks
        self.arrivals: deque[tuple[int, int, int, int]] = deque()
        self.idle_at_ps: int | None = None  # when IDLE is set, unless a byte begins before
        self._byte_times: tuple[int, int] | None = None  # of _times()
        self._listens_since_ps = 0  # a byte that has begun before is lost
        self.receive_line = RequestLine(f"{name}_RX", base + self.receive_offset, self._serve_receiver)
        self.send_line = RequestLine(f"{name}_TX", base + self.send_offset, self._serve_sender)

    # The line

    def receive(self, arrival_ps: int, byte_ps: int, value: int, errors: int = 0) -> None:
        """Schedule the arrival of a byte at `arrival_ps`, sent at `byte_ps` per byte.

        `errors`: FE for a wrong stop bit, ORE for a byte that the receiver loses to an overrun.
        """
        if not self.cr3 & HDSEL:  # which leaves the RX pin alone
            self._expect(arrival_ps, byte_ps, value, errors)

    def receive_at_tx(self, arrival_ps: int, byte_ps: int, value: int, errors: int = 0) -> None:
        """Schedule the arrival of a byte at the TX pin, which is heard in half-duplex mode.

        What two transmitters make that drive the line at a time is not modelled.
        """
        if self.cr3 & HDSEL:
            self._expect(arrival_ps, byte_ps, value, errors)

    def _expect(self, arrival_ps: int, byte_ps: int, value: int, errors: int) -> None:
        self.arrivals.append((arrival_ps, byte_ps, value, errors))
        self._ports.expecting()

    def byte_ps(self) -> int | None:
        """Return the duration of a byte in picoseconds, or None while the UART is disabled."""
        if not self.cr1 & self.enable_bit or not self.brr:
            return None
        return self._times()[1]

    def _times(self) -> tuple[int, int]:
        """Return the duration of a byte in ticks and in picoseconds."""
        if self._byte_times is None:
            ticks = BITS_PER_BYTE * self._bit_ticks() * self._ports.cycles_per_clock()
            self._byte_times = ticks, ticks * PS_PER_S // (self._ports.clock.hz * TICKS_PER_CYCLE)
        return self._byte_times

    def _bit_ticks(self) -> int:
        if self._is_low_power:
            return self.brr
        return TICKS_PER_CYCLE * (_clocks_over8(self.brr) if self.cr1 & OVER8 else self.brr)

    def clock_changed(self) -> None:
        """Forget the duration of a byte."""
        self._byte_times = None

    @property
    def capacity(self) -> int:
        """Bytes that wait to be sent."""
        return self.fifo_bytes if self.has_fifo else 1

    @property
    def has_fifo(self) -> bool:
        """Whether the FIFOs are in use."""
        return False

    def has_interrupt(self) -> bool:
        """Return the level of the interrupt line."""
        overrun = RXNE if self.flags & ORE else 0
        return bool(self.cr1 & (self.flags | overrun) & _INTERRUPT_ENABLES) or self.has_error_interrupt()

    @abstractmethod
    def has_error_interrupt(self) -> bool:
        """Return whether EIE raises the interrupt."""

    def next_start(self, after_ps: int) -> int | None:
        """Return when the next byte begins that is on its way, at `after_ps` or later."""
        starts = (arrival_ps - byte_ps for arrival_ps, byte_ps, _, _ in self.arrivals)
        return next((start for start in starts if start >= after_ps), None)

    def was_stopped(self, until_ps: int) -> None:
        """Note that the UART had no clock until then: it has lost the bytes that began before."""
        self._listens_since_ps = until_ps

    @property
    def idle_ps(self) -> int | None:
        """The time at which IDLE will be set unless another byte starts before, or None."""
        if self.idle_at_ps is None:
            return None
        if self.arrivals and self.arrivals[0][0] - self.arrivals[0][1] < self.idle_at_ps:
            return None
        return self.idle_at_ps

    @override
    def next_event(self) -> int | None:
        event = None if self._shift_end is None else -(-self._shift_end // TICKS_PER_CYCLE)
        if self.arrivals:
            arrival = self._ports.clock.cycle(self.arrivals[0][0])
            event = arrival if event is None or arrival < event else event
        if self.idle_at_ps is not None and (idle_ps := self.idle_ps) is not None:
            idle = self._ports.clock.cycle(idle_ps)
            event = idle if event is None or idle < event else event
        return event

    @override
    def advance(self, now: int) -> None:
        while self._shift_end is not None and self._shift_end <= now * TICKS_PER_CYCLE:
            self._shift_done(self._shift_end)
        while self.arrivals and self._ports.clock.cycle(self.arrivals[0][0]) <= now:
            self._look_for_idle(self.arrivals[0][0])
            self._take(*self.arrivals.popleft())
        self._look_for_idle(min(self._ports.clock.ps(now), self._ports.clock.known_ps))
        self._ports.changed()

    # Sending

    def _shift_done(self, ticks: int) -> None:
        if not self.waiting:
            self._shift_end = None
            self.flags |= TC
            return
        self._shift(self.waiting.popleft(), ticks)
        self.flags |= TXE
        if self.cr3 & DMAT:
            self._request_bytes(ticks)

    def _shift(self, value: int, start: int) -> None:
        if self.cr3 & HDSEL:
            raise NotModelledError(f"{self.name} sends in half-duplex mode")
        self._shift_end = start + self._times()[0]
        arrival_ps = self._ports.clock.ps_of_ticks(self._shift_end)
        if self.sink and self._ports.sends():
            self.sink(arrival_ps, arrival_ps - self._ports.clock.ps_of_ticks(start), value, 0)

    def put(self, value: int, ticks: int) -> None:
        """Send a byte: to the shift register if it is empty, else to the holding register or FIFO."""
        if not self.cr1 & self.enable_bit or not self.cr1 & TE:
            return
        self.clear_complete()
        if self._shift_end is None:
            self._shift(value & 0xFF, ticks)
        elif len(self.waiting) < self.capacity:
            self.waiting.append(value & 0xFF)
            if len(self.waiting) == self.capacity:
                self.flags &= ~TXE
        else:
            self.waiting[-1] = value & 0xFF  # overwritten

    def clear_complete(self) -> None:
        """Clear TC when a byte is written."""
        self.flags &= ~TC

    def _request_bytes(self, ticks: int) -> None:
        while self.flags & TXE and (value := self.send_line.fetch()) is not None:
            self.put(value, ticks)

    def _serve_sender(self, now: int) -> None:
        if self.cr3 & DMAT and self.cr1 & self.enable_bit and self.cr1 & TE:
            self._request_bytes(now * TICKS_PER_CYCLE)
            self._ports.changed()

    # Receiving

    def _take(self, arrival_ps: int, byte_ps: int, value: int, errors: int) -> None:
        own_ps = self.byte_ps()
        hears = self._ports.listens_at_tx if self.cr3 & HDSEL else self._ports.receives
        if own_ps is None or not self.cr1 & RE or not hears() or arrival_ps - byte_ps < self._listens_since_ps:
            return
        self.idle_at_ps = arrival_ps + own_ps
        if errors & ORE or not self._has_room():
            self._overrun(value)
            return
        if self._is_misread(byte_ps, own_ps):
            value, errors = misread(value), FE
        self._accept(value, errors)

    def _has_room(self) -> bool:
        return len(self.received) < (self.fifo_bytes + 1 if self.has_fifo else 1)

    def _overrun(self, value: int) -> None:
        del value
        self.flags |= ORE

    def _accept(self, value: int, errors: int) -> None:
        """Pass a byte to the data register or FIFO, and from there to a DMA channel."""
        self.received.append(value)
        self.flags |= RXNE | errors
        if self.cr3 & DMAR:
            self._serve_receiver(0)

    def _serve_receiver(self, _now: int) -> None:
        while self.cr3 & DMAR and self.received and self.receive_line.store(self.received[0]):
            self.take()

    def take(self) -> int:
        """Return the received byte, the last one again if there is no other, and update RXNE."""
        if self.received:
            self._last_value = self.received.popleft()
        if not self.received:
            self.flags &= ~RXNE
        return self._last_value

    def read_data(self) -> int:
        """Return what a read of the data register returns."""
        value = self.take()
        self._ports.changed()
        return value

    def _is_misread(self, sender_ps: int, own_ps: int) -> bool:
        percent = TOLERANCE_PERCENT_OVER8 if self.cr1 & OVER8 else TOLERANCE_PERCENT
        return is_misread(sender_ps, own_ps, percent)

    def _look_for_idle(self, now_ps: int) -> None:
        """Set IDLE when the line has been idle for a frame."""
        idle_ps = self.idle_ps
        if idle_ps is not None and idle_ps <= now_ps:
            self.idle_at_ps = None
            self.flags |= IDLE

    # The registers

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        self.set_register(offset, value, now)
        self._ports.changed()

    @abstractmethod
    def set_register(self, offset: int, value: int, now: int) -> None:
        """Write a register."""

    def configure(self, cr1: int, now: int) -> None:
        """Set CR1. Raises NotModelledError for unmodelled bits and for a BRR out of range."""
        over8 = 0 if self._is_low_power else self.over8_bit
        if cr1 & ~(CR1_MODELLED | self.enable_bit | over8 | self.fifo_bits()):
            raise NotModelledError(f"bits of {self.name} CR1 = 0x{cr1:x} are not modelled")
        if self.cr1 & cr1 & self.enable_bit and (cr1 ^ self.cr1) & OVER8:
            raise NotModelledError(f"{self.name} CR1 OVER8 is changed while UE is set")
        if cr1 & self.enable_bit:
            self._check_divider(is_over8=bool(cr1 & OVER8))
        receives = self.enable_bit | RE
        is_new = cr1 & receives == receives and self.cr1 & receives != receives
        self.cr1 = cr1
        self.clock_changed()
        if is_new:  # an idle frame sets IDLE also before the first byte
            self._listens_since_ps = self._ports.clock.ps(now)
            self.idle_at_ps = self._ports.clock.ps(now) + self._times()[1]
        elif cr1 & receives != receives:
            self.idle_at_ps = None
        self._serve_sender(now)

    def fifo_bits(self) -> int:
        """Return the bits of CR1 that belong to the FIFOs."""
        return 0

    def _check_divider(self, *, is_over8: bool) -> None:
        smallest = _SMALLEST_LOW_POWER_BRR if self._is_low_power else _SMALLEST_BRR
        if is_over8 and (self.brr & 8 or _clocks_over8(self.brr) < _SMALLEST_CLOCKS_OVER8):
            raise NotModelledError(f"{self.name} is enabled with OVER8 and a divider (BRR) of 0x{self.brr:x}")
        if not is_over8 and self.brr < smallest:
            raise NotModelledError(f"{self.name} is enabled with a divider (BRR) of {self.brr}, less than {smallest}")

    def set_divider(self, value: int) -> None:
        """Set BRR."""
        self.brr = value
        self.clock_changed()

    def set_cr3(self, value: int, now: int) -> None:
        """Set CR3. Raises NotModelledError for unmodelled bits."""
        if value & ~self.cr3_modelled:
            raise NotModelledError(f"bits of {self.name} CR3 = 0x{value:x} are not modelled")
        self.cr3 = value
        self._serve_receiver(now)
        self._serve_sender(now)


def _clocks_over8(brr: int) -> int:
    """Return the clocks of a bit with OVER8: BRR[2:0] are eighths of 8 clocks (RM0444 and RM0368, USART_BRR)."""
    return 8 * (brr >> 4) + (brr & 7)


def is_misread(sender_ps: int, receiver_ps: int, percent: float = TOLERANCE_PERCENT) -> bool:
    """Return whether sender and receiver differ by more than `percent`."""
    return abs(sender_ps - receiver_ps) * 100 > percent * receiver_ps


def misread(value: int) -> int:
    """Return the value received at a wrong baud rate: another one, deterministic."""
    return (value ^ value << 1) & 0xFF ^ 0x80
