"""The pins of JTAG (IEEE 1149.1): the state machine, and the chain of test access ports between TDI and TDO."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class TapState(StrEnum):
    """States of the TAP controllers, which all follow TMS together."""

    RESET = "Test-Logic-Reset"
    IDLE = "Run-Test/Idle"
    SELECT_DR = "Select-DR-Scan"
    CAPTURE_DR = "Capture-DR"
    SHIFT_DR = "Shift-DR"
    EXIT1_DR = "Exit1-DR"
    PAUSE_DR = "Pause-DR"
    EXIT2_DR = "Exit2-DR"
    UPDATE_DR = "Update-DR"
    SELECT_IR = "Select-IR-Scan"
    CAPTURE_IR = "Capture-IR"
    SHIFT_IR = "Shift-IR"
    EXIT1_IR = "Exit1-IR"
    PAUSE_IR = "Pause-IR"
    EXIT2_IR = "Exit2-IR"
    UPDATE_IR = "Update-IR"


# The next state with TMS 0 and 1.
_NEXT = {
    TapState.RESET: (TapState.IDLE, TapState.RESET),
    TapState.IDLE: (TapState.IDLE, TapState.SELECT_DR),
    TapState.SELECT_DR: (TapState.CAPTURE_DR, TapState.SELECT_IR),
    TapState.CAPTURE_DR: (TapState.SHIFT_DR, TapState.EXIT1_DR),
    TapState.SHIFT_DR: (TapState.SHIFT_DR, TapState.EXIT1_DR),
    TapState.EXIT1_DR: (TapState.PAUSE_DR, TapState.UPDATE_DR),
    TapState.PAUSE_DR: (TapState.PAUSE_DR, TapState.EXIT2_DR),
    TapState.EXIT2_DR: (TapState.SHIFT_DR, TapState.UPDATE_DR),
    TapState.UPDATE_DR: (TapState.IDLE, TapState.SELECT_DR),
    TapState.SELECT_IR: (TapState.CAPTURE_IR, TapState.RESET),
    TapState.CAPTURE_IR: (TapState.SHIFT_IR, TapState.EXIT1_IR),
    TapState.SHIFT_IR: (TapState.SHIFT_IR, TapState.EXIT1_IR),
    TapState.EXIT1_IR: (TapState.PAUSE_IR, TapState.UPDATE_IR),
    TapState.PAUSE_IR: (TapState.PAUSE_IR, TapState.EXIT2_IR),
    TapState.EXIT2_IR: (TapState.SHIFT_IR, TapState.UPDATE_IR),
    TapState.UPDATE_IR: (TapState.IDLE, TapState.SELECT_DR),
}
_SHIFTING = (TapState.SHIFT_DR, TapState.SHIFT_IR)
_CAPTURED_IR = 0b01  # IEEE 1149.1: the two lowest bits


class Tap(Protocol):
    """A test access port."""

    ir_bits: int

    def reset(self) -> None:
        """Select IDCODE, as in Test-Logic-Reset."""

    def select(self, instruction: int) -> None:
        """Take the instruction register."""

    def capture(self) -> tuple[int, int]:
        """Return value and length in bits of the selected data register."""

    def update(self, value: int) -> None:
        """Take the data register."""


@dataclass
class _Register:
    """The shift register of the whole chain, its lowest bit next to TDO."""

    value: int = 0
    bits: int = 1

    def shift(self, bits: int, count: int) -> int:
        """Shift `count` bits in, the lowest first; return those that have left."""
        whole = self.value | bits << self.bits
        self.value = whole >> count
        return whole & ((1 << count) - 1)


class JtagChain:
    """All TAPs of a part, the one next to TDO first. What happens on a rising edge of TCK happens in `clock`."""

    def __init__(self, taps: Sequence[Tap]) -> None:
        self._taps = tuple(taps)
        self._register = _Register()
        self.state = TapState.RESET
        self._actions: dict[TapState, Callable[[], None]] = {
            TapState.RESET: self.reset,
            TapState.CAPTURE_DR: self._capture_data,
            TapState.CAPTURE_IR: self._capture_instructions,
            TapState.UPDATE_DR: self._update_data,
            TapState.UPDATE_IR: self._update_instructions,
        }

    def reset(self) -> None:
        """Reset all TAPs, as TRST does."""
        self.state = TapState.RESET
        for tap in self._taps:
            tap.reset()

    @property
    def is_shifting(self) -> bool:
        """Whether TDI goes to TDO."""
        return self.state in _SHIFTING

    @property
    def tdo(self) -> int:
        """The level of TDO after a falling edge of TCK; high where nothing drives it."""
        return self._register.value & 1 if self.is_shifting else 1

    def shift(self, tdi: int, count: int) -> int:
        """Clock `count` times with TMS low while shifting; return the bits of TDO, the first one lowest."""
        return self._register.shift(tdi, count)

    def clock(self, tms: int, tdi: int) -> None:
        """Process one rising edge of TCK. Capture and update take place on entry into their states."""
        if self.is_shifting:
            self._register.shift(tdi, 1)
        self.state = _NEXT[self.state][tms]
        if action := self._actions.get(self.state):
            action()

    def _capture_instructions(self) -> None:
        self._capture([(_CAPTURED_IR, tap.ir_bits) for tap in self._taps])

    def _capture_data(self) -> None:
        self._capture([tap.capture() for tap in self._taps])

    def _capture(self, parts: list[tuple[int, int]]) -> None:
        self._lengths = [bits for _, bits in parts]
        self._register = _Register(0, sum(self._lengths))
        for value, bits in reversed(parts):
            self._register.value = self._register.value << bits | value

    def _update_instructions(self) -> None:
        for tap, value in zip(self._taps, self._shifted(), strict=True):
            tap.select(value)

    def _update_data(self) -> None:
        for tap, value in zip(self._taps, self._shifted(), strict=True):
            tap.update(value)

    def _shifted(self) -> list[int]:
        """Return the register of each TAP."""
        values, rest = [], self._register.value
        for bits in self._lengths:
            values.append(rest & ((1 << bits) - 1))
            rest >>= bits
        return values
