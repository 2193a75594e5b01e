"""A GPIO port, as far as it connects the pins of UARTs."""

from typing_extensions import override

from tinysplit_hil.virtual.peripherals.base import Registers

_MODER, _OTYPER, _AFRL, _IDR = 0x00, 0x04, 0x20, 0x10
_OFFSETS = (_MODER, _OTYPER, 0x08, 0x0C, _IDR, 0x14, _AFRL, 0x24)
_BSRR, _BRR = 0x18, 0x28
_ALTERNATE = 2
_PINS_PER_AFR = 8


class Gpio(Registers):
    """MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR and AFR store written values; inputs read as 0."""

    def __init__(self, name: str) -> None:
        super().__init__(name, dict.fromkeys(_OFFSETS, 0))
        self.is_powered = True  # False while a separate supply is off
        self._carried: dict[tuple[int, int], bool] = {}  # results of carries()

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        super().store(offset, value, now)
        self._carried.clear()

    def carries(self, number: int, alternate_function: int) -> bool:
        """Return whether a pin has this alternate function."""
        key = number, alternate_function
        if key not in self._carried:
            self._carried[key] = self._carries(*key)
        return self.is_powered and self._carried[key]

    def is_open_drain(self, number: int) -> bool:
        """Return whether a pin is driven low only."""
        return bool(self.field(_OTYPER, number, 1))

    def _carries(self, number: int, alternate_function: int) -> bool:
        afr = _AFRL + 4 * (number // _PINS_PER_AFR)
        is_alternate = self.field(_MODER, 2 * number, 2) == _ALTERNATE
        return is_alternate and self.field(afr, 4 * (number % 8), 4) == alternate_function
