"""Time of a board: conversion between core cycles and picoseconds since power-up of the rig."""

from dataclasses import dataclass

PS_PER_S = 10**12
TICKS_PER_CYCLE = 256  # resolution of a low-power UART


@dataclass
class Clock:
    """Exact conversion without drift: relative to the last change of the frequency `hz`."""

    hz: int
    _cycle: int = 0
    _ps: int = 0

    def change(self, hz: int, now: int) -> None:
        """Change the frequency to `hz` at cycle `now`."""
        self._ps = self.ps(now)
        self._cycle = now
        self.hz = hz

    def ps(self, cycle: int) -> int:
        """Return the time in picoseconds at which `cycle` begins, rounded down."""
        return self._ps + (cycle - self._cycle) * PS_PER_S // self.hz

    def ps_of_ticks(self, ticks: int) -> int:
        """Return the time in picoseconds of cycle `ticks` / 256, rounded down."""
        return self._ps + (ticks - self._cycle * TICKS_PER_CYCLE) * PS_PER_S // (self.hz * TICKS_PER_CYCLE)

    def cycle(self, ps: int) -> int:
        """Return the first cycle that begins at `ps` picoseconds or later."""
        return self._cycle - (self._ps - ps) * self.hz // PS_PER_S
