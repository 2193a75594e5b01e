"""Frames of links as docs/understand/protocol.md has them, written a second time."""

import struct
import zlib
from dataclasses import dataclass

DATA, DATA_END, GRANT, OFFER, WAIT, ACK, MISSING, DAMAGED, QUERY, HELLO, HELLO_REPLY, CONFIRM = range(0x40, 0x4C)
HEADER = struct.Struct("<BBBBHH")
HEADER_BYTES = 11
STOPPED, STARTING, RUNNING, JOINING = range(4)


@dataclass(frozen=True)
class Frame:
    """A frame without its checks; `to` and `source` are board indices, `offset` counts blocks of 64 bytes."""

    type: int
    channel: int = 0
    number: int = 0
    offset: int = 0
    payload: bytes = b""
    to: int = 2
    source: int = 5

    def encoded(self, seed: int) -> bytes:
        """Return the frame's bytes; `seed` is the CRC of plan and run."""
        start = 0 if self.type in {HELLO, HELLO_REPLY} else seed
        addresses = self.to << 4 | self.source
        body = HEADER.pack(self.type, addresses, self.channel, self.number, self.offset, len(self.payload))
        head = b"\xa5" + body + struct.pack("<H", zlib.crc32(body, start) & 0xFFFF)
        if not self.payload:
            return head
        return head + self.payload + struct.pack("<I", zlib.crc32(body + self.payload, start))


def seed_of(plan: int, run: int) -> int:
    """Return the CRC that the frames of a run begin with."""
    return zlib.crc32(struct.pack("<II", plan, run))


def decoded(stream: bytes, seed: int) -> list[Frame]:
    """Return the frames of a stream in which nothing is damaged."""
    frames = []
    while stream:
        kind, addresses, channel, number, offset, length = HEADER.unpack(stream[1:9])
        payload = stream[HEADER_BYTES : HEADER_BYTES + length]
        frame = Frame(kind, channel, number, offset, payload, addresses >> 4, addresses & 15)
        encoded = frame.encoded(seed)
        assert stream.startswith(encoded), f"{stream.hex()} is not {encoded.hex()}"
        frames.append(frame)
        stream = stream[len(encoded) :]
    return frames


def hello(
    kind: int, state: int, run: int, *, boot: int = 1, plan: int = 0xC0FFEE01, board: int = 5, version: int = 2
) -> Frame:
    """Return a HELLO of the peer."""
    return Frame(kind, payload=struct.pack("<BBBBIII", version, board, state, 0, boot, plan, run))
