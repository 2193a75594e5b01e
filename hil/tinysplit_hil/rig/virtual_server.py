"""Virtual boards behind ports of the operating system: how bytes pass, and how simulated time follows real time."""

import select
import time
from collections.abc import Callable, Sequence
from math import inf

from tinysplit_hil.wire.frames import FrameDecoder
from tinysplit_hil.wire.protocol import HOST_PAYLOAD_BYTES
from tinysplit_hil.wire.simulated_time import SharedTime
from virtual_stm32.clock import PS_PER_S
from virtual_stm32.debug.probe import ProbeServer
from virtual_stm32.os_ports import OsPort
from virtual_stm32.rig import VirtualRig

HOLD_S = 5.0  # of real time, within which a client sends the rest of a frame
_MS = PS_PER_S // 1000
_STEP_PS = _MS  # of boards that run as fast as they can, between two looks at the ports
_LONGEST_STEP_PS = 10 * _MS  # of boards that follow real time
_START_PS = 100 * _MS  # after which boards listen to their host
_QUIET_PS = PS_PER_S  # after which boards without any client stand still
_BACKLOG_PS = 20 * _MS  # of bytes from the client on the line
_UNREAD_BYTES = 65536  # for a client that does not read; the rest is lost, as in a real port
_NO_WAIT_MS, _WAIT_MS, _QUIET_WAIT_MS = 0, 1, 20  # for bytes from clients


class _Line:
    """The host port of one board and its client."""

    def __init__(self, rig: VirtualRig, index: int, port: OsPort) -> None:
        self.client_fd: int | None = None
        self._rig = rig
        self.index = index
        self._port = port
        self._unread = bytearray()
        self.begin()

    def begin(self) -> None:
        """Forget what has passed: a client has come or gone, or the boards are powered up."""
        self.taken = self.delivered = 0  # bytes from and to the client
        self._unread.clear()
        self._decoder = FrameDecoder(HOST_PAYLOAD_BYTES)
        self._hold_until_s = 0.0

    def look_for_client(self) -> bool:
        """Return whether a client has gone."""
        had_client = self.client_fd is not None
        self.client_fd = self._port.look_for_client()
        has_gone = had_client and self.client_fd is None
        if has_gone:
            self.begin()
        return has_gone

    def take(self, now_s: float, room_ps: float) -> None:
        """Put what the client has sent on the line, while its bytes there take less than `room_ps`.

        Bytes of a client that is not noticed yet stay in the port, or the answer to them would be lost.
        """
        is_listening = self.client_fd is not None
        while is_listening and self._free_ps - self._rig.time_ps < room_ps and (data := self._port.read()):
            self.taken += len(data)
            self._rig.write(self.index, data)
            was_inside = self._decoder.is_inside_frame
            frames = list(self._decoder.feed(data))
            if frames or not was_inside:
                self._hold_until_s = now_s + HOLD_S
        if now_s >= self._hold_until_s and self._decoder.is_inside_frame:
            self._decoder = FrameDecoder(HOST_PAYLOAD_BYTES)

    @property
    def _free_ps(self) -> int:
        return self._rig.host_port(self.index).line_free_ps

    @property
    def limit_ps(self) -> float:
        """The time that the boards must not pass: inside a frame of the client, the end of its last byte."""
        return max(self._free_ps, self._rig.time_ps) if self._decoder.is_inside_frame else inf

    def deliver(self) -> None:
        """Pass on what the board has sent; without a client it is lost."""
        received = self._rig.host_port(self.index).received
        self._unread += received
        received.clear()
        if self.client_fd is None:
            self._unread.clear()
        elif self._unread:
            count = self._port.write(bytes(self._unread))
            self.delivered += count
            del self._unread[:count]
            del self._unread[_UNREAD_BYTES:]


class Server:
    """Serves the boards of a rig, one port each.

    Simulated time passes as fast as the boards are emulated while they work, but never faster than real time while they
    are idle, or at all if `is_real_time`; it never catches up. Inside a frame of a client it stands still, at most for
    HOLD_S, so that the boards do not give up a frame that a slow client has not sent completely. A client that shares
    the time (`simulated_time.py`) says itself how far it passes.
    """

    def __init__(
        self,
        rig: VirtualRig,
        ports: Sequence[OsPort],
        shared: SharedTime,
        *,
        is_real_time: bool,
        probes: Sequence[ProbeServer] = (),
    ) -> None:
        """Let the boards start, and be ready to serve them. `ports` are in board order. Raises BoardStoppedError.

        What they say meanwhile is lost, as nobody can have opened a port.
        """
        self._rig = rig
        self._rig.run_until(_START_PS)
        for index in range(len(ports)):
            self._rig.host_port(index).received.clear()
        self._probes = probes
        self._lines = [_Line(rig, index, port) for index, port in enumerate(ports)]
        self._shared = shared
        self._is_real_time = is_real_time
        self._quiet_ps = _QUIET_PS
        self._last_s = time.monotonic()
        self._wait_ms = _NO_WAIT_MS

    def serve(self, is_stopped: Callable[[], bool]) -> None:
        """Serve until `is_stopped`, which is asked some dozen times a second. Raises BoardStoppedError."""
        while not is_stopped():
            self._wait()
            now_s = time.monotonic()
            elapsed_ps = min(round((now_s - self._last_s) * PS_PER_S), _LONGEST_STEP_PS)
            self._last_s = now_s
            self._look_for_clients()
            for line in self._lines:
                line.take(now_s, inf if self._shared.is_limited else _BACKLOG_PS)
            for probe in self._probes:
                probe.serve(passes_time=not self._shared.is_limited)
            if self._shared.is_limited:
                self._run_limited(elapsed_ps)
            else:
                self._run_freely(elapsed_ps)

    def _wait(self) -> None:
        """Wait for bytes of a client, or until time has passed."""
        poll = select.poll()
        for descriptor in self._client_fds():
            poll.register(descriptor, select.POLLIN)
        poll.poll(self._wait_ms)

    def _client_fds(self) -> list[int]:
        descriptors = (*(line.client_fd for line in self._lines), *(probe.client_fd for probe in self._probes))
        return [descriptor for descriptor in descriptors if descriptor is not None]

    def _look_for_clients(self) -> None:
        have_gone = [line for line in self._lines if line.look_for_client()]
        used = self._used_lines()
        if any(line in have_gone for line in used):
            self._shared.limit_s = inf
        if self._shared.is_power_up_requested and all(line.client_fd is not None for line in used):
            self._power_up()

    def _used_lines(self) -> list[_Line]:
        """Return the lines of the client that shares the time."""
        return [line for index, line in enumerate(self._lines) if self._shared.is_used(index)]

    def _power_up(self) -> None:
        self._rig.reset()
        for index, line in enumerate(self._lines):
            line.begin()
            self._shared.note_delivered(index, 0)
        self._shared.time_s = self._shared.limit_s = 0.0

    def _run_freely(self, elapsed_ps: int) -> None:
        """Run the boards for a step, if they may run, and choose how long to wait afterwards."""
        now_ps = self._rig.time_ps
        if self._client_fds():
            self._quiet_ps = now_ps + _QUIET_PS
        elif now_ps >= self._quiet_ps:
            self._wait_ms = _QUIET_WAIT_MS
            return
        is_paced = self._is_real_time or self._rig.is_idle
        step_ps = elapsed_ps if is_paced else _STEP_PS
        limit_ps = int(min(now_ps + step_ps, *(line.limit_ps for line in self._lines)))
        self._wait_ms = _WAIT_MS if is_paced or limit_ps <= now_ps else _NO_WAIT_MS
        if limit_ps > now_ps:
            self._rig.run_until(limit_ps)
        self._deliver()
        self._shared.time_s = self._rig.time_s

    def _run_limited(self, elapsed_ps: int) -> None:
        """Run the boards until bytes for the client arrive, at most as far as it lets them."""
        limit_ps = round(self._shared.limit_s * PS_PER_S)
        has_all = all(line.taken == self._shared.written(line.index) for line in self._used_lines())
        self._wait_ms = _NO_WAIT_MS if has_all and limit_ps > self._rig.time_ps else _WAIT_MS
        if self._wait_ms:
            return
        step_ps = elapsed_ps if self._is_real_time else PS_PER_S
        end_ps = min(limit_ps, self._rig.time_ps + step_ps)
        has_bytes = self._rig.run_until(end_ps, self._has_bytes)
        self._deliver()
        if has_bytes or end_ps == limit_ps:
            self._shared.limit_s = self._rig.time_s
        self._shared.time_s = self._rig.time_s

    def _has_bytes(self) -> bool:
        return any(self._rig.host_port(line.index).received for line in self._used_lines())

    def _deliver(self) -> None:
        for index, line in enumerate(self._lines):
            line.deliver()
            self._shared.note_delivered(index, line.delivered)
