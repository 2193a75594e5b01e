"""Measures the clocks of boards against that of the host."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinysplit_hil.measure.wiring_client import Stamp, WiringClient

READS = 16  # of a clock: the one with the least round trip counts
STEP_S, LONGEST_S = 10.0, 60.0
WANTED_PPM = 100.0
MILLION = 1e6


@dataclass(frozen=True)
class ClockError:
    """By how much a board's clock is faster than the host's; the true value is within `uncertainty_ppm`."""

    ppm: float
    uncertainty_ppm: float

    @classmethod
    def between(cls, first: Stamp, last: Stamp) -> "ClockError":
        """Return the error of a clock from two readings."""
        host_s = last.host_s - first.host_s
        ppm = ((last.board_s - first.board_s) / host_s - 1) * MILLION
        return cls(ppm, (first.width_s + last.width_s) / 2 / host_s * MILLION)


def measure_clocks(client: WiringClient) -> Mapping[int, ClockError]:
    """Return the clock error of each board of a wiring test, as `clock_errors`."""
    return clock_errors(client.read_clocks, client.pause)


def clock_errors(read: Callable[[], Mapping[int, Stamp]], pause: Callable[[float], None]) -> Mapping[int, ClockError]:
    """Return the clock error of each board, by number, from what `read` returns of their clocks.

    Takes STEP_S, or more where that does not suffice for WANTED_PPM, at most LONGEST_S. A board whose clock could not
    be read is missing. Raises ToolError when a board fails.
    """
    first = _best(read)
    elapsed_s = 0.0
    while True:
        pause(STEP_S)
        elapsed_s += STEP_S
        last = _best(read)
        errors = {number: ClockError.between(first[number], last[number]) for number in sorted(first.keys() & last)}
        if elapsed_s >= LONGEST_S or all(each.uncertainty_ppm <= WANTED_PPM for each in errors.values()):
            return errors


def _best(read: Callable[[], Mapping[int, Stamp]]) -> Mapping[int, Stamp]:
    """Return the best of some readings of each clock."""
    best: dict[int, Stamp] = {}
    for _ in range(READS):
        for number, stamp in read().items():
            if number not in best or stamp.width_s < best[number].width_s:
                best[number] = stamp
    return best
