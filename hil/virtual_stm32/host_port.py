"""The host side of a board's serial line, in virtual time."""

from collections import deque

from virtual_stm32.clock import FOREVER, PS_PER_S
from virtual_stm32.peripherals.usart import BITS_PER_BYTE, Sink, is_misread, misread


class HostPort:
    """Bytes to and from the UART of one board, timed by the baud rates of both sides."""

    def __init__(self, baud: int) -> None:
        self.baud = baud
        self._receive: Sink = lambda *_byte: None
        self.line_free_ps = 0
        self._arriving: deque[tuple[int, int]] = deque()
        self.received = bytearray()

    @property
    def byte_ps(self) -> int:
        """Duration of a byte sent by the host, in picoseconds."""
        return BITS_PER_BYTE * PS_PER_S // self.baud

    def connect(self, receive: Sink) -> None:
        """Send bytes to `receive` from now on."""
        self._receive = receive

    def take(self, arrival_ps: int, byte_ps: int, value: int, errors: int) -> None:
        """Schedule the arrival of a byte from the board; the port of a PC gives it regardless of `errors`."""
        del errors
        is_good = not is_misread(byte_ps, self.byte_ps)
        self._arriving.append((arrival_ps, value if is_good else misread(value)))

    def write(self, data: bytes, now_ps: int) -> None:
        """Send bytes back to back, after those that are being sent."""
        start = max(now_ps, self.line_free_ps)
        for index, value in enumerate(data, start=1):
            self._receive(start + index * BITS_PER_BYTE * PS_PER_S // self.baud, self.byte_ps, value, 0)
        self.line_free_ps = start + len(data) * BITS_PER_BYTE * PS_PER_S // self.baud

    def next_ps(self) -> int:
        """Return the arrival time of the next byte in picoseconds, FOREVER without one."""
        return self._arriving[0][0] if self._arriving else FOREVER

    def take_until(self, now_ps: int) -> None:
        """Move the bytes that have arrived by `now_ps` to `received`."""
        while self._arriving and self._arriving[0][0] <= now_ps:
            self.received.append(self._arriving.popleft()[1])

    def read(self, size: int) -> bytes:
        """Remove and return up to `size` received bytes."""
        data = bytes(self.received[:size])
        del self.received[:size]
        return data
