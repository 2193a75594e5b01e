"""A GPIO port, as far as it connects the pins of UARTs."""

from tinysplit_hil.virtual.peripherals.base import Registers

_MODER, _AFRL, _IDR = 0x00, 0x20, 0x10
_OFFSETS = (_MODER, 0x04, 0x08, 0x0C, _IDR, 0x14, _AFRL, 0x24)
_BSRR, _BRR = 0x18, 0x28
_ALTERNATE = 2
_PINS_PER_AFR = 8


class Gpio(Registers):
    """MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR and AFR store written values; inputs read as 0."""

    def __init__(self, name: str) -> None:
        super().__init__(name, dict.fromkeys(_OFFSETS, 0))
        self.is_powered = True  # False while a separate supply is off

    def carries(self, number: int, alternate_function: int) -> bool:
        """Return whether a pin has this alternate function."""
        afr = _AFRL + 4 * (number // _PINS_PER_AFR)
        is_alternate = self.field(_MODER, 2 * number, 2) == _ALTERNATE
        return self.is_powered and is_alternate and self.field(afr, 4 * (number % 8), 4) == alternate_function
