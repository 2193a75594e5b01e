"""Time of a board: conversion between core cycles and picoseconds since power-up of the rig."""

from dataclasses import dataclass

PS_PER_S = 10**12
TICKS_PER_CYCLE = 256  # resolution of a low-power UART
FOREVER = (1 << 63) - 1

_MILLION = 10**6


@dataclass
class BoardClock:
    """Exact conversion without drift: relative to the last change of the frequency `hz`.

    Cycle 0 is at `_ps`. The board's own oscillators are off by `error_ppm`; HSE is not. No byte from other boards or
    from the host begins before `known_ps`, unless it has been announced already.
    """

    hz: int  # in true seconds
    _ps: int = 0
    error_ppm: int = 0
    _cycle: int = 0
    known_ps: int = FOREVER

    def change(self, nominal_hz: int, now: int, *, is_hse: bool = False) -> None:
        """Change the nominal frequency at cycle `now`; HSE, which is exact, makes it if `is_hse`."""
        self._ps = self.ps(now)
        self._cycle = now
        self.hz = nominal_hz if is_hse else nominal_hz * (_MILLION + self.error_ppm) // _MILLION

    def stand_still(self, cycle: int, until_ps: int) -> None:
        """Let cycle `cycle` begin at `until_ps`: the clock was off until then."""
        self._ps, self._cycle = until_ps, cycle

    def cycle_after(self, now: int, ps: int) -> int:
        """Return the cycle `ps` picoseconds after cycle `now`."""
        return self.cycle(self.ps(now) + ps)

    def ps(self, cycle: int) -> int:
        """Return the time in picoseconds at which `cycle` begins, rounded down."""
        return self._ps + (cycle - self._cycle) * PS_PER_S // self.hz

    def ps_of_ticks(self, ticks: int) -> int:
        """Return the time in picoseconds of cycle `ticks` / 256, rounded down."""
        return self._ps + (ticks - self._cycle * TICKS_PER_CYCLE) * PS_PER_S // (self.hz * TICKS_PER_CYCLE)

    def cycle(self, ps: int) -> int:
        """Return the first cycle that begins at `ps` picoseconds or later."""
        return self._cycle - (self._ps - ps) * self.hz // PS_PER_S
