"""Encoding and decoding of frames (docs/understand/protocol.md): sync, type, tag, sequence, length, payload, CRC."""

import struct
from binascii import crc_hqx
from collections.abc import Iterator
from dataclasses import dataclass

from tinysplit.common.protocol_limits import FRAME_OVERHEAD_BYTES, FRAME_PAYLOAD_BYTES

SYNC = 0xA5

_HEADER = struct.Struct("<BBBBH")
_CRC = struct.Struct("<H")


@dataclass(frozen=True)
class Frame:
    """A frame without sync byte, length and CRC."""

    type: int
    sequence: int
    payload: bytes = b""
    tag: int = 0

    def encode(self) -> bytes:
        """Return the bytes on the wire."""
        header = _HEADER.pack(SYNC, self.type, self.tag, self.sequence, len(self.payload))
        return header + self.payload + _CRC.pack(crc(header[1:] + self.payload))


def crc(data: bytes) -> int:
    """Return CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xFFFF, not reflected."""
    return crc_hqx(data, 0xFFFF)


class FrameDecoder:
    """Finds frames in a stream of bytes and drops all other bytes.

    After a damaged frame the search resumes after its sync byte, so that no frame inside it is lost.
    """

    def __init__(self, largest_payload_bytes: int = FRAME_PAYLOAD_BYTES) -> None:
        self._largest_payload_bytes = largest_payload_bytes
        self._buffer = bytearray()

    @property
    def is_inside_frame(self) -> bool:
        """Whether the rest of a frame has not arrived yet."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Append `data` and yield the completed frames."""
        self._buffer += data
        self._drop_to_sync()
        while len(self._buffer) >= self._frame_bytes():
            frame = self._take()
            if frame is not None:
                yield frame
            self._drop_to_sync()

    def give_up(self) -> Iterator[Frame]:
        """Yield the frames inside an incomplete one, whose rest will not arrive after a silence."""
        while self._buffer:
            del self._buffer[0]
            yield from self.feed(b"")

    def _frame_bytes(self) -> int:
        """Return the size of the frame at the start of the buffer, or a lower bound while its header is incomplete."""
        if len(self._buffer) < _HEADER.size:
            return FRAME_OVERHEAD_BYTES
        return FRAME_OVERHEAD_BYTES + int(_HEADER.unpack_from(self._buffer)[-1])

    def _drop_to_sync(self) -> None:
        """Drop bytes until the buffer starts with a valid header or is empty."""
        while self._buffer and not self._starts_frame():
            next_sync = self._buffer.find(SYNC, 1)
            del self._buffer[: next_sync if next_sync > 0 else len(self._buffer)]

    def _starts_frame(self) -> bool:
        return self._buffer[0] == SYNC and self._frame_bytes() - FRAME_OVERHEAD_BYTES <= self._largest_payload_bytes

    def _take(self) -> Frame | None:
        """Remove the frame at the start of the buffer, or only its sync byte when the CRC is wrong."""
        size = self._frame_bytes()
        _, kind, tag, sequence, _ = _HEADER.unpack_from(self._buffer)
        body_end = size - _CRC.size
        if crc(bytes(self._buffer[1:body_end])) != _CRC.unpack_from(self._buffer, body_end)[0]:
            del self._buffer[0]
            return None
        payload = bytes(self._buffer[_HEADER.size : body_end])
        del self._buffer[:size]
        return Frame(kind, sequence, payload, tag)
