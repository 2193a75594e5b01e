"""SHA-512 and Ed25519 of the firmware, on the host: published vectors, `cryptography`, and odd encodings."""

import hashlib
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from programs.edwards import BASE, ORDER, P, Point, hashed, of_order_8
from programs.firmware_on_host import compile_host
from session.profiles import cases

# FIPS 180-4, the examples for SHA-512 that NIST publishes: message, digest.
DIGESTS = (
    (
        b"abc",
        (
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ),
    (
        b"",
        (
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
        ),
    ),
    (
        b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        (
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
            "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"
        ),
    ),
    (
        b"a" * 1_000_000,
        (
            "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
            "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
        ),
    ),
)
# RFC 8032 section 7.1, tests 1, 2, 3 and SHA(abc): public key, message, signature.
VECTORS = (
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
            "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        DIGESTS[0][1],
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
            "3dca179c138ac17ad9bef1177331a704"
        ),
    ),
)
NEUTRAL = Point(0, 1)
SIGN_OF_X = 1 << 255


@dataclass(frozen=True)
class Signed:
    """A message with a signature and the key that it is said to be made with."""

    key: bytes
    message: bytes
    signature: bytes

    @property
    def s(self) -> int:
        return int.from_bytes(self.signature[32:], "little")

    def with_s(self, s: int) -> "Signed":
        return replace(self, signature=self.signature[:32] + s.to_bytes(32, "little"))

    @property
    def is_good(self) -> bool:
        """Whether `cryptography` says so."""
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(self.signature, self.message)
        except InvalidSignature:
            return False
        return True


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("signatures"), "signatures", "ed25519.c", "sha512.c")


def record(kind: str, data: bytes, part_bytes: int, head: bytes = b"") -> bytes:
    """Return what tests/c/signatures.c reads."""
    return struct.pack("<BBI", ord(kind), part_bytes, len(data)) + head + data


def digests(program: Path, messages: Sequence[tuple[bytes, int]]) -> list[bytes]:
    """Return the digests of messages that come in parts of so many bytes."""
    records = b"".join(record("d", *each) for each in messages)
    output = subprocess.run([program], input=records, capture_output=True, check=True).stdout
    return [output[first : first + 64] for first in range(0, len(output), 64)]


def verified(program: Path, messages: Sequence[Signed], part_bytes: int = 0) -> list[bool]:
    """Return whether the firmware takes each signature."""
    records = b"".join(record("s", each.message, part_bytes, each.key + each.signature) for each in messages)
    output = subprocess.run([program], input=records, capture_output=True, check=True).stdout
    return [bool(each) for each in output]


def signed(rng: np.random.Generator, size: int) -> Signed:
    key, message = Ed25519PrivateKey.from_private_bytes(rng.bytes(32)), rng.bytes(size)
    return Signed(key.public_key().public_bytes_raw(), message, key.sign(message))


def test_digests_of_fips_180_4(program: Path) -> None:
    found = digests(program, [(message, 0) for message, _ in DIGESTS])
    assert [each.hex() for each in found] == [digest for _, digest in DIGESTS]


def test_digests_of_all_lengths_in_parts(program: Path) -> None:
    rng = np.random.default_rng(1)
    messages = [(rng.bytes(size), int(rng.choice((1, 7, 63, 64, 128, 255)))) for size in range(300)]
    assert digests(program, messages) == [hashlib.sha512(message).digest() for message, _ in messages]


def test_signatures_of_rfc_8032(program: Path) -> None:
    vectors = [Signed(*map(bytes.fromhex, each)) for each in VECTORS]
    assert verified(program, vectors) == [True] * len(VECTORS)


def test_signatures_of_an_independent_implementation(program: Path) -> None:
    rng = np.random.default_rng(2)
    messages = [signed(rng, int(rng.integers(300))) for _ in range(cases(quick=20, full=100, nightly=10_000))]
    for part_bytes in (0, 7):
        assert verified(program, messages, part_bytes) == [True] * len(messages)


def test_changed_bits_are_refused(program: Path) -> None:
    rng = np.random.default_rng(3)
    right = signed(rng, 40)
    bits = [(name, bit) for name in ("key", "message", "signature") for bit in range(8 * len(getattr(right, name)))]
    changed = []
    for index in rng.permutation(len(bits))[: cases(quick=20, full=100, nightly=len(bits))]:
        name, bit = bits[index]
        other = bytearray(getattr(right, name))
        other[bit // 8] ^= 1 << bit % 8
        changed.append(replace(right, **{name: bytes(other)}))
    assert verified(program, [right]) == [True]
    assert not any(verified(program, changed))


def test_s_has_to_be_below_the_order(program: Path) -> None:
    right = signed(np.random.default_rng(4), 5)
    others = [right.with_s(right.s + factor * ORDER) for factor in range(1, 16)]
    others += [right.with_s(s) for s in (0, ORDER - 1, ORDER, ORDER + 1, 2**253 - 1, 2**255 - 1, 2**256 - 1)]
    assert [each.is_good for each in others] == [False] * len(others)
    assert verified(program, others) == [False] * len(others)


def encodings(y: int) -> list[bytes]:
    """Return those of a y, with both signs of x."""
    return [(y | sign).to_bytes(32, "little") for sign in (0, SIGN_OF_X)]


def test_only_canonical_encodings_of_points_are_keys(program: Path) -> None:
    """Signatures with S = 0 and a neutral R fit keys whose multiple k is neutral: so all that is refused is the key."""
    r = NEUTRAL.encoded()
    small = of_order_8()
    points = [factor * small for factor in range(8)]
    right = [Signed(point.encoded(), b"", r + bytes(32)) for point in points]
    fits = [hashed(r, point.encoded(), b"") * point == NEUTRAL for point in points]
    assert fits[0]
    assert not all(fits)
    assert verified(program, right) == fits == [each.is_good for each in right]
    wrong = [
        *encodings(P), *encodings(P + 1), *encodings(2**255 - 1),  # 0, 1 and 18
        *encodings(1)[1:], *encodings(P - 1)[1:],  # x is 0, its sign is set
        *encodings(2),  # no point
    ]  # fmt: skip
    assert not any(verified(program, [Signed(key, b"", r + bytes(32)) for key in wrong]))


def test_r_has_to_be_canonical(program: Path) -> None:
    key = NEUTRAL.encoded()
    assert verified(program, [Signed(key, b"x", key + bytes(32))]) == [True]
    others = [Signed(key, b"x", r + bytes(32)) for r in (*encodings(P + 1), *encodings(1)[1:])]
    assert [each.is_good for each in others] == [False] * len(others)
    assert verified(program, others) == [False] * len(others)


def test_the_order_is_no_zero(program: Path) -> None:
    key = NEUTRAL.encoded()
    zero, order = (Signed(key, b"x", key + s.to_bytes(32, "little")) for s in (0, ORDER))
    assert [zero.is_good, order.is_good] == [True, False]
    assert verified(program, [zero, order]) == [True, False]


def test_every_bit_of_r_counts(program: Path) -> None:
    """The owner of the key makes an S for each wrong R: what the equation gives differs from R in one bit only."""
    rng = np.random.default_rng(6)
    secret, nonce = (int.from_bytes(rng.bytes(32), "little") % ORDER for _ in range(2))
    key, right = (secret * BASE).encoded(), int.from_bytes((nonce * BASE).encoded(), "little")
    bits = rng.permutation(256)[: cases(quick=32, full=256, nightly=256)]
    found = []
    for r in (right, *(right ^ 1 << int(bit) for bit in bits)):
        encoded = r.to_bytes(32, "little")
        s = (nonce + hashed(encoded, key, b"message") * secret) % ORDER
        found.append(Signed(key, b"message", encoded + s.to_bytes(32, "little")))
    assert verified(program, found) == [True, *[False] * len(bits)]


def test_points_of_small_order_count(program: Path) -> None:
    """The equation is that without the cofactor, as in OpenSSL: a part of small order in key or R makes it wrong."""
    rng, small = np.random.default_rng(5), of_order_8()
    secret, nonce = (int.from_bytes(rng.bytes(32), "little") % ORDER for _ in range(2))
    found = []
    for factor in range(8):
        key = (secret * BASE + factor * small).encoded()
        for r in ((nonce * BASE).encoded(), (nonce * BASE + small).encoded()):
            k = hashed(r, key, b"message")
            s = (nonce + k * secret) % ORDER
            found.append(Signed(key, b"message", r + s.to_bytes(32, "little")))
    expected = [each.is_good for each in found]
    assert True in expected
    assert False in expected
    assert verified(program, found) == expected
