"""Ports of the operating system in front of virtual boards: a pty, or a TCP port of this machine, one client each."""

import os
import select
import socket
import struct
import termios
import tty
from collections.abc import Iterator
from contextlib import suppress
from errno import EADDRINUSE
from typing import Protocol

from typing_extensions import override

from tinysplit.common.errors import ToolError, UsageError

LOCALHOST = "127.0.0.1"
LARGEST_TCP_PORT = 65535
_BYTES_AT_ONCE = 4096
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection at once


class OsPort(Protocol):
    """A port that a client may open, close and open again. Nothing here waits."""

    name: str  # a device or URL of pyserial

    def look_for_client(self) -> int | None:
        """Return the file descriptor that is readable when a client has sent bytes, None while there is no client."""

    def read(self) -> bytes:
        """Return bytes from the client, b"" if there are none."""

    def write(self, data: bytes) -> int:
        """Send bytes to the client and return how many it has taken."""

    def close(self) -> None:
        """Close the port for the client, too."""


class Pty(OsPort):
    """A pseudo-terminal, whose other end a client opens by its name as a serial port, at any baud rate."""

    def __init__(self) -> None:
        """Open both ends. Raises ToolError when the system has no pty left."""
        try:
            self._own_end, client_end = os.openpty()
        except OSError as error:
            raise ToolError(f"no pty can be opened ({error.strerror}): use --tcp PORT") from None
        self.name = os.ttyname(client_end)
        os.close(client_end)
        os.set_blocking(self._own_end, False)
        self._poll = select.poll()
        self._poll.register(self._own_end, select.POLLIN)
        self._has_client = False
        self._renew()

    def _renew(self) -> None:
        """Drop what no client has read, and pass on bytes unchanged; then the pty is hung up until a client comes."""
        client_end = os.open(self.name, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(client_end)
        termios.tcflush(client_end, termios.TCIFLUSH)
        os.close(client_end)

    @override
    def look_for_client(self) -> int | None:
        """Return its descriptor; a client that has gone and left bytes is still there."""
        events = sum(event for _, event in self._poll.poll(0))
        has_client = bool(events & select.POLLIN) or not events & select.POLLHUP
        if self._has_client and not has_client:
            self._renew()
        self._has_client = has_client
        return self._own_end if has_client else None

    @override
    def read(self) -> bytes:
        try:
            return os.read(self._own_end, _BYTES_AT_ONCE)
        except OSError:  # nothing to read, or no client
            return b""

    @override
    def write(self, data: bytes) -> int:
        try:
            return os.write(self._own_end, data)
        except OSError:
            return 0

    @override
    def close(self) -> None:
        os.close(self._own_end)


class Tcp(OsPort):
    """A TCP port of this machine, with pyserial's URL as its name. While it has a client, others are refused."""

    def __init__(self, port: int) -> None:
        """Listen. `port` 0 takes a free one. Raises ToolError for a port that cannot be opened."""
        self._listener = _listen(port)
        self._poll = select.poll()
        self._poll.register(self._listener, select.POLLIN)
        self._client: socket.socket | None = None
        self.number = int(self._listener.getsockname()[1])
        self.name = f"socket://{LOCALHOST}:{self.number}"

    @override
    def look_for_client(self) -> int | None:
        """Return its descriptor; one that comes before the last one was noticed to be gone is not refused."""
        if self._poll.poll(0) and (self._client is None or self._is_client_silent()):
            with suppress(OSError):  # it has gone already
                self._admit(self._listener.accept()[0])
        return self._client.fileno() if self._client else None

    def _is_client_silent(self) -> bool:
        """Return whether the client is there and has sent nothing; hang up if it has gone."""
        try:
            if self._client and not self._client.recv(1, socket.MSG_PEEK):
                self._hang_up()
        except BlockingIOError:
            return True
        except OSError:
            self._hang_up()
        return False

    def _admit(self, newcomer: socket.socket) -> None:
        if self._client is None:
            newcomer.setblocking(False)
            newcomer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._client = newcomer
        else:
            newcomer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            newcomer.close()

    @override
    def read(self) -> bytes:
        if self._client is None:
            return b""
        try:
            data = self._client.recv(_BYTES_AT_ONCE)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._hang_up()
        return data

    @override
    def write(self, data: bytes) -> int:
        if self._client is None:
            return 0
        try:
            return self._client.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._hang_up()
            return 0

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    @override
    def close(self) -> None:
        self._hang_up()
        self._listener.close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOCALHOST, port))
        listener.listen(1)
    except OSError as error:
        listener.close()
        reason = "is in use" if error.errno == EADDRINUSE else f"cannot be opened ({error.strerror})"
        raise ToolError(f"TCP port {port} {reason}: choose another one with --tcp") from None
    listener.setblocking(False)
    return listener


def open_ports(count: int, first_tcp_port: int | None) -> Iterator[OsPort]:
    """Yield ptys, or TCP ports from `first_tcp_port` on; 0 takes free ones.

    Raises UsageError when there are not so many TCP ports, ToolError for a port that cannot be opened.
    """
    if first_tcp_port and first_tcp_port + count - 1 > LARGEST_TCP_PORT:
        highest = LARGEST_TCP_PORT - count + 1
        raise UsageError(f"--tcp {first_tcp_port}: the last port is {LARGEST_TCP_PORT}: use {highest} or less")
    for index in range(count):
        if first_tcp_port is None:
            yield Pty()
        else:
            yield Tcp(first_tcp_port + index if first_tcp_port else 0)
