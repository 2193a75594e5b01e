"""Payloads on a host port that are about configuration files (docs/understand/protocol.md), all little endian."""

import struct
from dataclasses import dataclass
from typing import Self

from tinysplit.common.protocol_limits import FRAME_PAYLOAD_BYTES
from tinysplit.settings.programs import ALLOW_OLDER, WEIGHTS_ONLY

_WEIGHTS = struct.Struct("<II")
_STAGING = struct.Struct("<II")
_PART_OF_WEIGHTS = struct.Struct("<I4x")
LARGEST_PART_BYTES = FRAME_PAYLOAD_BYTES - _PART_OF_WEIGHTS.size

# Details of WEIGHTS.
WEIGHTS_MISSING, WEIGHTS_OLDER, WEIGHTS_NO_KEY, WEIGHTS_WRONG_KEY, WEIGHTS_NOT_SIGNED, WEIGHTS_NO_STAGING = (
    1,
    7,
    8,
    9,
    10,
    11,
)
_WRITE_IT = f"write it again (`tinysplit update`, or `tinysplit flash {WEIGHTS_ONLY.option}`)"
_WEIGHTS_REASONS = {
    WEIGHTS_MISSING: "its flash has no weights file",
    2: "its weights file has another version of the format",
    3: "its weights file is for another board of the project",
    4: "its weights file is for programs of another structure",
    5: "its weights file has another length than the program expects",
    6: "its weights file has changed: its CRC-32 is wrong",
}
_FLASH_THEM = f"`tinysplit flash {WEIGHTS_ONLY.option}`"
_WEIGHTS_REMEDIES = {
    WEIGHTS_OLDER: f"the new weights file is older than its own: `tinysplit update {ALLOW_OLDER.option}` takes it, "
    f"for signed weights only {_FLASH_THEM}",
    WEIGHTS_NO_KEY: "its weights are encrypted, and it has no key since its start: measure it again",
    WEIGHTS_WRONG_KEY: "its weights are encrypted with another key, or have changed: set the right key, or flash it",
    WEIGHTS_NOT_SIGNED: "the new weights file is not signed by the owner of its program: sign it with the right key",
    12: "its weights were replaced since it has started: reset it, so that its neighbours learn of them",
    WEIGHTS_NO_STAGING: f"its flash has no second slot for signed weights: {_FLASH_THEM} writes them",
}


def weights_reason(detail: int) -> str:
    """Return why a board refuses a file, by the detail of its ERROR frame."""
    if remedy := _WEIGHTS_REMEDIES.get(detail):
        return remedy
    return f"{_WEIGHTS_REASONS.get(detail, f'its weights file is refused (reason {detail})')}: {_WRITE_IT}"


@dataclass(frozen=True)
class WeightsIdentity:
    """The configuration file in a board's flash, good or not: its CRC-32 and its counter."""

    crc: int
    counter: int

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the file in the payload of a reply. Raises struct.error for a wrong length."""
        return cls(*_WEIGHTS.unpack(payload))

    def pack(self) -> bytes:
        """Return the payload of a reply."""
        return _WEIGHTS.pack(self.crc, self.counter)


@dataclass(frozen=True)
class Staging:
    """Bytes of the slot where a new configuration file waits, 0 without one, and of a part of it that a board takes."""

    slot_bytes: int
    part_bytes: int

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the slot in the payload of a reply. Raises struct.error for a wrong length."""
        return cls(*_STAGING.unpack(payload))


def pack_key(key: bytes) -> bytes:
    """Return the payload of KEY."""
    return _PART_OF_WEIGHTS.pack(len(key)) + key


def pack_weights(value: int, data: bytes) -> bytes:
    """Return the payload of BEGIN_WEIGHTS (0 or 1, and a header) or WRITE_WEIGHTS (an offset, and the bytes there)."""
    return _PART_OF_WEIGHTS.pack(value) + data
