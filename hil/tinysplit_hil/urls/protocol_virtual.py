"""virtual://<rig name>/<board index>: the host UART of a virtual board as a port of pyserial; time-outs are virtual."""

from urllib.parse import urlsplit

from serial import PortNotOpenError, SerialBase, SerialException, to_bytes

from tinysplit_hil.virtual.clock import PS_PER_S
from tinysplit_hil.virtual.machine import FOREVER
from tinysplit_hil.virtual.registry import find
from tinysplit_hil.virtual.rig import VirtualRig


class Serial(SerialBase):  # type: ignore[misc] # pyserial has no types
    """A port whose clock is that of the rig: only reading and flushing let virtual time pass."""

    _rig: VirtualRig
    _index: int

    def open(self) -> None:
        """Find the rig and the board of the URL."""
        parts = urlsplit(self.portstr or "")
        rig = find(parts.netloc)
        index = parts.path.removeprefix("/")
        if rig is None or not index.isdecimal() or int(index) >= rig.board_count:
            raise SerialException(f"{self.portstr}: there is no such virtual board, virtual://<rig>/<board index>")
        self._rig, self._index = rig, int(index)
        self.is_open = True
        self._reconfigure_port()

    def close(self) -> None:
        """Close the port; the rig goes on to exist."""
        self.is_open = False

    def _reconfigure_port(self) -> None:
        if self.is_open:
            self._rig.set_baud(self._index, self._baudrate)

    def _check_open(self) -> None:
        if not self.is_open:
            raise PortNotOpenError

    @property
    def in_waiting(self) -> int:
        """Bytes that have arrived."""
        self._check_open()
        return len(self._rig.host_port(self._index).received)

    def read(self, size: int = 1) -> bytes:
        """Run the rig until `size` bytes are here or `timeout` virtual seconds have passed."""
        self._check_open()
        port = self._rig.host_port(self._index)
        limit = FOREVER if self._timeout is None else self._rig.time_ps + round(self._timeout * PS_PER_S)
        self._rig.run_until(limit, lambda: len(port.received) >= size)
        return port.read(size)

    def write(self, data: bytes) -> int:
        """Send bytes from now on, at the baud rate of the port."""
        self._check_open()
        self._rig.write(self._index, to_bytes(data))
        return len(data)

    def flush(self) -> None:
        """Run the rig until all bytes have left."""
        self._check_open()
        self._rig.run_until(self._rig.host_port(self._index).line_free_ps)

    def reset_input_buffer(self) -> None:
        """Forget what has arrived."""
        self._check_open()
        self._rig.host_port(self._index).received.clear()

    def reset_output_buffer(self) -> None:
        """Do nothing: what was written is on its way."""
        self._check_open()

    def _update_dtr_state(self) -> None:
        """Do nothing: the line has no such signal."""

    def _update_rts_state(self) -> None:
        """Do nothing: the line has no such signal."""

    def _update_break_state(self) -> None:
        """Do nothing: breaks are not modelled."""
