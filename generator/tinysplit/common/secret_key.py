"""Secret keys of AES-GCM, from files and environment variables, and what the host encrypts with them.

A message has the format that firmware/common/gcm.h decrypts: NIST SP 800-38D with nonces of 12 bytes and tags of 16.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.extras import install_line
from tinysplit.common.private.key_file import read_key_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_VARIABLE = "TINYSPLIT_WEIGHTS_KEY"  # in hexadecimal digits
KEY_FILE_VARIABLE = "TINYSPLIT_WEIGHTS_KEY_FILE"  # path of a file
KEY_BYTES = (16, 32)  # AES-128 and AES-256
NONCE_BYTES, TAG_BYTES = 12, 16
_MOST_FILE_BYTES = 1024  # that are read: more than any key
_HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]+")
_HAS_TO_BE = "a key has 16 or 32 bytes, or 32 or 64 hexadecimal digits"
_LOOKS_LIKE_KEY = re.compile(r"[0-9A-Fa-f]{32}|[0-9A-Fa-f]{64}")


@dataclass(frozen=True)
class Encrypted:
    """An encrypted message; its associated data are not part of it. `text` has as many bytes as the plain text."""

    nonce: bytes
    text: bytes
    tag: bytes


@dataclass(frozen=True, eq=False)
class SecretKey:
    """A key of 16 or 32 bytes, which no message and no `repr` shows."""

    data: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.data) not in KEY_BYTES:
            raise ValueError(f"{len(self.data)} bytes: {_HAS_TO_BE}")

    @property
    def rounds(self) -> int:
        """Rounds of AES with this key (FIPS 197, section 5)."""
        return len(self.data) // 4 + 6

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read a key: 16 or 32 bytes, or 32 or 64 hexadecimal digits, with white space around them.

        32 bytes that are all hexadecimal digits are taken as digits. Raises InputError; warns where others can read it.
        """
        _refuse_key_as_name(path.name, "a file")
        content = read_key_file(path, "the key file", _MOST_FILE_BYTES, _HAS_TO_BE)
        digits = content.strip()
        if not _HEXADECIMAL.fullmatch(digits):
            return cls._checked(content, f"the key file {path} has {_count(content, 'byte')}")
        return cls._from_digits(digits, f"the key file {path}")

    @classmethod
    def from_environment(cls, name: str) -> Self:
        """Read a key of 32 or 64 hexadecimal digits: a variable cannot hold all bytes. Raises InputError."""
        _refuse_key_as_name(name, "an environment variable")
        text = os.environ.get(name, "").strip()
        if not text:
            raise InputError(f"the environment variable {name} is not set: it has to hold a key in hexadecimal digits")
        digits = os.fsencode(text)
        if not _HEXADECIMAL.fullmatch(digits):
            raise InputError(
                f"the environment variable {name} has characters that are not hexadecimal digits: a key has 32 or 64"
            )
        return cls._from_digits(digits, f"the environment variable {name}")

    @classmethod
    def _from_digits(cls, digits: bytes, source: str) -> Self:
        what = f"{source} has {_count(digits, 'hexadecimal digit')}"
        if len(digits) % 2:
            raise InputError(f"{what}: {_HAS_TO_BE}")
        return cls._checked(bytes.fromhex(digits.decode("ascii")), what)

    @classmethod
    def _checked(cls, data: bytes, what: str) -> Self:
        try:
            return cls(data)
        except ValueError:
            raise InputError(f"{what}: {_HAS_TO_BE}") from None

    def encrypt(self, plain: bytes, added: bytes = b"") -> Encrypted:
        """Encrypt `plain`, and authenticate it with the associated data `added`.

        The nonce is random: a key is good for 2^32 messages (SP 800-38D section 8.3). Raises ToolError without the
        package `cryptography`.
        """
        nonce = os.urandom(NONCE_BYTES)
        both = self._cipher().encrypt(nonce, plain, added)
        return Encrypted(nonce, both[:-TAG_BYTES], both[-TAG_BYTES:])

    def decrypt(self, message: Encrypted, added: bytes = b"") -> bytes:
        """Return the plain text of a message.

        Raises ValueError where key, message or associated data are not those it was encrypted with, and ToolError
        without the package `cryptography`.
        """
        cipher = self._cipher()
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 (an optional extra)

        try:
            plain: bytes = cipher.decrypt(message.nonce, message.text + message.tag, added)
        except InvalidTag:
            raise ValueError("encrypted with another key, or changed since: its tag is wrong") from None
        return plain

    def _cipher(self) -> "AESGCM":
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 (an optional extra)
        except ImportError:
            line = install_line("encryption")
            raise ToolError(f"encryption needs cryptography, extra `encryption`: {line}") from None
        return AESGCM(self.data)


def weights_key() -> SecretKey:
    """Return the key of encrypted weights, that of a file before that of a variable. Raises InputError without one."""
    if path := os.environ.get(KEY_FILE_VARIABLE):
        return SecretKey.from_file(Path(path))
    if not os.environ.get(KEY_VARIABLE):
        raise InputError(f"encrypted weights need a key: set {KEY_VARIABLE}, or {KEY_FILE_VARIABLE} to a path")
    return SecretKey.from_environment(KEY_VARIABLE)


def _count(values: Sequence[int], unit: str) -> str:
    return f"{len(values)} {unit}{'' if len(values) == 1 else 's'}"


def _refuse_key_as_name(name: str, wanted: str) -> None:
    """Raise InputError for a key where the name of its source belongs: other messages would print it."""
    if _LOOKS_LIKE_KEY.fullmatch(name):
        raise InputError(f"the name of {wanted} with the key is wanted, not the key itself")
