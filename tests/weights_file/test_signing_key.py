"""Private keys that sign: where they may come from, what is refused, and that nothing prints them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from example_folders.weights_folders import pem_of
from tinysplit.common.errors import InputError, ToolError
from tinysplit.weights_file.signing_key import (
    SIGNING_KEY_FILE_VARIABLE,
    SIGNING_KEY_VARIABLE,
    SigningKey,
    is_signed_by,
    signing_key,
)

KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PEM, PUBLIC = pem_of(KEY), KEY.public_key().public_bytes_raw()


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SIGNING_KEY_VARIABLE, SIGNING_KEY_FILE_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def test_a_file_comes_before_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^signed weights need a private key: set TINYSPLIT_SIGNING_KEY_FILE .*openssl"
    ):
        signing_key()
    monkeypatch.setenv(SIGNING_KEY_VARIABLE, PEM.decode())
    assert signing_key().public_key == PUBLIC
    other = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "other.pem").write_bytes(b"a comment\n" + pem_of(other))
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(tmp_path / "other.pem"))
    assert signing_key().public_key == other.public_key().public_bytes_raw()


def test_signatures_are_those_of_the_key() -> None:
    key = SigningKey.from_pem(PEM, "the key")
    signature = key.sign(b"weights")
    assert is_signed_by(PUBLIC, signature, b"weights")
    assert not is_signed_by(PUBLIC, signature, b"weight")
    assert not is_signed_by(ed25519.Ed25519PrivateKey.generate().public_key().public_bytes_raw(), signature, b"weights")
    assert key.sign(b"weights") == signature  # RFC 8032: no random numbers


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "has no private key in PEM: make one with"),
        (bytes(range(32)), "has no private key in PEM"),
        (KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), "has no private key in PEM"),
        (PEM[:60] + PEM[70:], "has a damaged or unknown private key"),
        (pem_of(KEY, b"password"), "has an encrypted key: write it to another file with openssl"),
        (pem_of(rsa.generate_private_key(65537, 2048)), "has a key of RSA, and Ed25519 is needed"),
        (pem_of(x25519.X25519PrivateKey.generate()), "has a key of X25519, and Ed25519 is needed"),
        (pem_of(ec.generate_private_key(ec.SECP256R1())), "has a key of .*, and Ed25519 is needed"),
        (bytes(16385), "has more than 16384 bytes"),
    ],
)
def test_other_files_are_refused(content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "owner.pem"
    path.write_bytes(content)
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(path))
    with pytest.raises(InputError, match=rf"^the signing key file .*owner\.pem {reason}") as refused:
        signing_key()
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(tmp_path / "absent.pem"))
    with pytest.raises(InputError, match=r"^the signing key file .*absent\.pem cannot be read \(No such file"):
        signing_key()


def test_no_message_has_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = PEM.decode().splitlines()[1]
    assert secret not in repr(SigningKey.from_pem(PEM, "the key"))
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, PEM.decode())
    with pytest.raises(InputError, match=r"^TINYSPLIT_SIGNING_KEY_FILE has to be the path") as refused:
        signing_key()
    assert secret not in str(refused.value)
    monkeypatch.delenv(SIGNING_KEY_FILE_VARIABLE)
    monkeypatch.setenv(SIGNING_KEY_VARIABLE, secret)
    with pytest.raises(InputError, match="TINYSPLIT_SIGNING_KEY has no private key in PEM") as refused:
        signing_key()
    assert secret not in str(refused.value)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_keys_and_signatures_are_those_of_openssl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The commands are those of docs/do/weights_file.md."""

    def openssl(*arguments: str) -> str:
        return subprocess.run(["openssl", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    openssl("genpkey", "-algorithm", "ed25519", "-out", "owner.pem")
    openssl("pkey", "-in", "owner.pem", "-pubout", "-out", "owner.pub")
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(tmp_path / "owner.pem"))
    key = signing_key()
    (tmp_path / "signed").write_bytes(b"weights")
    (tmp_path / "signature").write_bytes(key.sign(b"weights"))
    verify = ("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "owner.pub", "-in", "signed", "-sigfile", "signature")
    assert "Signature Verified Successfully" in openssl(*verify)


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for call in (lambda: SigningKey.from_pem(PEM, "the key"), lambda: is_signed_by(PUBLIC, bytes(64), b"")):
        with pytest.raises(ToolError, match=r"^signatures need cryptography, extra `encryption`: .* -m pip install"):
            call()


def test_a_file_that_others_can_read_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "owner.pem"
    path.write_bytes(PEM)
    path.chmod(0o644)
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(path))
    signing_key()
    assert caplog.messages == [f"the signing key file {path} is open to other users: allow them nothing (`chmod 600`)"]
