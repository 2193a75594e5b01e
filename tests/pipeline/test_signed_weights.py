"""Signed weights on boards: they take those of their owner over the host port, no others and no older ones."""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.console import Console

import example
from command_line import BAD_INPUT, USAGE, run
from edwards import ORDER
from tinysplit.build.weights import check_weights_file
from tinysplit.common.errors import InputError, ToolError, UsageError
from tinysplit.common.signing_key import SIGNATURE_BYTES, SIGNING_KEY_FILE_VARIABLE, SIGNING_KEY_VARIABLE
from tinysplit.project.manifest import Project
from tinysplit.weights_file.file import CRC_BYTES, HEADER_BYTES, read_weights_file
from tinysplit_hil.bench.flash import targets_of
from tinysplit_hil.bench.update import ERASED, UNIT_BYTES, update_boards
from tinysplit_hil.client import BoardClient
from tinysplit_hil.rig import open_rig
from tinysplit_hil.tasks import Task
from weights_folders import (
    KEY,
    generate,
    other_model,
    pem_of,
    run_beside_others,
    shared_binary,
    shared_signed,
    signer,
)

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
SMALL = 1  # number of the board with a weights file of 700 bytes
QUIET = Console(quiet=True)
END_BYTES = SIGNATURE_BYTES + CRC_BYTES


def new_weights(folder: Path) -> tuple[Project, Path]:
    """Generate another network of the structure of the shared folder."""
    _, structure = shared_signed(G0, F4)
    out = folder / "new"
    return generate(out, G0, F4, model=other_model(folder), structure=structure, key=KEY, signer=signer()), out


def with_crc(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(CRC_BYTES, "little")


def wrong_files(right: bytes) -> Iterator[bytes]:
    """Yield files with right CRCs whose signature is not the owner's."""
    manifest, signature = right[:-END_BYTES], right[-END_BYTES:-CRC_BYTES]
    yield with_crc(manifest + signature[:31] + bytes([signature[31] ^ 1]) + signature[32:])
    s = int.from_bytes(signature[32:], "little") + ORDER
    yield with_crc(manifest + signature[:32] + s.to_bytes(32, "little"))
    yield with_crc(manifest + signer(2).sign(manifest))
    yield with_crc(manifest[:-1] + bytes([manifest[-1] ^ 1]) + signature)
    yield with_crc(manifest[:20] + bytes([manifest[20] ^ 1]) + manifest[21:] + signature)  # the header's


def send(client: BoardClient, file: bytes, *, may_be_older: bool = False) -> Task[None]:
    """Send a file as `tinysplit update` does, but whatever it is."""
    yield from client.begin_weights(file[:HEADER_BYTES], may_be_older=may_be_older)
    padded = file + ERASED * (-len(file) % UNIT_BYTES)
    for offset in range(0, len(padded), 512):
        yield from client.write_weights(offset, padded[offset : offset + 512])
    yield from client.commit_weights()


def test_boards_take_what_their_owner_has_signed_and_nothing_else(tmp_path: Path) -> None:
    project, old = shared_signed(G0, F4)
    new, folder = new_weights(tmp_path)
    assert new.project_hash == project.project_hash
    file = new.boards[SMALL - 1].weights_path(folder).read_bytes()
    with open_rig("virtual", project, old) as rig:
        clients = rig.clients(project)
        client = clients[SMALL]
        for wrong in wrong_files(file):
            with pytest.raises(ToolError, match="WEIGHTS: the new weights file is not signed by the owner"):
                run_beside_others(rig, clients, send(client, wrong))
        unsigned = with_crc(file[:26] + b"\1" + file[27:-CRC_BYTES])
        with pytest.raises(ToolError, match="for programs of another structure"):
            run_beside_others(rig, clients, send(client, unsigned))
        run_beside_others(rig, clients, client.reboot())
        found = update_boards(new, folder, rig, QUIET, may_be_older=False)
        assert [each.before.counter for each in found] == [1, 1]
        assert [each.after.counter for each in found] == [2, 2]
        run_beside_others(rig, clients, client.give_key(KEY.data))
        old_file = project.boards[SMALL - 1].weights_path(old).read_bytes()
        with pytest.raises(ToolError, match="is older than its own"):
            run_beside_others(rig, clients, send(client, old_file, may_be_older=True))
        with pytest.raises(ToolError, match=r"newer than those of the folder \(1\): .*; use `tinysplit flash"):
            update_boards(project, old, rig, QUIET, may_be_older=False)
        with pytest.raises(UsageError, match="--allow-older: boards take no older signed weights"):
            update_boards(project, old, rig, QUIET, may_be_older=True)


def test_a_file_of_somebody_else_leaves_no_folder(tmp_path: Path) -> None:
    """The owner's tool looks at the signature before any board, even where CRC and manifest were made to fit."""
    project, folder = new_weights(tmp_path)
    board = project.boards[SMALL - 1]
    path, file = board.weights_path(folder), board.weights_file
    right = path.read_bytes()
    check_weights_file(project, board, folder)
    assert file is not None
    for wrong, reason in {
        next(wrong_files(right)): "its signature is wrong, or that of another key",
        with_crc(right[:8] + (len(right) - 64).to_bytes(4, "little") + right[12:26] + b"\1" + right[27:-END_BYTES]): (
            "it has no signature"
        ),
    }.items():
        path.write_bytes(wrong)
        crc = int.from_bytes(wrong[-CRC_BYTES:], "little")
        other = board.model_copy(update={"weights_file": file.model_copy(update={"crc": crc})})
        changed = project.model_copy(update={"boards": (other, *project.boards[1:])})
        line = rf"board1.*weights\.bin is not signed by the owner of the programs .*: {reason}: generate"
        with pytest.raises(InputError, match=line):
            targets_of(changed, folder, tmp_path / "absent.toml", weights_only=True)
        with (
            open_rig("virtual", *shared_signed(G0, F4)) as rig,
            pytest.raises(InputError, match=line),
        ):
            update_boards(changed, folder, rig, QUIET, may_be_older=False)
        path.write_bytes(right)


def test_info_says_who_has_signed(tmp_path: Path) -> None:
    project, folder = shared_signed(G0, F4)
    board = project.boards[SMALL - 1]
    assert project.signing_key == signer().public_key.hex()
    path = board.weights_path(folder)
    assert f"yes (public key {project.signing_key})" in run("info", str(path))
    [program, _] = json.loads(run("info", str(folder), "--json"))["programs"]
    assert program["signing_key"] == project.signing_key
    alone = tmp_path / "weights.bin"
    alone.write_bytes(path.read_bytes())
    assert "yes (the public key is that of the programs" in run("info", str(alone))
    file = read_weights_file(alone)
    assert file.is_signed_by(signer().public_key)
    assert not file.is_signed_by(signer(2).public_key)
    _, plain = shared_binary(G0, F4)
    assert "signed         no" in run("info", str(board.weights_path(plain)))


def test_no_private_key_is_in_a_generated_folder() -> None:
    _, folder = shared_signed(G0, F4)
    secret = bytes([1] * 32)
    digits = pem_of(Ed25519PrivateKey.from_private_bytes(secret)).splitlines()[1]
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("model.onnx", "parameters.npz"):
            content = path.read_bytes()
            assert not any(each in content for each in (secret, secret.hex().encode(), digits)), path


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MappingProxyType[int, Path]:
    """Files of private keys by seed."""
    monkeypatch.delenv(SIGNING_KEY_VARIABLE, raising=False)
    monkeypatch.delenv(SIGNING_KEY_FILE_VARIABLE, raising=False)
    files = {seed: tmp_path / f"owner{seed}.pem" for seed in (1, 2)}
    for seed, path in files.items():
        path.write_bytes(pem_of(Ed25519PrivateKey.from_private_bytes(bytes([seed] * 32))))
    return MappingProxyType(files)


def test_the_command_names_what_is_missing(
    keys: MappingProxyType[int, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, folder = shared_signed(G0, F4)
    _, plain = shared_binary(G0, F4)
    out = tmp_path / "out"

    def generated(structure: Path, *options: str, expect: int) -> str:
        split = ("--split", str(structure / "split.json"), "-s", str(example.CALIBRATION), "-o", str(out))
        return run("generate", str(example.MODEL), *split, *options, expect=expect)

    assert "--sign signs weights files: add --weights binary" in generated(plain, "--sign", expect=USAGE)
    line = generated(plain, "--weights", "binary", "--sign", expect=BAD_INPUT)
    assert f"signed weights need a private key: set {SIGNING_KEY_FILE_VARIABLE}" in line
    line = generated(plain, "--structure-of", str(plain), "--sign", expect=USAGE)
    assert "are not signed: leave --sign out" in line
    monkeypatch.setenv("TINYSPLIT_WEIGHTS_KEY", KEY.data.hex())
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(keys[2]))
    line = generated(folder, "--structure-of", str(folder), expect=BAD_INPUT)
    assert f"are signed with the key {signer().public_key.hex()}, and the signing key that is set is" in line
    assert not out.exists()
