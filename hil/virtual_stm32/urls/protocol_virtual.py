"""virtual://<rig name>/<board index>: the host UART of a virtual board as a pyserial port, in virtual time."""

from urllib.parse import urlsplit

from serial import PortNotOpenError, SerialBase, SerialException, to_bytes

from virtual_stm32.clock import FOREVER, PS_PER_S
from virtual_stm32.registry import find
from virtual_stm32.rig import VirtualRig


class Serial(SerialBase):  # type: ignore[misc] # pyserial has no types
    """A port in the virtual time of its rig, which passes only while it reads or flushes."""

    _rig: VirtualRig
    _index: int

    def open(self) -> None:
        """Find the rig and the board of the URL. Raises SerialException when there is none."""
        parts = urlsplit(self.portstr or "")
        rig = find(parts.netloc)
        index = parts.path.removeprefix("/")
        if rig is None or not index.isdecimal() or int(index) >= rig.board_count:
            raise SerialException(f"{self.portstr}: no such virtual board; URLs are virtual://<rig>/<board index>")
        self._rig, self._index = rig, int(index)
        self.is_open = True
        self._reconfigure_port()

    def close(self) -> None:
        """Close the port; the rig stays open."""
        self.is_open = False

    def _reconfigure_port(self) -> None:
        if self.is_open:
            self._rig.set_baud(self._index, self._baudrate)

    def _check_open(self) -> None:
        if not self.is_open:
            raise PortNotOpenError

    @property
    def in_waiting(self) -> int:
        """Number of bytes that have arrived."""
        self._check_open()
        return len(self._rig.host_port(self._index).received)

    def read(self, size: int = 1) -> bytes:
        """Run the rig until `size` bytes have arrived or `timeout` virtual seconds have passed."""
        self._check_open()
        port = self._rig.host_port(self._index)
        if self._timeout != 0:  # else no time passes, and nothing arrives
            limit = FOREVER if self._timeout is None else self._rig.time_ps + round(self._timeout * PS_PER_S)
            self._rig.run_until(limit, lambda: len(port.received) >= size)
        return port.read(size)

    def write(self, data: bytes) -> int:
        """Start sending bytes, at the baud rate of the port."""
        self._check_open()
        self._rig.write(self._index, to_bytes(data))
        return len(data)

    def flush(self) -> None:
        """Run the rig until all bytes are sent."""
        self._check_open()
        self._rig.run_until(self._rig.host_port(self._index).line_free_ps)

    def reset_input_buffer(self) -> None:
        """Discard the bytes that have arrived."""
        self._check_open()
        self._rig.host_port(self._index).received.clear()

    def reset_output_buffer(self) -> None:
        """Do nothing: written bytes are being sent already."""
        self._check_open()

    def _update_dtr_state(self) -> None:
        """Do nothing: the port has no such signal."""

    def _update_rts_state(self) -> None:
        """Do nothing: the port has no such signal."""

    def _update_break_state(self) -> None:
        """Do nothing: breaks are not modelled."""
