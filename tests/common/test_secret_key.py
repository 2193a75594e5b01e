"""Secret keys: where they may come from, that nothing prints them, and what is encrypted with them."""

import sys
import tomllib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.secret_key import NONCE_BYTES, TAG_BYTES, Encrypted, SecretKey

ROOT = Path(__file__).parents[2]
SHORT, LONG = bytes(range(128, 144)), bytes(range(224, 256))
VARIABLE = "TINYSPLIT_TEST_KEY"


def key_file(folder: Path, content: bytes) -> Path:
    path = folder / "weights.key"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("key", [SHORT, LONG, b"\n" * 16, b" " * 32])
def test_a_file_has_bytes(tmp_path: Path, key: bytes) -> None:
    assert SecretKey.from_file(key_file(tmp_path, key)).data == key


@pytest.mark.parametrize("key", [SHORT, LONG])
@pytest.mark.parametrize("form", ["{}", "{}\n", " {}\r\n"])
def test_a_file_or_a_variable_has_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes, form: str
) -> None:
    for text in (form.format(key.hex()), form.format(key.hex().upper())):
        assert SecretKey.from_file(key_file(tmp_path, text.encode())).data == key
        monkeypatch.setenv(VARIABLE, text)
        assert SecretKey.from_environment(VARIABLE).data == key


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "has 0 bytes: a key has 16 or 32 bytes"),
        (b"\x80", "has 1 byte: a key"),
        (SHORT + b"\n", "has 17 bytes: a key"),
        (bytes(24), "has 24 bytes: a key"),
        (SHORT.hex().encode()[:-1], "has 31 hexadecimal digits: a key"),
        (SHORT.hex().encode()[:-2], "has 30 hexadecimal digits: a key"),
        (b"a\n", "has 1 hexadecimal digit: a key"),
        (bytes(1025), "has more than 1024 bytes: a key"),
    ],
)
def test_a_file_of_another_length_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = key_file(tmp_path, content)
    with pytest.raises(InputError, match=rf"^the key file .*weights\.key {reason}") as refused:
        SecretKey.from_file(path)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent.key", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=rf"{path.name} cannot be read \({reason}.*\): name a file with a key$"):
            SecretKey.from_file(path)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=f"^the environment variable {VARIABLE} is not set: "):
        SecretKey.from_environment(VARIABLE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("secret password!", "has characters that are not hexadecimal digits: a key has"),
        (SHORT.hex()[:-1] + "\u00e9", "has characters that are not hexadecimal digits: a key has"),
        (SHORT.hex() + "00", "has 34 hexadecimal digits: a key has"),
        ("123", "has 3 hexadecimal digits: a key has"),
    ],
)
def test_a_variable_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=f"^the environment variable {VARIABLE} {reason}") as refused:
        SecretKey.from_environment(VARIABLE)
    assert text not in str(refused.value)


@pytest.mark.parametrize("key", [SHORT, LONG])
def test_a_key_in_place_of_a_name_is_not_printed(tmp_path: Path, key: bytes) -> None:
    for name in (key.hex(), key.hex().upper()):
        with pytest.raises(InputError, match=r"^the name of a file with the key is wanted") as refused:
            SecretKey.from_file(tmp_path / name)
        assert name not in str(refused.value)
        with pytest.raises(InputError, match=r"^the name of an environment variable with the key is wanted") as refused:
            SecretKey.from_environment(name)
        assert name not in str(refused.value)


def test_no_text_of_a_key_shows_it() -> None:
    key = SecretKey(SHORT)
    for text in (repr(key), str(key), f"{key}", repr([key])):
        assert text.strip("[]") == "SecretKey()"
    with pytest.raises(ValueError, match=r"^24 bytes: a key has 16 or 32 bytes"):
        SecretKey(bytes(24))


@pytest.mark.parametrize("data", [SHORT, LONG])
@pytest.mark.parametrize("plain", [b"", b"weights", bytes(1000)])
def test_what_is_encrypted_is_decrypted_again(data: bytes, plain: bytes) -> None:
    key = SecretKey(data)
    message = key.encrypt(plain, b"header")
    assert (len(message.nonce), len(message.text), len(message.tag)) == (NONCE_BYTES, len(plain), TAG_BYTES)
    assert key.decrypt(message, b"header") == plain
    assert AESGCM(data).decrypt(message.nonce, message.text + message.tag, b"header") == plain


def test_every_message_has_another_nonce() -> None:
    messages = [SecretKey(SHORT).encrypt(bytes(16)) for _ in range(100)]
    assert len({message.nonce for message in messages}) == len({message.text for message in messages}) == 100


def test_a_changed_message_is_refused() -> None:
    key = SecretKey(SHORT)
    good = key.encrypt(b"weights", b"header")
    wrong = Encrypted(good.nonce, good.text[:-1] + bytes([good.text[-1] ^ 1]), good.tag)
    for other_key, message, added in ((key, wrong, b"header"), (key, good, b""), (SecretKey(LONG), good, b"header")):
        with pytest.raises(ValueError, match=r"^encrypted with another key, or changed since"):
            other_key.decrypt(message, added)


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(ToolError, match=r"^encryption needs cryptography, extra `encryption`: .* -m pip install"):
        SecretKey(SHORT).encrypt(b"weights")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [requirement] = extras["encryption"]
    assert requirement.startswith("cryptography>=")
    assert requirement in extras["dev"]


@pytest.mark.parametrize(("mode", "is_open"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_a_file_that_others_can_read_is_warned_of_once(
    mode: int, is_open: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = key_file(tmp_path, SHORT)
    path.chmod(mode)
    for _ in range(2):
        SecretKey.from_file(path)
    warning = f"the key file {path} is open to other users: allow them nothing (`chmod 600`)"
    assert caplog.messages == [warning] * is_open
