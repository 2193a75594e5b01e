"""Runs one inference on a project's boards: docs/understand/protocol.md, "Host ports", in Python with pyserial alone.

    python client.py INPUT PORT [PORT ...]

INPUT is a file with the bytes of the network's input, the ports are those of all boards: devices or URLs of pyserial.
Prints the output and the times of all layers and transfers.
"""

import struct
import sys
import time
from binascii import crc32, crc_hqx
from pathlib import Path

import serial

BAUD = 921600
IDENTIFY, RESET, LOAD, START, READ_OUTPUT, READ_TIMES = range(1, 7)
DONE, ERROR, REPLY, BAD_CRC = 0xE0, 0xEE, 0x80, 8
SYNC, LONGEST_PAYLOAD, LOAD_BYTES, RECORDS = 0xA5, 1024, 1016, 128
IDENTITY = struct.Struct("<BBBBIIIIIBBBBIIIIIIII")
KINDS = ("layer", "transfer", "copy", "input", "output")
GAP_S, REPLY_S, ATTEMPTS, INFERENCE_S = 0.1, 5.0, 6, 600.0  # generous: emulated boards may be slower than real ones


class Board:
    """The host port of one board."""

    def __init__(self, name: str) -> None:
        self.port = serial.serial_for_url(name, baudrate=BAUD, timeout=GAP_S)
        self.port.reset_input_buffer()
        self.name, self.buffer, self.sequence = name, bytearray(), 0
        self.done: dict[int, int] = {}  # CRC-32 of outputs by inference
        self.identify()

    def identify(self) -> None:
        """Ask who the board is, and what it has done."""
        values = IDENTITY.unpack(self.ask(IDENTIFY))
        self.index, self.core_hz, self.timer_hz, self.input_bytes, self.output_bytes = (values[1], *values[5:9])
        self.run, outputs, crc = values[14], values[16], values[17]
        if outputs:
            self.done[outputs - 1] = crc  # in case its event was lost

    def ask(self, kind: int, payload: bytes = b"") -> bytes:
        """Send a request, again if no reply comes, and return the payload of the reply."""
        self.sequence = self.sequence % 255 + 1
        body = struct.pack("<BBBH", kind, 0, self.sequence, len(payload)) + payload
        for _ in range(ATTEMPTS):
            self.port.write(bytes([SYNC]) + body + struct.pack("<H", crc_hqx(body, 0xFFFF)))
            end_s = time.monotonic() + REPLY_S
            while time.monotonic() < end_s:
                received, sequence, reply = self.receive() or (0, 0, b"")
                if (received, sequence) == (kind | REPLY, self.sequence):
                    return reply
                if received == ERROR:  # BAD_CRC: only a damaged request is repeated
                    break
        sys.exit(f"{self.name} does not reply: check port, power and firmware")

    def receive(self) -> tuple[int, int, bytes] | None:
        """Return the next frame as type, sequence and payload, None after a silence; note events."""
        while (frame := self.frame()) is None:
            data = self.port.read(max(1, self.port.in_waiting))
            self.buffer += data
            if not data:
                del self.buffer[:1]  # the rest of a frame will not come
                return None
        kind, _, payload = frame
        if kind == DONE:
            number, crc = struct.unpack("<II", payload)
            self.done[number] = crc
        elif kind == ERROR and payload[0] != BAD_CRC:
            code, detail = struct.unpack("<B3xI", payload)
            sys.exit(f"{self.name} reports error {code}, detail {detail}: see docs/understand/protocol.md")
        return frame

    def frame(self) -> tuple[int, int, bytes] | None:
        """Take a whole frame out of the buffer, and drop what is none."""
        while len(self.buffer) > 5:  # noqa: PLR2004
            sync, kind, _, sequence, length = struct.unpack_from("<BBBBH", self.buffer)
            if sync == SYNC and length <= LONGEST_PAYLOAD:
                end = 6 + length
                if len(self.buffer) < end + 2:
                    return None
                payload, crc = bytes(self.buffer[6:end]), crc_hqx(self.buffer[1:end], 0xFFFF)
                if crc == int.from_bytes(self.buffer[end : end + 2], "little"):
                    del self.buffer[: end + 2]
                    return kind, sequence, payload
            del self.buffer[0]
        return None

    def send_input(self, data: bytes) -> None:
        """Send the input of inference 0 and start it."""
        if len(data) != self.input_bytes:
            sys.exit(f"{self.name} expects an input of {self.input_bytes} bytes, not {len(data)}")
        for offset in range(0, len(data), LOAD_BYTES):
            self.ask(LOAD, struct.pack("<II", 0, offset) + data[offset : offset + LOAD_BYTES])
        self.ask(START, struct.pack("<II", 0, crc32(data)))

    def read_output(self) -> bytes:
        """Wait for the output of inference 0 and return it."""
        end_s = time.monotonic() + INFERENCE_S
        while 0 not in self.done:
            if time.monotonic() > end_s:
                sys.exit(f"{self.name} has no output after {INFERENCE_S:g} s: check the links")
            ask_s = time.monotonic() + REPLY_S
            while 0 not in self.done and time.monotonic() < ask_s:
                self.receive()
            if 0 not in self.done:
                self.identify()
        output = b""
        while len(output) < self.output_bytes:
            length = min(LONGEST_PAYLOAD, self.output_bytes - len(output))
            output += self.ask(READ_OUTPUT, struct.pack("<IIH", 0, len(output), length))
        if crc32(output) != self.done[0]:
            sys.exit(f"{self.name} sent a damaged output: check wiring and baud rate")
        return output

    def print_times(self) -> None:
        """Print the time records."""
        records: list[tuple[int, int, int, int]] = []
        while len(records) % RECORDS == 0 and (reply := self.ask(READ_TIMES, struct.pack("<H", len(records)))):
            records += struct.iter_unpack("<BBHI", reply)
        for kind, repeats, index, ticks in records:
            what, seconds = KINDS[kind & 15], (ticks << (kind >> 4)) / self.timer_hz
            number = index + (what in ("transfer", "copy"))  # cuts count from 0 on the wire
            cycles = round(seconds * self.core_hz)
            print(f"board {self.index + 1} {what} {number}: {cycles} cycles, {seconds:.9f} s, sent again: {repeats}")


def main() -> None:
    """Run one inference."""
    if len(sys.argv) < 3:  # noqa: PLR2004
        sys.exit("usage: client.py INPUT PORT [PORT ...]")
    boards = [Board(name) for name in sys.argv[2:]]
    run = (max(board.run for board in boards) + 1) % 2**32 or 1
    for board in boards:
        board.ask(RESET, struct.pack("<I", run))
        board.done.clear()
    for board in (each for each in boards if each.input_bytes):
        board.send_input(Path(sys.argv[1]).read_bytes())
    for board in (each for each in boards if each.output_bytes):
        print(f"output {board.read_output().hex()}")
    for board in boards:
        board.print_times()


if __name__ == "__main__":
    main()
