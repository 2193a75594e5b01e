"""Simulated time of virtual boards in another process (`tinysplit virtual`), shared with it by a small file.

The boards run only while the client waits, and not before all that it has sent has arrived. So its measurements are
those of virtual boards in its own process, however slow the two processes are.
"""

import time
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import closing, contextmanager
from math import inf
from mmap import mmap
from pathlib import Path
from typing import Self

from serial import SerialBase, SerialException

from tinysplit.common.errors import ToolError
from tinysplit.common.folder_lock import locked_boards
from tinysplit_hil.wire.tasks import POLL_S

STALL_S = 60.0  # real seconds within which the boards have to run on for one wait of the host
_POWER_UP_S = -1.0  # as a limit: power up the boards at time 0
_NOT_USED = -1  # as the bytes that the client has sent
_MAGIC = b"sim-time"  # the first word of the file: only such a file is written to
_WORD_BYTES = 8
_TIME, _LIMIT, _COUNTS = 1, 2, 3  # its other words: doubles, from _COUNTS two for each port


class SharedTime:
    """Time and limit in seconds, and the bytes that have passed each port in both directions since power-up."""

    def __init__(self, path: Path) -> None:
        """Map the file. Raises OSError or ValueError where there is none."""
        with path.open("r+b") as file:
            self._map = mmap(file.fileno(), 0)
        n_words, rest = divmod(len(self._map), _WORD_BYTES)
        if self._map[:_WORD_BYTES] != _MAGIC or rest or n_words < _COUNTS:
            self._map.close()
            raise ValueError("no file of simulated time")
        self.port_count = (n_words - _COUNTS) // 2
        self._words = memoryview(self._map).cast("d")

    @classmethod
    def create(cls, path: Path, port_count: int) -> Self:
        """Make the file: time 0, no limit."""
        path.write_bytes(_MAGIC.ljust(_WORD_BYTES * (_COUNTS + 2 * port_count), b"\0"))
        shared = cls(path)
        shared.limit_s = inf
        return shared

    @property
    def time_s(self) -> float:
        """Seconds since the boards were powered up; the server sets them."""
        return float(self._words[_TIME])

    @time_s.setter
    def time_s(self, time_s: float) -> None:
        self._words[_TIME] = time_s

    @property
    def limit_s(self) -> float:
        """The time up to which the boards may run; infinity while no client limits it.

        The client sets it; once the boards have stopped, at this time or when bytes for the client arrived, the server
        sets it to their time.
        """
        return float(self._words[_LIMIT])

    @limit_s.setter
    def limit_s(self, limit_s: float) -> None:
        self._words[_LIMIT] = limit_s

    @property
    def is_limited(self) -> bool:
        """Whether a client limits the time."""
        return self.limit_s < inf

    @property
    def is_power_up_requested(self) -> bool:
        """Whether a client waits for the boards to be powered up."""
        return self.limit_s < 0

    def request_power_up(self, used: Container[int]) -> None:
        """Let the server power up all boards at time 0, which is the limit, too, for a client of the `used` ports."""
        for index in range(self.port_count):
            self.note_written(index, 0 if index in used else _NOT_USED)
        self.limit_s = _POWER_UP_S

    def is_used(self, index: int) -> bool:
        """Whether the client that limits the time has this port."""
        return self.written(index) != _NOT_USED

    def delivered(self, index: int) -> int:
        """Return how many bytes the server has passed on to the client of a port."""
        return int(self._words[_COUNTS + 2 * index])

    def note_delivered(self, index: int, count: int) -> None:
        """Note the number of bytes that `delivered` returns."""
        self._words[_COUNTS + 2 * index] = count

    def written(self, index: int) -> int:
        """Return how many bytes the client of a port has sent."""
        return int(self._words[_COUNTS + 2 * index + 1])

    def note_written(self, index: int, count: int) -> None:
        """Note the number of bytes that `written` returns."""
        self._words[_COUNTS + 2 * index + 1] = count

    def close(self) -> None:
        """Unmap the file."""
        self._words.release()
        self._map.close()


class SharedPort:
    """A port of the client, which counts its bytes. It never waits for bytes of the boards: `timeout` is ignored."""

    def __init__(self, port: SerialBase, shared: SharedTime, index: int) -> None:
        """`port` is open on board `index`."""
        port.timeout = STALL_S  # for bytes that the server has sent already
        self.timeout: float | None = 0
        self.baudrate: int = port.baudrate
        self.name: str | None = port.name
        self._port = port
        self._shared = shared
        self._index = index
        self._read = 0
        self._written = 0

    @property
    def in_waiting(self) -> int:
        """Number of bytes that have arrived."""
        return self._shared.delivered(self._index) - self._read

    def read(self, size: int = 1, /) -> bytes:
        """Return up to `size` bytes that have arrived. Raises SerialException when the port fails."""
        size = min(size, self.in_waiting)
        data = bytes(self._port.read(size)) if size else b""
        if len(data) < size:
            raise SerialException("bytes of the boards are missing")
        self._read += size
        return data

    def write(self, data: bytes, /) -> int:
        """Send `data`."""
        self._port.write(data)
        self._written += len(data)
        self._shared.note_written(self._index, self._written)
        return len(data)


class SimulatedClock:
    """The host's clock: simulated time, which passes only while the host waits."""

    def __init__(self, shared: SharedTime) -> None:
        self._shared = shared

    def now_s(self) -> float:
        """Return the time in seconds."""
        return self._shared.time_s

    def wait(self, timeout_s: float) -> None:
        """Let the boards run until bytes have arrived, at the latest for `timeout_s`.

        Raises ToolError when they do not within STALL_S of real time.
        """
        self._shared.limit_s = self._shared.time_s + timeout_s
        _wait_until(lambda: self._shared.time_s >= self._shared.limit_s)


def _wait_until(is_met: Callable[[], bool]) -> None:
    end_s = time.monotonic() + STALL_S
    while not is_met():
        if time.monotonic() > end_s:
            raise ToolError(f"the virtual boards have stood still for {STALL_S:g} s: start `tinysplit virtual` again")
        time.sleep(POLL_S)


@contextmanager
def share_time(path: Path, ports: Mapping[int, SerialBase]) -> Iterator[tuple[SimulatedClock, dict[int, SharedPort]]]:
    """Power up the boards whose file is `path`, and yield their clock and ports; they are free again at the end.

    Ports are by the index of the server's board; `ports` are open. Raises ToolError when the boards do not run, another
    process shares their time, or `path` is not their file, which then stays as it is.
    """
    try:
        shared = SharedTime(path)
    except (OSError, ValueError):
        raise ToolError(f"the virtual boards of {path} do not run any more: start `tinysplit virtual` again") from None
    if max(ports) >= shared.port_count:
        shared.close()
        raise ToolError(f"{path} is the time of other virtual boards: start `tinysplit virtual` again")
    with closing(shared), locked_boards(path):
        try:
            shared.request_power_up(ports)
            _wait_until(lambda: shared.limit_s == 0)
            for port in ports.values():
                port.reset_input_buffer()
            yield SimulatedClock(shared), {index: SharedPort(port, shared, index) for index, port in ports.items()}
        finally:
            shared.limit_s = inf
