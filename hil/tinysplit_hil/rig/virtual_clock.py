"""The host's clock on a virtual rig: virtual time, which passes only while the host waits."""

from typing_extensions import override

from tinysplit_hil.wire.tasks import Clock
from virtual_stm32.clock import PS_PER_S
from virtual_stm32.rig import VirtualRig


class VirtualClock(Clock):
    """Virtual seconds since the boards were powered up."""

    def __init__(self, rig: VirtualRig) -> None:
        self._rig = rig

    @override
    def now_s(self) -> float:
        return self._rig.time_s

    @override
    def wait(self, timeout_s: float) -> None:
        """Run the boards until a byte has arrived at any host port, at the latest for `timeout_s`."""
        limit_ps = self._rig.time_ps + round(timeout_s * PS_PER_S)
        unread_bytes = self._unread_bytes
        self._rig.run_until(limit_ps, lambda: self._unread_bytes > unread_bytes)

    @property
    def _unread_bytes(self) -> int:
        """Bytes at all ports: some are of clients that do not read any more."""
        return sum(len(self._rig.host_port(index).received) for index in range(self._rig.board_count))
