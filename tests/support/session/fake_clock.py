"""A clock for time limits that does not run: each reading is a fixed number of seconds later."""

import pytest

from tinysplit.split import clock


class FakeClock:
    """Counts work by readings: between two of them the solvers do a bounded amount."""

    def __init__(self, tick_s: float) -> None:
        self.tick_s = tick_s
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        return self.readings * self.tick_s


def fake_clock(monkeypatch: pytest.MonkeyPatch, tick_s: float) -> FakeClock:
    """Let all time limits of splits run on a new clock, which stands for the rest of the test."""
    fake = FakeClock(tick_s)
    monkeypatch.setattr(clock, "now", fake)
    return fake
