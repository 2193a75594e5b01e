"""Networks that keep their states on virtual boards: bit-exact over all samples of a run, alone and in a stream."""

import json
from pathlib import Path

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, CHECK_FAILED, USAGE, run
from models.two_inputs import streaming

G0, F4 = "nucleo_g071rb", "nucleo_f401re"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A network of two layers that boards keep the states of, by the command."""
    model = tmp_path / "kept.onnx"
    run("keep-state", str(streaming(tmp_path, steps=2)), "h0=hn", "c0=cn", "-o", str(model))
    x = np.random.default_rng(4).normal(size=(12, 2, 5)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=x)
    return model


@pytest.mark.parametrize("bits", ["8", "16"])
def test_states_stay_on_the_boards(network: Path, bits: str) -> None:
    folder = network.parent
    options = ("-s", str(folder / "samples.npz"), "-o", str(folder / "out"), "--use-all", "--pipelined", "--json")
    measured = json.loads(run("run", str(network), "-b", G0, "-b", F4, "--bits", bits, *options))
    assert measured["output"]["bit_exact"]
    assert {layer["board"] for layer in measured["layers"]} == {1, 2}
    again = json.loads(run("measure", str(folder / "out"), "-s", str(folder / "samples.npz"), "--json"))
    assert again["output"]["bit_exact"]


def test_a_library_sets_states_to_0_when_it_begins(network: Path) -> None:
    folder = network.parent
    run("split", str(network), "-b", G0, "-o", str(folder / "split.json"))
    samples = ("-s", str(folder / "samples.npz"))
    run("generate", str(network), "--split", str(folder / "split.json"), *samples, "-o", str(folder / "out"))
    run("library", str(folder / "out"), "-o", str(folder / "library"))
    source = (folder / "library" / "network.c").read_text()
    assert source.count("  fill(") == 2  # layers
    assert "network_begin_run();" in (folder / "library" / "tinysplit.c").read_text()


def test_there_is_one_copy_of_a_network_with_a_state(network: Path) -> None:
    boards = ("-b", G0, "-b", G0, "--objective", "throughput")
    text = run("split", str(network), *boards, "--replicate", expect=CHECK_FAILED)
    assert "the network keeps a state from one inference to the next" in text
    out = ("-o", str(network.parent / "split.json"))
    assert json.loads(run("split", str(network), *boards, *out, "--json"))["copies"] == []


def test_one_input_of_the_board_again_and_again_is_no_stream(network: Path) -> None:
    folder = network.parent
    options = ("-s", str(folder / "samples.npz"), "-o", str(folder / "out"), "--input-source", "board", "--pipelined")
    text = run("run", str(network), "-b", G0, *options, expect=USAGE)
    assert "the network keeps its state" in text


def test_states_are_named_as_pairs(tmp_path: Path) -> None:
    path = str(streaming(tmp_path))
    out = ("-o", str(tmp_path / "kept.onnx"))
    assert "'h0' is no state: write input=output, as h0=hn" in run("keep-state", path, "h0", *out, expect=USAGE)
    assert "name each state once" in run("keep-state", path, "h0=hn", "h0=cn", *out, expect=USAGE)
    assert "there are x, h0, c0" in run("keep-state", path, "h=hn", *out, expect=BAD_INPUT)
    assert "keep all of them" in run("keep-state", path, "h0=hn", *out, expect=BAD_INPUT)
    assert not (tmp_path / "kept.onnx").exists()
    (tmp_path / "kept.onnx").write_text("mine")
    assert "exists" in run("keep-state", path, "h0=hn", "c0=cn", *out, expect=BAD_INPUT)
