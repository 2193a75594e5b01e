"""EXTI: falling edges of the pins of receivers, and the wake-up timer of the RTC; what can end stop mode.

Of a byte that a receiver's pin gets only the start bit is an edge.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from typing_extensions import override

from tinysplit.boards.board import Interrupt
from tinysplit.boards.parts import Pin
from virtual_stm32.clock import FOREVER, BoardClock
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.rtc import Rtc

SYSCFG_EXTICR, OWN_EXTICR = 0x08, 0x60
_REGISTERS = 4


@dataclass(frozen=True)
class ExtiLayout:
    """Offsets of registers; `pending` may be of falling edges alone. `timer_line` is that of the wake-up timer.

    A direct line has no edges: its interrupt is that of the timer.
    """

    mask: int
    rising: int
    falling: int
    pending: int
    timer_line: int
    timer_is_direct: bool = False
    is_wired: bool = False  # the timer has no line, and no mask
    mask_after_reset: int = 0
    timer_interrupts: tuple[str, ...] = ("RTC_WKUP", "RTC_TAMP", "RTC")

    def reset(self, *, selects_ports: bool) -> Mapping[int, int]:
        """Return the registers after a reset, with those that select ports if EXTI has them."""
        own = range(OWN_EXTICR, OWN_EXTICR + 4 * _REGISTERS, 4) if selects_ports else ()
        offsets = (self.rising, self.falling, self.pending, *own)
        return {self.mask: self.mask_after_reset, **dict.fromkeys(offsets, 0)}


@dataclass
class PinSelection:
    """The fields that select the port of each line: `bits` wide, four in a word, of registers from `offset`."""

    registers: Registers
    offset: int = SYSCFG_EXTICR
    bits: int = 4

    def port(self, line: int) -> str:
        """Return the letter of the port of a line."""
        return "ABCDEFGHIJK"[self.registers.field(self.offset + line // 4 * 4, self.bits * (line % 4), self.bits)]


class WatchedPin(NamedTuple):
    """The pin of a receiver; `next_start` returns the time of the first start bit at a time or later, None for none."""

    pin: Pin
    next_start: Callable[[int], int | None]


class Exti(Registers):
    """Masks, edges and pending lines."""

    def __init__(self, layout: ExtiLayout, clock: BoardClock, rtc: Rtc, syscfg: Registers | None = None) -> None:
        """Take the selection of ports from SYSCFG; without, from registers of its own with fields of 8 bits."""
        super().__init__("EXTI", layout.reset(selects_ports=syscfg is None))
        self._layout, self._clock, self._rtc = layout, clock, rtc
        self._selection = PinSelection(syscfg) if syscfg else PinSelection(self, OWN_EXTICR, 8)
        self.pins: list[WatchedPin] = []
        self.changed: Callable[[], None] = lambda: None
        self._seen_ps = 0  # edges before it have been looked at
        rtc.rang = self._timer_rang

    def lines_of(self, interrupt: Interrupt) -> int | None:
        """Return the lines that an interrupt serves, None if it is another one."""
        if interrupt.name in self._layout.timer_interrupts:
            return 1 << self._layout.timer_line
        return sum(1 << line for line in interrupt.exti_lines) or None

    def has_interrupt(self, lines: int) -> bool:
        """Return the level of the interrupt of these lines."""
        timer = 1 << self._layout.timer_line
        pending = self.words[self._layout.pending]
        if self._layout.timer_is_direct and self._rtc.is_ringing:
            pending |= timer
        mask = self.words[self._layout.mask] | (timer if self._layout.is_wired else 0)
        return bool(pending & mask & lines)

    def _timer_rang(self) -> None:
        timer = 1 << self._layout.timer_line
        if not self._layout.timer_is_direct:
            self.words[self._layout.pending] |= timer & self.words[self._layout.rising]
        self.changed()

    def next_ps(self) -> int:
        """Return the time of the next edge of a line that is not masked, FOREVER for none."""
        return min((ps for _, ps in self._edges()), default=FOREVER)

    @property
    def _armed(self) -> int:
        return self.words[self._layout.mask] & self.words[self._layout.falling] & ~self.words[self._layout.pending]

    def _edges(self) -> list[tuple[int, int]]:
        """Return lines with their next edges, but for those that are pending."""
        armed = self._armed
        edges = []
        for pin, next_start in self.pins if armed else ():
            if armed >> pin.number & 1 and self._selection.port(pin.number) == pin.port:
                ps = next_start(self._seen_ps)
                edges += [(pin.number, ps)] if ps is not None else []
        return edges

    @override
    def next_event(self) -> int | None:
        ps = self.next_ps()
        return None if ps >= FOREVER else self._clock.cycle(ps)

    @override
    def advance(self, now: int) -> None:
        now_ps = self._clock.ps(now)
        for line, ps in self._edges():
            if ps <= now_ps:
                self.words[self._layout.pending] |= 1 << line
        self._seen_ps = max(self._seen_ps, now_ps)
        self.changed()

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        self._seen_ps = max(self._seen_ps, self._clock.ps(now))
        if offset == self._layout.pending:
            self.words[offset] &= ~value
        else:
            self.words[offset] = value
        self.changed()
