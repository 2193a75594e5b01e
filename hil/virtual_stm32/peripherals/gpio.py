"""A GPIO port, as far as it connects the pins of UARTs and drives outputs."""

from collections.abc import Callable

from typing_extensions import override

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

    def __init__(self, name: str) -> None:
        super().__init__(name, dict.fromkeys(_OFFSETS, 0))
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
        return 0 if offset == _BSRR else super().read(offset, now)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset != _BSRR:
            super().write(offset, value, now)
            return
        self.words[_ODR] = self.words[_ODR] & ~(value >> _PINS) | value & ((1 << _PINS) - 1)  # setting has priority
        self._tell(now)

    def watch(self, number: int, watcher: Watcher) -> None:
        """Call `watcher` at each change of the level that a pin drives; before the first it is low."""
        self._watched[number] = watcher, False

    def _tell(self, now: int) -> None:
        for number, (watcher, before) in self._watched.items():
            level = self.field(_MODER, 2 * number, 2) == _OUTPUT and bool(self.field(_ODR, number, 1))
            if level != before:
                self._watched[number] = watcher, level
                watcher(level, now)

    def carries(self, number: int, alternate_function: int) -> bool:
        """Return whether a pin has this alternate function."""
        key = number, alternate_function
        if key not in self._carried:
            self._carried[key] = self._carries(*key)
        return self.is_powered and self._carried[key]

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
