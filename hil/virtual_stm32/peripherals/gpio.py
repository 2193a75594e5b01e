"""A GPIO port, as far as it connects the pins of UARTs and drives outputs."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.parts import REMAP_INPUT
from virtual_stm32.peripherals.base import Registers

_MODER, _OTYPER, _AFRL, _IDR, _ODR = 0x00, 0x04, 0x20, 0x10, 0x14
_OFFSETS = (_MODER, _OTYPER, 0x08, 0x0C, _IDR, _ODR, _AFRL, 0x24)
_BSRR = 0x18
_OUTPUT, _ALTERNATE, _ANALOG = 1, 2, 3
_PINS = 16
_PINS_PER_AFR = 8

Watcher = Callable[[bool, int], None]  # of a pin: its level from a cycle on


class Gpio(Registers):
    """MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR and AFR store written values, BSRR changes ODR; inputs read as 0."""

    odr, bsrr = _ODR, _BSRR

    def __init__(self, name: str, offsets: Iterable[int] = _OFFSETS) -> None:
        super().__init__(name, dict.fromkeys(offsets, 0))
        self.is_powered = True  # False while a separate supply is off
        self._carried: dict[tuple[int, int], bool] = {}  # results of carries()
        self._watched: dict[int, tuple[Watcher, bool]] = {}  # pins, and their levels

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        super().store(offset, value, now)
        self._carried.clear()
        self._tell(now)

    @override
    def read(self, offset: int, now: int) -> int:
        return 0 if offset == self.bsrr else super().read(offset, now)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset != self.bsrr:
            super().write(offset, value, now)
            return
        kept = self.words[self.odr] & ~(value >> _PINS)
        self.words[self.odr] = kept | value & ((1 << _PINS) - 1)  # setting has priority
        self._tell(now)

    def watch(self, number: int, watcher: Watcher) -> None:
        """Call `watcher` at each change of the level that a pin drives; before the first it is low."""
        self._watched[number] = watcher, False

    def _tell(self, now: int) -> None:
        for number, (watcher, before) in self._watched.items():
            level = self.is_output(number) and bool(self.field(self.odr, number, 1))
            if level != before:
                self._watched[number] = watcher, level
                watcher(level, now)

    def carries(self, number: int, alternate_function: int) -> bool:
        """Return whether a pin has this alternate function."""
        key = number, alternate_function
        if key not in self._carried:
            self._carried[key] = self._carries(*key)
        return self.is_powered and self._carried[key]

    def is_output(self, number: int) -> bool:
        """Return whether the port drives a pin."""
        return self.field(_MODER, 2 * number, 2) == _OUTPUT

    def is_analog(self, number: int) -> bool:
        """Return whether a pin is in analog mode."""
        return self.field(_MODER, 2 * number, 2) == _ANALOG

    def is_open_drain(self, number: int) -> bool:
        """Return whether a pin is driven low only."""
        return bool(self.field(_OTYPER, number, 1))

    def _carries(self, number: int, alternate_function: int) -> bool:
        afr = _AFRL + 4 * (number // _PINS_PER_AFR)
        is_alternate = self.field(_MODER, 2 * number, 2) == _ALTERNATE
        return is_alternate and self.field(afr, 4 * (number % 8), 4) == alternate_function


_F1_CRL, _F1_IDR, _F1_ODR, _F1_BSRR = 0x00, 0x08, 0x0C, 0x10
_F1_FLOATING = 0x44444444  # all pins are inputs
_F1_ALTERNATE, _F1_OPEN_DRAIN, _F1_PULLED = 8, 4, 8  # bits of CNF: of an output, and of an input
_MAPR = 0x04
_REMAP_BITS = {0: 0, 2: 1, 3: 1, 4: 3}  # by position: of USART1 and 2, of USART3; UART4 has none


class GpioF1(Gpio):
    """Of the STM32F1 (RM0008): CRL and CRH have a mode of each pin, AFIO moves the pins of a peripheral together."""

    odr, bsrr = _F1_ODR, _F1_BSRR
    mode_offsets: ClassVar[tuple[int, int]] = (_F1_CRL, _F1_CRL + 4)

    def __init__(self, name: str, afio: Registers) -> None:
        super().__init__(name, (*self.mode_offsets, _F1_IDR, _F1_ODR))
        self.words.update(dict.fromkeys(self.mode_offsets, _F1_FLOATING))
        self._afio = afio

    def _mode(self, number: int) -> tuple[int, int]:
        """Return CNF as bits of its field of four, and MODE."""
        field = self.field(self.mode_offsets[number // 8], 4 * (number % 8), 4)
        return field & 12, field & 3

    @override
    def carries(self, number: int, alternate_function: int) -> bool:
        configuration, speed = self._mode(number)
        position, value = alternate_function >> 4, alternate_function & (REMAP_INPUT - 1)
        if self._afio.words[_MAPR] >> position & _REMAP_BITS[position] != value:
            return False
        if alternate_function & REMAP_INPUT:  # pulled up: a line without a sender is idle
            return not speed and configuration == _F1_PULLED and bool(self.field(_F1_ODR, number, 1))
        return bool(speed) and bool(configuration & _F1_ALTERNATE)

    @override
    def is_output(self, number: int) -> bool:
        configuration, speed = self._mode(number)
        return bool(speed) and not configuration & _F1_ALTERNATE

    @override
    def is_analog(self, number: int) -> bool:
        return self._mode(number) == (0, 0)

    @override
    def is_open_drain(self, number: int) -> bool:
        configuration, speed = self._mode(number)
        return bool(speed) and bool(configuration & _F1_OPEN_DRAIN)
