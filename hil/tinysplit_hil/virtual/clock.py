"""Time of a board: cycles of a clock that changes its frequency, against picoseconds since power-up of the rig."""

from dataclasses import dataclass

PS_PER_S = 10**12
TICKS_PER_CYCLE = 256  # what a low-power UART divides a cycle into


@dataclass
class Clock:
    """Converts exactly: every time is computed anew from the last change of the frequency, so that nothing drifts."""

    hz: int
    _cycle: int = 0
    _ps: int = 0

    def change(self, hz: int, now: int) -> None:
        """Run at `hz` from cycle `now` on."""
        self._ps = self.ps(now)
        self._cycle = now
        self.hz = hz

    def ps(self, cycle: int) -> int:
        """Return when `cycle` begins, in picoseconds, rounded down."""
        return self._ps + (cycle - self._cycle) * PS_PER_S // self.hz

    def ps_of_ticks(self, ticks: int) -> int:
        """Return when `ticks` / 256 cycles have passed, in picoseconds, rounded down."""
        return self._ps + (ticks - self._cycle * TICKS_PER_CYCLE) * PS_PER_S // (self.hz * TICKS_PER_CYCLE)

    def cycle(self, ps: int) -> int:
        """Return the first cycle that begins at `ps` or later."""
        return self._cycle - (self._ps - ps) * self.hz // PS_PER_S
