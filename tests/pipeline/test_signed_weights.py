"""Signed weights on boards: they take those of their owner over the host port, no others and no older ones."""

import json
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.console import Console

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from example_folders.weights_folders import (
    KEY,
    generate,
    other_model,
    pem_of,
    shared_signed,
    signer,
)
from rigs.updated_boards import board_of, one_board, with_one_slot
from session.shared_folder import made_once
from tinysplit.build.weights import checked_weights_file
from tinysplit.cli.run import ProgramChoice
from tinysplit.common.choices import WeightsIn
from tinysplit.common.errors import InputError, ToolError, UsageError
from tinysplit.common.project_files import SPLIT_NAME
from tinysplit.project.manifest import Project
from tinysplit.weights_file.file import CRC_BYTES, HEADER_BYTES, read_weights_file
from tinysplit.weights_file.signing_key import SIGNATURE_BYTES, SIGNING_KEY_FILE_VARIABLE, SIGNING_KEY_VARIABLE
from tinysplit_hil.bench.flash import targets_of
from tinysplit_hil.bench.update import ERASED, UNIT_BYTES, update_boards
from tinysplit_hil.measure.report import LEAST_FREE_STACK_BYTES
from tinysplit_hil.rig.rig import open_rig
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.tasks import Task

G0, L4 = "nucleo_g071rb", "nucleo_l452re"
SMALL = 0  # index of the board with a weights file of 700 bytes
QUIET = Console(quiet=True)
END_BYTES = SIGNATURE_BYTES + CRC_BYTES


def shared_newer() -> tuple[Project, Path]:
    """Return another network of the structure of the shared folder, made once: do not write into it."""

    def make(out: Path) -> None:
        _, structure = shared_signed(G0, L4)
        with TemporaryDirectory() as scratch:
            model = other_model(Path(scratch))
            generate(out, G0, L4, model=model, structure=structure, key=KEY, signer=signer())

    folder = made_once("signed-newer", make)
    return Project.read(folder), folder


def with_crc(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(CRC_BYTES, "little")


def without_signature(right: bytes) -> bytes:
    """Return the file that an owner without `--sign` would have made."""
    size = len(right) - SIGNATURE_BYTES
    return with_crc(right[:8] + size.to_bytes(4, "little") + right[12:26] + b"\1" + right[27:-END_BYTES])


def wrong_files(right: bytes) -> Iterator[bytes]:
    """Yield files with right CRCs whose signature is not the owner's."""
    manifest, signature = right[:-END_BYTES], right[-END_BYTES:-CRC_BYTES]
    yield with_crc(manifest + signature[:31] + bytes([signature[31] ^ 1]) + signature[32:])
    yield with_crc(manifest + signer(2).sign(manifest))
    yield with_crc(manifest[:20] + bytes([manifest[20] ^ 1]) + manifest[21:] + signature)  # not the program's business


def send(client: BoardClient, file: bytes, *, may_be_older: bool = False) -> Task[None]:
    """Send a file as `tinysplit update` does, but whatever it is."""
    yield from client.begin_weights(file[:HEADER_BYTES], may_be_older=may_be_older)
    padded = file + ERASED * (-len(file) % UNIT_BYTES)
    for offset in range(0, len(padded), 512):
        yield from client.write_weights(offset, padded[offset : offset + 512])
    yield from client.commit_weights()


@pytest.mark.slow
def test_boards_take_what_their_owner_has_signed_and_nothing_else() -> None:
    project, old = shared_signed(G0, L4)
    new, folder = shared_newer()
    assert new.project_hash == project.project_hash
    file = new.boards[SMALL].weights_path(folder).read_bytes()
    new, before = one_board(new, SMALL), one_board(project, SMALL)
    with board_of(project, old, SMALL) as (rig, _, client):
        for wrong in wrong_files(file):
            with pytest.raises(ToolError, match="WEIGHTS: the new weights file is not signed by the owner"):
                client.run(send(client, wrong))
        with pytest.raises(ToolError, match="for programs of another structure"):
            client.run(send(client, without_signature(file)))
        stack = client.run(client.stack())
        assert stack.free_bytes >= LEAST_FREE_STACK_BYTES
        client.run(client.reboot())
        [found] = update_boards(new, folder, rig, QUIET, may_be_older=False)
        assert (found.before.counter, found.after.counter) == (1, 2)
        client.run(client.give_key(KEY.data))
        old_file = project.boards[SMALL].weights_path(old).read_bytes()
        with pytest.raises(ToolError, match="is older than its own"):
            client.run(send(client, old_file, may_be_older=True))
        with pytest.raises(ToolError, match=r"newer than those of the folder \(1\): .*; use `tinysplit flash"):
            update_boards(before, old, rig, QUIET, may_be_older=False)
        with pytest.raises(UsageError, match="--allow-older: boards take no older signed weights"):
            update_boards(before, old, rig, QUIET, may_be_older=True)


def with_counter(file: bytes, counter: int) -> bytes:
    """Return a file with another counter, signed by the owner."""
    manifest = file[:16] + counter.to_bytes(4, "little") + file[20:-END_BYTES]
    return with_crc(manifest + signer().sign(manifest))


@pytest.mark.slow
def test_every_bit_of_the_counter_counts() -> None:
    project, folder = shared_signed(G0, L4)
    file, counter = project.boards[SMALL].weights_path(folder).read_bytes(), 0xFFFFFFFF
    with board_of(project, folder, SMALL) as (_, _, client):
        client.run(send(client, with_counter(file, counter)))
        assert counter_after_restart(client) == counter
        client.run(client.begin_weights(with_counter(file, counter)[:HEADER_BYTES], may_be_older=False))
        for bit in range(32):
            older = with_counter(file, counter ^ 1 << bit)[:HEADER_BYTES]
            with pytest.raises(ToolError, match="WEIGHTS: the new weights file is older than its own"):
                client.run(client.begin_weights(older, may_be_older=bool(bit % 2)))


@pytest.mark.slow
def test_no_older_file_comes_with_the_header_of_a_newer_one() -> None:
    """BEGIN_WEIGHTS looks at the counter of a header, COMMIT_WEIGHTS at the signature of the file behind it."""
    project, folder = shared_signed(G0, L4)
    older = project.boards[SMALL].weights_path(folder).read_bytes()
    padded = older + ERASED * (-len(older) % UNIT_BYTES)
    counter = 1 << 30
    with board_of(project, folder, SMALL) as (_, _, client):
        client.run(send(client, with_counter(older, counter)))
        assert counter_after_restart(client) == counter
        for bit in (31, 30):  # of headers that are as new, or newer
            header = older[:16] + (1 | 1 << bit).to_bytes(4, "little") + older[20:HEADER_BYTES]
            client.run(client.begin_weights(header, may_be_older=False))
            for offset in range(0, len(padded), 512):
                client.run(client.write_weights(offset, padded[offset : offset + 512]))
            with pytest.raises(ToolError, match="its weights file has changed"):
                client.run(client.commit_weights())
        assert counter_after_restart(client) == counter


def counter_after_restart(client: BoardClient) -> int:
    """Let a board start again, and return the counter of the file that it has then."""
    boots = client.run(client.identify()).boot_count
    client.run(client.reboot())
    for _ in range(40):
        with suppress(ToolError):
            if client.run(client.identify()).boot_count > boots:
                return client.run(client.weights()).counter
    pytest.fail("it does not start")


@pytest.mark.slow
def test_a_board_with_one_slot_keeps_its_weights(tmp_path: Path) -> None:
    """Its old file, with the counter, would be erased before the new one is verified."""
    project, old = shared_signed(G0, L4)
    new, newer = shared_newer()
    folder = with_one_slot(project, old, tmp_path, SMALL)
    with board_of(project, folder, SMALL) as (rig, _, client):
        with pytest.raises(ToolError, match="its flash has no second slot for signed weights: `tinysplit flash --w"):
            update_boards(one_board(new, SMALL), newer, rig, QUIET, may_be_older=False)
        assert client.run(client.staging()).slot_bytes == 0
        client.run(client.give_key(KEY.data))
        assert client.run(client.weights()).counter == 1


def test_a_file_of_somebody_else_leaves_no_folder(tmp_path: Path) -> None:
    """The owner's tool looks at the signature before any board, even where CRC and manifest were made to fit."""
    project, newer = shared_newer()
    folder = tmp_path / "newer"
    shutil.copytree(newer, folder)
    board = project.boards[SMALL]
    path, file = board.weights_path(folder), board.weights_file
    right = path.read_bytes()
    checked_weights_file(project, board, folder)
    assert file is not None
    for wrong, reason in {
        next(wrong_files(right)): "its signature is wrong, or that of another key",
        without_signature(right): "it has no signature",
    }.items():
        path.write_bytes(wrong)
        crc = int.from_bytes(wrong[-CRC_BYTES:], "little")
        other = board.model_copy(update={"weights_file": file.model_copy(update={"crc": crc})})
        changed = project.model_copy(update={"boards": (other, *project.boards[1:])})
        line = rf"board1.*weights\.bin is not signed by the owner of the programs .*: {reason}: generate"
        with pytest.raises(InputError, match=line):
            targets_of(changed, folder, tmp_path / "absent.toml", weights_only=True)
        with (
            open_rig("virtual", *shared_signed(G0, L4)) as rig,
            pytest.raises(InputError, match=line),
        ):
            update_boards(changed, folder, rig, QUIET, may_be_older=False)
        path.write_bytes(right)


def test_info_says_who_has_signed(tmp_path: Path) -> None:
    project, folder = shared_signed(G0, L4)
    board = project.boards[SMALL]
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
    alone.write_bytes(without_signature(path.read_bytes()))
    assert "signed         no" in run("info", str(alone))


def test_no_private_key_is_in_a_generated_folder() -> None:
    _, folder = shared_signed(G0, L4)
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
    _, folder = shared_signed(G0, L4)
    plain, out = tmp_path / "plain", tmp_path / "out"
    plain.mkdir()
    shutil.copyfile(folder / SPLIT_NAME, plain / SPLIT_NAME)
    Project.read(folder).model_copy(update={"signing_key": None}).write(plain)

    def generated(structure: Path, *options: str, expect: int) -> str:
        split = ("--split", str(structure / SPLIT_NAME), "-s", str(example.CALIBRATION), "-o", str(out))
        return run("generate", str(example.MODEL), *split, *options, expect=expect)

    monkeypatch.setenv("TINYSPLIT_WEIGHTS_KEY", KEY.data.hex())
    assert "--sign signs weights files: add --weights binary" in generated(plain, "--sign", expect=USAGE)
    line = generated(plain, "--weights", "binary", "--sign", expect=BAD_INPUT)
    assert f"signed weights need a private key: set {SIGNING_KEY_FILE_VARIABLE}" in line
    line = generated(plain, "--structure-of", str(plain), "--sign", expect=USAGE)
    assert "are not signed: leave --sign out" in line
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(keys[2]))
    line = generated(folder, "--structure-of", str(folder), expect=BAD_INPUT)
    assert f"are signed with the key {signer().public_key.hex()}, and the signing key that is set is" in line
    assert not out.exists()


def test_run_signs_as_generate_does(keys: MappingProxyType[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SIGNING_KEY_FILE_VARIABLE, str(keys[2]))
    chosen = ProgramChoice(weights=WeightsIn.BINARY, sign=True).options
    assert chosen.weights_signer is not None
    assert chosen.weights_signer.public_key == signer(2).public_key
    with pytest.raises(UsageError, match="--sign signs weights files"):
        _ = ProgramChoice(sign=True).options
