"""Encrypted weights on boards: decrypted with the right key only, and as the others once they are."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from example_folders import example
from example_folders.weights_folders import KEY, generate, other_model, shared_binary, shared_encrypted
from session.profiles import cases
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.secret_key import KEY_FILE_VARIABLE, KEY_VARIABLE, NONCE_BYTES, TAG_BYTES, Encrypted
from tinysplit.weights_file.file import CRC_BYTES, SECURITY_BYTES, read_weights_file
from tinysplit_hil.bench.update import update_boards
from tinysplit_hil.rig.rig import open_rig
from tinysplit_hil.wire.request_port import ClientError

F4, L4, G0 = "nucleo_f401re", "nucleo_l452re", "nucleo_g071rb"
SAMPLES = ("--samples", str(example.SAMPLES), "--sample-count", "3")
QUIET = Console(quiet=True)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_FILE_VARIABLE, raising=False)
    monkeypatch.setenv(KEY_VARIABLE, KEY.data.hex())


@pytest.mark.usefixtures("key")
def test_outputs_are_those_of_weights_that_are_not_encrypted() -> None:
    _, plain = shared_binary(F4, L4)
    _, folder = shared_encrypted(F4, L4)
    before, now = (json.loads(run("measure", str(each), *SAMPLES, "--json")) for each in (plain, folder))
    assert before["output"]["bit_exact"]
    assert now["output"]["bit_exact"]
    cycles = [sum(layer["cycles"] for layer in report["layers"]) for report in (before, now)]
    assert cycles[1] < 1.01 * cycles[0]  # in RAM, they need no wait states of the flash


@pytest.mark.usefixtures("key")
def test_without_the_right_key_nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, folder = shared_encrypted(F4, L4)
    measure = ("measure", str(folder), *SAMPLES)
    monkeypatch.setenv(KEY_VARIABLE, bytes(range(1, 17)).hex())
    assert "its weights are encrypted with another key, or have changed" in run(*measure, expect=TOOL)
    monkeypatch.setenv(KEY_VARIABLE, "00" * 15)
    assert "has 30 hexadecimal digits: a key has 16 or 32 bytes" in run(*measure, expect=BAD_INPUT)
    monkeypatch.delenv(KEY_VARIABLE)
    assert f"encrypted weights need a key: set {KEY_VARIABLE}" in run(*measure, expect=BAD_INPUT)
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(tmp_path / "absent"))
    assert "absent cannot be read" in run(*measure, expect=BAD_INPUT)
    (tmp_path / "key").write_bytes(KEY.data)
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(tmp_path / "key"))
    assert json.loads(run(*measure, "--json"))["output"]["bit_exact"]


def test_a_board_has_no_weights_until_it_has_the_key() -> None:
    project, folder = shared_encrypted(F4, L4)
    with open_rig("virtual", project, folder) as rig:
        clients = rig.clients(project)
        client = clients[2]
        client.run(client.check_flash())
        with pytest.raises(ClientError, match="BAD_LENGTH"):
            client.run(client.give_key(KEY.data[:15]))
        with pytest.raises(ClientError, match="its weights are encrypted, and it has no key since its start"):
            client.run(client.reset(1))
        for each in clients.values():
            each.run(each.stop(1.0))
            each.run(each.give_key(KEY.data))
        client.run(client.reset(2))
        with pytest.raises(ClientError, match="BUSY"):
            client.run(client.give_key(KEY.data))


def test_no_key_is_in_a_generated_folder() -> None:
    _, folder = shared_encrypted(F4, L4)
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("model.onnx", "parameters.npz"):
            content = path.read_bytes()
            assert KEY.data not in content, path
            assert KEY.data.hex().encode() not in content.lower(), path


def test_arrays_are_those_of_the_plain_file() -> None:
    project, folder = shared_encrypted(F4, L4)
    plain_project, plain = shared_binary(F4, L4)
    for board, other in zip(project.boards, plain_project.boards, strict=True):
        file = board.weights_path(folder).read_bytes()
        message, added = parts_of(file)
        assert KEY.decrypt(message, added) == read_weights_file(other.weights_path(plain)).data
        assert read_weights_file(board.weights_path(folder)).is_encrypted
        assert "encrypted      AES-GCM" in run("info", str(board.weights_path(folder)))


def parts_of(file: bytes) -> tuple[Encrypted, bytes]:
    """Return message and associated data of an encrypted file."""
    first = int.from_bytes(file[6:8], "little")
    block = file[first - SECURITY_BYTES :]
    nonce, tag = block[:NONCE_BYTES], block[NONCE_BYTES : NONCE_BYTES + TAG_BYTES]
    return Encrypted(nonce, file[first:-CRC_BYTES], tag), file[: first - SECURITY_BYTES]


def test_changes_with_a_right_crc_are_not_authentic() -> None:
    project, folder = shared_encrypted(F4, L4)
    file = bytearray(project.boards[1].weights_path(folder).read_bytes())
    rng = np.random.default_rng(5)
    for _ in range(cases(quick=100, full=1000, nightly=10_000)):
        offset = int(rng.integers(28, len(file) - CRC_BYTES))
        flipped = int(rng.integers(1, 256))
        first = int.from_bytes(file[6:8], "little")
        if first - CRC_BYTES <= offset < first:  # zeros behind the tag
            continue
        changed = file.copy()
        changed[offset] ^= flipped
        with pytest.raises(ValueError, match="its tag is wrong"):
            KEY.decrypt(*parts_of(bytes(changed)))


def test_a_board_refuses_a_change_with_a_right_crc(tmp_path: Path) -> None:
    project, folder = shared_encrypted(F4, L4)
    board = project.boards[1]
    file, elf = board.weights_path(folder).read_bytes(), board.elf(folder)
    changed = bytearray(file[:-CRC_BYTES])
    changed[len(changed) // 2] ^= 1
    image = bytearray(elf.read_bytes())
    begin = image.index(file)
    image[begin : begin + len(file)] = changed + zlib.crc32(changed).to_bytes(CRC_BYTES, "little")
    other = tmp_path / board.elf(Path()).relative_to(Path())
    other.parent.mkdir(parents=True)
    other.write_bytes(image)
    first = project.boards[0].elf(tmp_path)
    first.parent.mkdir(parents=True)
    first.write_bytes(project.boards[0].elf(folder).read_bytes())
    with open_rig("virtual", project, tmp_path) as rig:
        client = rig.clients(project)[2]
        client.run(client.check_flash())
        with pytest.raises(ClientError, match="encrypted with another key, or have changed"):
            client.run(client.give_key(KEY.data))


@pytest.mark.usefixtures("key")
def test_boards_take_new_encrypted_weights(tmp_path: Path) -> None:
    project, folder = shared_encrypted(F4, L4)
    new = generate(tmp_path / "new", F4, L4, model=other_model(tmp_path), structure=folder, key=KEY)
    assert new.project_hash == project.project_hash
    with open_rig("virtual", project, folder) as rig:
        found = update_boards(new, tmp_path / "new", rig, QUIET, may_be_older=False)
        assert [each.after.counter for each in found] == [2, 2]
        clients = rig.clients(project)
        with pytest.raises(ClientError, match="it has no key since its start"):
            clients[1].run(clients[1].reset(1))
        clients[1].run(clients[1].give_key(KEY.data))


def test_the_protocol_of_mlperf_has_no_keys(tmp_path: Path) -> None:
    _, folder = shared_binary(F4, L4)
    split = ("--split", str(folder / "split.json"), "-s", str(example.CALIBRATION), "-o", str(tmp_path / "out"))
    options = ("--weights", "encrypted", "--host-protocol", "mlperf", "--mlperf-model", "kws01")
    line = run("generate", str(example.MODEL), *split, *options, expect=USAGE)
    assert "--host-protocol mlperf has no request for a key" in line


@pytest.mark.usefixtures("key")
def test_a_layer_that_ram_cannot_hold_is_refused_with_figures(tmp_path: Path) -> None:
    line = r"33216 bytes of decrypted weights of layer 5 'conv3' do not fit into RAM, where at most 2\d{4} bytes are"
    with pytest.raises(CheckFailedError, match=line):
        generate(tmp_path / "out", G0, G0, key=KEY)
    assert not (tmp_path / "out").exists()
