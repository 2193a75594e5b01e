"""Parts of a device: memories and pins."""

from dataclasses import dataclass
from typing import Self

REMAP_INPUT = 1 << 3  # of the function of a pin of the STM32F1


@dataclass(frozen=True)
class Memory:
    """A contiguous memory of a device."""

    name: str  # "flash", "sram", "dtcm", ...
    start: int
    size_bytes: int

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.start + self.size_bytes


@dataclass(frozen=True)
class Pin:
    """A GPIO pin in an alternate function."""

    name: str  # "PA2"
    alternate_function: int  # of the STM32F1: `remapped`
    is_remapped: bool = False  # whether all pins of a peripheral have to have the same function (F1)

    @classmethod
    def remapped(cls, name: str, position: int, value: int, *, is_input: bool) -> Self:
        """Return a pin of the STM32F1, whose function is a `value` of the field at `position` of AFIO_MAPR.

        All pins of a peripheral move together, and inputs have another mode than outputs.
        """
        return cls(name, position << 4 | (REMAP_INPUT if is_input else 0) | value, is_remapped=True)

    def suits(self, other: Self) -> bool:
        """Return whether one peripheral can have both pins at once."""
        return not self.is_remapped or (self.alternate_function ^ other.alternate_function) & ~REMAP_INPUT == 0

    @property
    def port(self) -> str:
        """Letter of the port."""
        return self.name[1]

    @property
    def number(self) -> int:
        """Number within the port."""
        return int(self.name[2:])
