"""Faults on the lines between boards, and between boards and the host: deterministic by seed."""

import math
import random
from dataclasses import dataclass

from virtual_stm32.clock import PS_PER_S
from virtual_stm32.peripherals.usart import BITS_PER_BYTE, FE, ORE

_STOP_BIT = BITS_PER_BYTE - 1
_BYTE_VALUES = 256


@dataclass(frozen=True)
class LineFaults:
    """What happens to the bytes of one direction of a wire. Rates are probabilities, from 0 to 1.

    A bit error in the start bit loses the byte, one in the stop bit is a framing error. In a burst all bytes become
    random ones. A cut wire stays at the idle level.
    """

    seed: int = 0
    bit_error_rate: float = 0.0  # a bit, of the ten of a byte
    loss_rate: float = 0.0  # a byte
    doubling_rate: float = 0.0  # a byte
    insertion_rate: float = 0.0  # of a random byte, after a byte
    framing_error_rate: float = 0.0  # a byte
    overrun_rate: float = 0.0  # a byte: the receiver loses it and sets ORE
    burst_rate: float = 0.0  # of beginning at a byte
    burst_bytes: int = 16
    highest_baud: float = math.inf  # of the wire: bytes at a higher one become random ones
    cuts_ps: tuple[tuple[int, int], ...] = ()  # begin and end of each in picoseconds; a byte that overlaps one is lost
    lost_bytes: frozenset[int] = frozenset()  # by their positions on this line, from 0
    flipped_bits: frozenset[tuple[int, int]] = frozenset()  # (position of the byte, data bit from 0)


@dataclass(frozen=True)
class LineByte:
    """A byte as it arrives: its time, duration, value, and errors (FE or ORE)."""

    arrival_ps: int
    byte_ps: int
    value: int
    errors: int = 0


class _Events:
    """Positions of independent events with a probability each, found by their distances."""

    def __init__(self, seed: str, probability: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._probability = probability
        self._left = self._distance()

    def _distance(self) -> float:
        if self._probability <= 0:
            return math.inf
        if self._probability >= 1:
            return 0
        return math.floor(math.log(1 - self._random.random()) / math.log1p(-self._probability))

    def among(self, count: int) -> list[int]:
        """Return which of the next `count` positions have an event."""
        found = []
        base = 0
        while self._left < count - base:
            base += int(self._left) + 1
            found.append(base - 1)
            self._left = self._distance()
        self._left -= count - base
        return found

    def next(self) -> bool:
        """Return whether the next position has an event."""
        return bool(self.among(1))


class FaultyLine:
    """The state of one direction of a wire with faults; `line` distinguishes the random numbers of lines."""

    def __init__(self, faults: LineFaults, line: str) -> None:
        self._faults = faults
        seed = f"{faults.seed}/{line}"
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._bit_errors = _Events(f"{seed}/bits", faults.bit_error_rate)
        self._losses = _Events(f"{seed}/losses", faults.loss_rate)
        self._doublings = _Events(f"{seed}/doublings", faults.doubling_rate)
        self._insertions = _Events(f"{seed}/insertions", faults.insertion_rate)
        self._framing_errors = _Events(f"{seed}/framing", faults.framing_error_rate)
        self._overruns = _Events(f"{seed}/overruns", faults.overrun_rate)
        self._bursts = _Events(f"{seed}/bursts", faults.burst_rate)
        self._burst_left = 0
        self._position = -1

    def arriving(self, byte: LineByte) -> list[LineByte]:
        """Return the bytes that arrive in place of `byte`, in the order of their times."""
        self._position += 1
        damaged = self._damaged(byte)
        is_lost = self._losses.next() or self._position in self._faults.lost_bytes or self._is_cut(byte)
        arrived = [] if damaged is None or is_lost else [damaged]
        later_ps = byte.arrival_ps + byte.byte_ps // 2  # between this byte and the next, which it overlaps
        if self._doublings.next() and arrived:
            arrived.append(LineByte(later_ps, byte.byte_ps, arrived[0].value, arrived[0].errors))
        if self._insertions.next():
            arrived.append(LineByte(later_ps, byte.byte_ps, self._random.randrange(_BYTE_VALUES)))
        return arrived

    def _is_cut(self, byte: LineByte) -> bool:
        begin_ps = byte.arrival_ps - byte.byte_ps
        return any(begin_ps < end and byte.arrival_ps > begin for begin, end in self._faults.cuts_ps)

    def _damaged(self, byte: LineByte) -> LineByte | None:
        """Return the byte with its bit errors, or None when its start bit is not recognised."""
        value, errors = byte.value, byte.errors
        for bit in self._bit_errors.among(BITS_PER_BYTE):
            if bit == 0:
                return None
            if bit == _STOP_BIT:
                errors |= FE
            else:
                value ^= 1 << bit - 1
        for position, bit in self._faults.flipped_bits:
            if position == self._position:
                value ^= 1 << bit
        if self._framing_errors.next():
            errors |= FE
        if self._overruns.next():
            errors |= ORE
        if self._bursts.next():
            self._burst_left = self._faults.burst_bytes
        is_too_fast = byte.byte_ps * self._faults.highest_baud < BITS_PER_BYTE * PS_PER_S
        if self._burst_left or is_too_fast:
            self._burst_left = max(0, self._burst_left - 1)
            value = self._random.randrange(_BYTE_VALUES)
            errors = errors | self._random.choice((0, FE))
        return LineByte(byte.arrival_ps, byte.byte_ps, value, errors)
