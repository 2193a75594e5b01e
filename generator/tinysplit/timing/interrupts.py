"""The core of a board: layers and copies have what the drivers of its links leave while frames are on the lines."""

from simpy import Environment

from tinysplit.timing.gate import Process
from tinysplit.timing.results import BoardTimes

MOST_SHARE = 0.9  # of the core that lines without pauses take


class Core:
    """Works at the pace that interrupts leave, if there are any, and counts in `times` the seconds that they take."""

    def __init__(self, env: Environment, times: BoardTimes, *, is_interrupted: bool) -> None:
        self._env, self._times, self._is_interrupted = env, times, is_interrupted
        self._share = self._asleep_share = 0.0  # of the core, for the frames on its lines
        self._is_working = False
        self._changed = env.event()
        self._counted_s = 0.0  # until when interrupts of the sleeping core are counted

    def carry(self, share: float, asleep_share: float) -> None:
        """Take this share of the core from now on, that one while it sleeps; negative where a frame has ended."""
        self._count_asleep()
        self._share, self._asleep_share = self._share + share, self._asleep_share + asleep_share
        if self._is_working:
            self._changed.succeed()
            self._changed = self._env.event()

    def work(self, seconds: float) -> Process:
        """Work for so many seconds of the core."""
        if not self._is_interrupted:
            yield self._env.timeout(seconds)
            return
        self._count_asleep()
        self._is_working, begin_s, left_s = True, self._env.now, seconds
        while left_s > 0:
            since_s, rate = self._env.now, 1 - min(MOST_SHARE, self._share)
            done = self._env.timeout(left_s / rate)
            yield done | self._changed
            left_s = 0.0 if done.processed else left_s - (self._env.now - since_s) * rate
        self._is_working, self._counted_s = False, self._env.now
        self._times.moving_s += self._env.now - begin_s - seconds

    def _count_asleep(self) -> None:
        if not self._is_working:
            self._times.moving_s += min(MOST_SHARE, self._asleep_share) * (self._env.now - self._counted_s)
            self._counted_s = self._env.now
