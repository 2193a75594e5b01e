"""Parts of a device: memories and pins."""

from dataclasses import dataclass


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
    alternate_function: int

    @property
    def port(self) -> str:
        """Letter of the port."""
        return self.name[1]

    @property
    def number(self) -> int:
        """Number within the port."""
        return int(self.name[2:])
