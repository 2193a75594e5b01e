"""Encrypted weights that RAM does not hold all at once: layers that are decrypted in each inference."""

import json
import zlib
from pathlib import Path

import pytest
from rich.console import Console

from commands.command_line import CHECK_FAILED, run
from example_folders.weights_folders import KEY, dense_chain, generate, other_model, shared_chain
from tinysplit.common.secret_key import KEY_FILE_VARIABLE, KEY_VARIABLE
from tinysplit.project.manifest import ConstantsIn, Project
from tinysplit.weights_file.file import CRC_BYTES
from tinysplit_hil.bench.update import update_boards
from tinysplit_hil.rig.rig import open_rig
from tinysplit_hil.wire.request_port import ClientError

G0, F4, H7 = "nucleo_g071rb", "nucleo_f446re", "nucleo_h743zi"
CHAIN = (64, 64, 64, 10)
MOST_STACK_BYTES = 700
QUIET = Console(quiet=True)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_FILE_VARIABLE, raising=False)
    monkeypatch.setenv(KEY_VARIABLE, KEY.data.hex())


def again(project: Project) -> tuple[int, ...]:
    """Return the layers that are decrypted in each inference."""
    [board] = project.boards
    assert board.weights_file
    return board.weights_file.decryption.layers


@pytest.mark.parametrize(
    ("board", "widths"),
    [
        (G0, CHAIN),
        pytest.param(F4, (300, 260, 200, 10), marks=pytest.mark.nightly),
        pytest.param(H7, (700, 700, 10), marks=pytest.mark.nightly),  # of 512 KB, where it keeps what fits
    ],
)
def test_outputs_are_exact_in_the_time_that_is_estimated(board: str, widths: tuple[int, ...]) -> None:
    project, folder = shared_chain(board, *widths)
    layers = again(project)
    assert 0 < len(layers) < len(project.layers) - 1
    report = json.loads(
        run("measure", str(folder), "--samples", str(folder.parent / "chain.npz"), "--sample-count", "2", "--json")
    )
    assert report["output"]["bit_exact"]
    for layer, measured in zip(project.layers, report["layers"], strict=True):
        if layer.number in layers:
            assert layer.memory.constants_in is ConstantsIn.RAM
            assert layer.estimated_cycles == pytest.approx(measured["cycles"], rel=0.03)
    assert report["boards"][0]["stack_used_bytes"] < MOST_STACK_BYTES


def test_runs_need_the_key_once_after_each_start() -> None:
    project, folder = shared_chain(G0, *CHAIN)
    with open_rig("virtual", project, folder) as rig:
        client = rig.clients(project)[1]
        client.run(client.check_flash())
        with pytest.raises(ClientError, match="encrypted with another key, or have changed"):
            client.run(client.give_key(bytes(16)))
        with pytest.raises(ClientError, match="it has no key since its start"):
            client.run(client.reset(1))
        client.run(client.stop(1.0))
        client.run(client.give_key(KEY.data))
        for number in (2, 3):
            client.run(client.reset(number))
            client.run(client.stop(1.0))
        client.run(client.reset(4))
        with pytest.raises(ClientError, match="BUSY"):
            client.run(client.give_key(KEY.data))


def write_program(project: Project, folder: Path, out: Path, weights: bytes) -> None:
    """Write the program of a folder with other weights into the folder `out`."""
    [board] = project.boards
    image, elf = board.elf(folder).read_bytes(), board.elf(out)
    elf.parent.mkdir(parents=True, exist_ok=True)
    elf.write_bytes(image.replace(board.weights_path(folder).read_bytes(), weights))


def test_a_change_of_any_layer_is_refused_with_the_key(tmp_path: Path) -> None:
    """The last bytes of the file are those of a layer that is decrypted in each inference."""
    project, folder = shared_chain(G0, *CHAIN)
    [board] = project.boards
    changed = bytearray(board.weights_path(folder).read_bytes()[:-CRC_BYTES])
    changed[-1] ^= 1
    write_program(project, folder, tmp_path, bytes(changed) + zlib.crc32(changed).to_bytes(CRC_BYTES, "little"))
    with open_rig("virtual", project, tmp_path) as rig:
        client = rig.clients(project)[1]
        client.run(client.check_flash())
        with pytest.raises(ClientError, match="encrypted with another key, or have changed"):
            client.run(client.give_key(KEY.data))


def other_network(out: Path) -> Project:
    """Generate another network of the structure into `out`."""
    _, folder = shared_chain(G0, *CHAIN)
    out.mkdir()
    model = other_model(out, model_file=folder.parent / "network.onnx")
    return generate(out / "new", G0, model=model, samples=folder.parent / "chain.npz", structure=folder, key=KEY)


def test_another_network_of_the_structure_runs_in_the_same_program(tmp_path: Path) -> None:
    project, folder = shared_chain(G0, *CHAIN)
    new, out = other_network(tmp_path / "other"), tmp_path / "other" / "new"
    assert (new.project_hash, again(new)) == (project.project_hash, again(project))
    write_program(project, folder, out, new.boards[0].weights_path(out).read_bytes())
    samples = ("--samples", str(folder.parent / "chain.npz"), "--sample-count", "1")
    assert json.loads(run("measure", str(out), *samples, "--json"))["output"]["bit_exact"]


@pytest.mark.nightly
def test_a_board_takes_another_network_and_forgets_the_key(tmp_path: Path) -> None:
    project, folder = shared_chain(G0, *CHAIN)
    new = other_network(tmp_path / "other")
    with open_rig("virtual", project, folder) as rig:
        client = rig.clients(project)[1]
        client.run(client.check_flash())
        client.run(client.give_key(KEY.data))
        [found] = update_boards(new, tmp_path / "other" / "new", rig, QUIET, may_be_older=False)
        assert found.after.counter == 2
        with pytest.raises(ClientError, match="it has no key since its start"):
            client.run(client.reset(1))
        client.run(client.stop(1.0))
        client.run(client.give_key(KEY.data))
        client.run(client.reset(2))


def test_generate_says_what_it_costs_and_what_does_not_fit(tmp_path: Path) -> None:
    _, folder = shared_chain(G0, *CHAIN)
    options = ("-s", str(folder.parent / "chain.npz"), "-o", str(tmp_path / "out"), "--weights", "encrypted")
    split = ("--split", str(folder / "split.json"))
    text = run("generate", str(folder.parent / "network.onnx"), *split, *options)
    assert "RAM does not hold all weights decrypted: those of layers 3, 4, 5 (" in text
    assert "ms of L (estimated), which the split does not count" in text
    model, _ = dense_chain(tmp_path, 96, 10)
    given = ("--board", G0, "--samples", str(folder.parent / "chain.npz"), "--calibration-samples")
    line = run("run", str(model), *given, str(folder.parent / "chain.npz"), *options[2:], expect=CHECK_FAILED)
    assert "bytes of decrypted weights of layer 3 'gemm_3' do not fit into RAM, where at most" in line
