"""A client of gdb's remote serial protocol, of which it speaks the few packets that the tests need."""

import socket
from typing import Self

_BREAKPOINT = 1  # by the hardware
_HALFWORD = 2
_PC = 15


class GdbClient:
    """A connection to a gdb server of this machine; every answer comes within `limit_s`."""

    def __init__(self, port: int, limit_s: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=limit_s)
        self._file = self._socket.makefile("rb")
        self._breakpoints: set[int] = set()

    def __enter__(self) -> Self:
        self.ask("?")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def ask(self, text: str) -> str:
        """Send a packet and return the answer."""
        data = text.encode()
        self._socket.sendall(b"$" + data + b"#%02x" % (sum(data) % 256))
        while (answer := self._packet()).startswith("O") and answer != "OK":
            pass  # text for the console
        return answer

    def _packet(self) -> str:
        while self._byte() != b"$":
            pass
        answer = b""
        while (byte := self._byte()) != b"#":
            answer += byte
        self._file.read(2)  # the checksum
        self._socket.sendall(b"+")
        return answer.decode()

    def _byte(self) -> bytes:
        byte = self._file.read(1)
        assert byte, "the gdb server has gone"
        return byte

    def _expect_ok(self, text: str) -> None:
        answer = self.ask(text)
        assert answer == "OK", answer

    def set_breakpoint(self, address: int) -> None:
        self._expect_ok(f"Z{_BREAKPOINT},{address:x},{_HALFWORD}")
        self._breakpoints.add(address)

    def remove_breakpoint(self, address: int) -> None:
        self._expect_ok(f"z{_BREAKPOINT},{address:x},{_HALFWORD}")
        self._breakpoints.remove(address)

    def go_on(self) -> None:
        """Continue to the next breakpoint."""
        if self.register(_PC) in self._breakpoints:
            self.step()
        self._expect_stop("c")

    def step(self) -> None:
        """Execute one instruction; as gdb does it, without a breakpoint there."""
        here = {self.register(_PC)} & self._breakpoints
        for address in here:
            self.remove_breakpoint(address)
        self._expect_stop("s")
        for address in here:
            self.set_breakpoint(address)

    def _expect_stop(self, text: str) -> None:
        answer = self.ask(text)
        assert answer.startswith(("S05", "T05")), answer

    def register(self, number: int) -> int:
        return _value(self.ask(f"p{number:x}"))

    def write_register(self, number: int, value: int) -> None:
        self._expect_ok(f"P{number:x}={value.to_bytes(4, 'little').hex()}")

    def word(self, address: int) -> int:
        return _value(self.ask(f"m{address:x},4"))

    def write_word(self, address: int, value: int) -> None:
        self._expect_ok(f"M{address:x},4:{value.to_bytes(4, 'little').hex()}")


def _value(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")
