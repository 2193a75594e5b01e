"""AES-GCM of the firmware, on the host: published vectors, the package `cryptography`, and every flipped bit."""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from programs.firmware_on_host import compile_host
from programs.gcm_messages import Call, Message, in_one_piece, in_pieces, record
from session.profiles import cases

# FIPS 197 appendix C.1 and C.3: key, plaintext, ciphertext.
BLOCKS = (
    (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ),
    (
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00112233445566778899aabbccddeeff",
        "8ea2b7ca516745bfeafc49904b496089",
    ),
)
KEY = "feffe9928665731c6d6a8f9467308308"
NONCE = "cafebabefacedbaddecaf888"
ADDED = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
PLAIN = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
)
TEXT_128 = (
    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
    "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
)
TEXT_256 = (
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
)
ZEROS = "00" * 16
# McGrew and Viega, The Galois/Counter Mode of Operation, appendix B, all with nonces of 12 bytes and keys of 128 or 256
# bits: number of the test case, key, nonce, associated data, plaintext, ciphertext, tag.
VECTORS = (
    (1, ZEROS, "00" * 12, "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"),
    (2, ZEROS, "00" * 12, "", ZEROS, "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"),
    (3, KEY, NONCE, "", PLAIN, TEXT_128, "4d5c2af327cd64a62cf35abd2ba6fab4"),
    (4, KEY, NONCE, ADDED, PLAIN[:-8], TEXT_128[:-8], "5bc94fbc3221a5db94fae95ae7121a47"),
    (13, 2 * ZEROS, "00" * 12, "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
    (14, 2 * ZEROS, "00" * 12, "", ZEROS, "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"),
    (15, 2 * KEY, NONCE, "", PLAIN, TEXT_256, "b094dac5d93471bdec1a502270e3cc6c"),
    (16, 2 * KEY, NONCE, ADDED, PLAIN[:-8], TEXT_256[:-8], "76fc6ece0f4e1768cddf8853bb2d551b"),
)
MOST_BYTES = 300


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("gcm"), "gcm_messages", "aes.c", "gcm.c")


def decrypted(program: Path, messages: Sequence[tuple[Message, list[Call]]]) -> list[tuple[bool, bytes]]:
    """Return whether the firmware takes each message, and what its calls write."""
    records = b"".join(record(message, calls) for message, calls in messages)
    output = subprocess.run([program], input=records, capture_output=True, check=True).stdout
    results = []
    for _, calls in messages:
        size = sum(len(call.data) for call in calls if call.kind != "a")
        results.append((bool(output[size]), output[:size]))
        output = output[size + 1 :]
    assert not output
    return results


def is_taken(program: Path, message: Message, calls: list[Call]) -> bool:
    [(is_good, _)] = decrypted(program, [(message, calls)])
    return is_good


def random_message(rng: np.random.Generator) -> tuple[Message, bytes]:
    """Return a message with its text, of lengths of which many are whole blocks."""
    sizes = [int(rng.integers(MOST_BYTES)) // divisor * divisor for divisor in rng.choice((1, 16), 2)]
    added, plain = (rng.bytes(size) for size in sizes)
    return Message.encrypted(rng.bytes(int(rng.choice((16, 32)))), rng.bytes(12), added, plain), plain


@pytest.mark.parametrize(("key", "plain", "encrypted"), BLOCKS)
def test_aes_encrypts_the_examples_of_fips_197(program: Path, key: str, plain: str, encrypted: str) -> None:
    message = Message(bytes.fromhex(key), bytes(12), b"", b"", bytes(16))
    [(_, found)] = decrypted(program, [(message, [Call("e", bytes.fromhex(plain))])])
    assert found.hex() == encrypted


@pytest.mark.parametrize(("case", "key", "nonce", "added", "plain", "text", "tag"), VECTORS)
def test_published_vectors(
    program: Path, case: int, key: str, nonce: str, added: str, plain: str, text: str, tag: str
) -> None:
    message = Message(*map(bytes.fromhex, (key, nonce, added, text, tag)))
    assert decrypted(program, [(message, in_one_piece(message))]) == [(True, bytes.fromhex(plain))], case


def test_messages_of_an_independent_implementation(program: Path) -> None:
    rng = np.random.default_rng(1)
    messages = [random_message(rng) for _ in range(cases(quick=100, full=1000, nightly=20_000))]
    found = decrypted(program, [(message, in_one_piece(message)) for message, _ in messages])
    assert found == [(True, plain) for _, plain in messages]


def test_pieces_of_whole_blocks_at_any_address(program: Path) -> None:
    rng = np.random.default_rng(2)
    messages, calls = [], []
    for _ in range(cases(quick=50, full=500, nightly=5000)):
        message, plain = random_message(rng)
        size, offset, kind = 16 * int(rng.integers(2, 6)), int(rng.integers(4)), str(rng.choice(("d", "i")))
        calls.append([*in_pieces("a", message.added, size, offset), *in_pieces(kind, message.text, size, offset)])
        messages.append((message, plain))
    found = decrypted(program, [(message, each) for (message, _), each in zip(messages, calls, strict=True)])
    assert found == [(True, plain) for _, plain in messages]


def test_a_counter_passes_a_byte(program: Path) -> None:
    plain = bytes(np.random.default_rng(3).bytes(16 * 4000))  # counters beyond 255 and 2047
    message = Message.encrypted(bytes(range(32)), bytes(range(12)), b"", plain)
    assert decrypted(program, [(message, in_one_piece(message))]) == [(True, plain)]


def flipped(message: Message) -> Iterator[Message]:
    """Yield the message with each of its bits changed, in every part of it and in the key."""
    for part in ("key", "nonce", "added", "text", "tag"):
        data = getattr(message, part)
        for bit in range(8 * len(data)):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            yield replace(message, **{part: bytes(changed)})


@pytest.mark.parametrize("key_bytes", [16, 32])
def test_every_flipped_bit_is_refused(program: Path, key_bytes: int) -> None:
    message = Message.encrypted(bytes(range(key_bytes)), bytes(range(12)), bytes(20), bytes(range(37)))
    changed = list(flipped(message))
    assert len(changed) == 8 * (key_bytes + 12 + 20 + 37 + 16)
    assert is_taken(program, message, in_one_piece(message))
    assert not any(is_good for is_good, _ in decrypted(program, [(each, in_one_piece(each)) for each in changed]))


def test_bytes_moved_between_text_and_associated_data_are_refused(program: Path) -> None:
    message = Message.encrypted(bytes(16), bytes(12), bytes(32), bytes(32))
    moved = replace(message, added=message.added + message.text[:16], text=message.text[16:])
    shorter, longer = replace(message, text=message.text[:-1]), replace(message, text=message.text + b"\0")
    for each in (moved, shorter, longer, replace(message, added=message.added + b"\0")):
        assert not is_taken(program, each, in_one_piece(each))


def test_calls_that_are_not_allowed_are_refused(program: Path) -> None:
    message = Message.encrypted(bytes(16), bytes(12), bytes(32), bytes(32))
    added, text = Call("a", message.added), Call("d", message.text)
    assert is_taken(program, message, [Call("a", b""), added, Call("a", b""), Call("d", b""), text, Call("d", b"")])
    for calls in (
        [text, added],
        [Call("a", message.added[:16]), text, Call("a", message.added[16:])],
        [*in_pieces("a", message.added, 20), text],
        [added, *in_pieces("d", message.text, 20)],
    ):
        assert not is_taken(program, message, calls)


def test_associated_data_behind_the_text_are_refused(program: Path) -> None:
    """Text and associated data that are exchanged, and as long as each other, have the tag of the message."""
    message = Message.encrypted(bytes(16), bytes(12), bytes(range(32)), bytes(32))
    assert is_taken(program, message, in_one_piece(message))
    assert not is_taken(program, message, [Call("d", message.added), Call("a", message.text)])


def test_nothing_is_decrypted_behind_a_part_of_a_block(program: Path) -> None:
    message = Message.encrypted(bytes(16), bytes(12), b"", bytes(range(1, 33)))
    [(_, found)] = decrypted(program, [(message, in_pieces("d", message.text, 20))])
    assert found == bytes(range(1, 21)) + bytes(12)


@pytest.mark.parametrize("key_bytes", [0, 1, 15, 17, 24, 31])
def test_keys_of_other_lengths_are_refused(program: Path, key_bytes: int) -> None:
    message = Message(bytes(key_bytes), bytes(12), b"", bytes(16), bytes(16))
    assert decrypted(program, [(message, in_one_piece(message))]) == [(False, bytes(16))]
