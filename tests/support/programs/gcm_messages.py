"""Messages for AES-GCM of the firmware (firmware/common/gcm.h), encrypted by the package `cryptography`."""

import struct
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TAG_BYTES = 16
LONGEST_KEY = 32


@dataclass(frozen=True)
class Message:
    """An encrypted message with its key; `text` is the ciphertext."""

    key: bytes
    nonce: bytes
    added: bytes
    text: bytes
    tag: bytes

    @classmethod
    def encrypted(cls, key: bytes, nonce: bytes, added: bytes, plain: bytes) -> "Message":
        both = AESGCM(key).encrypt(nonce, plain, added)
        return cls(key, nonce, added, both[:-TAG_BYTES], both[-TAG_BYTES:])


@dataclass(frozen=True)
class Call:
    """A call of the firmware: "a" adds associated data, "d" decrypts, "i" in place; "e" encrypts a block by AES."""

    kind: str
    data: bytes
    offset: int = 0  # from an aligned address


def in_one_piece(message: Message) -> list[Call]:
    return [Call("a", message.added), Call("d", message.text)]


def in_pieces(kind: str, data: bytes, size: int, offset: int = 0) -> list[Call]:
    return [Call(kind, data[first : first + size], offset) for first in range(0, len(data), size)]


def record(message: Message, calls: list[Call]) -> bytes:
    """Return what tests/c/gcm_messages.c reads for a message."""
    head = struct.pack("<BB", len(message.key), len(calls))
    secrets = message.key.ljust(LONGEST_KEY, b"\0") + message.nonce + message.tag
    parts = [struct.pack("<BBH", ord(call.kind), call.offset, len(call.data)) + call.data for call in calls]
    return head + secrets + b"".join(parts)
