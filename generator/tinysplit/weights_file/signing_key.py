"""Keys of Ed25519 (RFC 8032): the private key that signs weights files, from a file or an environment variable.

A key is PEM as OpenSSL writes it (`openssl genpkey -algorithm ed25519`). Signatures are those that
firmware/common/ed25519.h verifies.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.extras import install_line
from tinysplit.common.private.key_file import read_key_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNING_KEY_VARIABLE = "TINYSPLIT_SIGNING_KEY"  # the text of the PEM
SIGNING_KEY_FILE_VARIABLE = "TINYSPLIT_SIGNING_KEY_FILE"  # path of a file
PUBLIC_KEY_BYTES, SIGNATURE_BYTES = 32, 64
_MOST_PEM_BYTES = 16 * 1024  # that are read: more than any key
_BEGIN, _PRIVATE = b"-----BEGIN ", b"PRIVATE KEY-----"
_MAKE_ONE = "make one with `openssl genpkey -algorithm ed25519`"


@dataclass(frozen=True, eq=False)
class SigningKey:
    """A private key, which no message and no `repr` shows."""

    _key: "Ed25519PrivateKey" = field(repr=False)

    @classmethod
    def from_pem(cls, pem: bytes, source: str) -> Self:
        """Read a key; `source` is its name in messages.

        Raises InputError for other keys and for encrypted ones, and ToolError without the package `cryptography`.
        """
        _need_package()
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 (an optional extra)
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

        if _BEGIN not in pem or _PRIVATE not in pem:
            raise InputError(f"{source} has no private key in PEM: {_MAKE_ONE}")
        try:
            key = load_pem_private_key(pem, None)
        except TypeError:
            raise InputError(
                f"{source} has an encrypted key: write it to another file with openssl pkey -in KEY -out NEW_FILE"
            ) from None
        except (ValueError, UnsupportedAlgorithm):
            raise InputError(f"{source} has a damaged or unknown private key: {_MAKE_ONE}") from None
        if not isinstance(key, Ed25519PrivateKey):
            kind = type(key).__name__.strip("_").removesuffix("PrivateKey")
            raise InputError(f"{source} has a key of {kind}, and Ed25519 is needed: {_MAKE_ONE}")
        return cls(key)

    @property
    def public_key(self) -> bytes:
        """The public key, PUBLIC_KEY_BYTES."""
        public: bytes = self._key.public_key().public_bytes_raw()
        return public

    def sign(self, data: bytes) -> bytes:
        """Return the signature of `data`, SIGNATURE_BYTES."""
        signature: bytes = self._key.sign(data)
        return signature


def signing_key() -> SigningKey:
    """Return the key that signs weights, that of a file before that of a variable. Raises InputError without one."""
    if path := os.environ.get(SIGNING_KEY_FILE_VARIABLE):
        if _BEGIN.decode() in path:  # other messages would print it
            raise InputError(
                f"{SIGNING_KEY_FILE_VARIABLE} has to be the path of a file with the key, not the key itself"
            )
        pem = read_key_file(Path(path), "the signing key file", _MOST_PEM_BYTES, "name a PEM file with a private key")
        return SigningKey.from_pem(pem, f"the signing key file {path}")
    if text := os.environ.get(SIGNING_KEY_VARIABLE):
        return SigningKey.from_pem(os.fsencode(text), f"the environment variable {SIGNING_KEY_VARIABLE}")
    raise InputError(
        f"signed weights need a private key: set {SIGNING_KEY_FILE_VARIABLE} to the path of its PEM file "
        f"({_MAKE_ONE}), or {SIGNING_KEY_VARIABLE} to its text"
    )


def is_signed_by(public_key: bytes, signature: bytes, data: bytes) -> bool:
    """Return whether `signature` is that of the owner of `public_key`, for `data`.

    Raises ToolError without the package `cryptography`.
    """
    _need_package()
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 (an optional extra)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _need_package() -> None:
    try:
        import cryptography  # noqa: F401, PLC0415 (an optional extra)
    except ImportError:
        line = install_line("encryption")
        raise ToolError(f"signatures need cryptography, extra `encryption`: {line}") from None
