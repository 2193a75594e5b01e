"""The clocks of boards in the time of the host: aligned by exchanged time stamps, before and after an inference.

Of several readings of a clock the one with the least round trip counts. The board has read it between the last bit of
the request and the first bit of the reply, so the true time is within half of what is left of the round trip. Two
readings, one before and one after, also tell how fast the board's clock is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tinysplit_hil.measure.boards import Boards
from tinysplit_hil.measure.wiring_client import Stamp
from tinysplit_hil.wire.tasks import Task

READS = 16


@dataclass(frozen=True)
class AlignedClock:
    """A board's clock, in seconds by its nominal frequency, read before and after an inference."""

    first: Stamp
    last: Stamp

    @property
    def uncertainty_s(self) -> float:
        """The largest error of `host_s` between the two readings."""
        return max(self.first.width_s, self.last.width_s) / 2

    def host_s(self, board_s: float) -> float:
        """Return the host's time at a time of the board."""
        rate = (self.last.host_s - self.first.host_s) / (self.last.board_s - self.first.board_s)
        return self.first.host_s + (board_s - self.first.board_s) * rate


def read_clocks(boards: Boards) -> Mapping[int, Stamp]:
    """Return the best of READS readings of each board's clock, by number; from then on the boards keep their clocks."""
    stamps: dict[int, Stamp] = {}

    def read(number: int) -> Task[None]:
        for _ in range(READS):
            ticks, after_s, before_s = yield from boards.clients[number].read_clock(keep=True)
            stamp = Stamp(ticks / boards.identities[number].timer_hz, after_s, before_s)
            if number not in stamps or stamp.width_s < stamps[number].width_s:
                stamps[number] = stamp

    for number in boards.clients:  # one after the other: replies of others would delay the reading
        boards.run([read(number)])
    return stamps
