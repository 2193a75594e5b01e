"""A board of the user's own from --board to a generated folder, which keeps its file."""

import json
from pathlib import Path

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from models.onnx_builder import OnnxBuilder, weights
from tinysplit.boards import board_files
from tinysplit.boards.catalog import load_board
from tinysplit.common import package_files
from tinysplit.project.manifest import Project


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a network, samples and a board file."""
    monkeypatch.setattr(board_files, "_named", {})
    monkeypatch.setattr(board_files, "_beside", [])
    monkeypatch.chdir(tmp_path)
    builder = OnnxBuilder(["n", 8])
    builder.node("Gemm", builder.constant(weights(8, 4)))
    builder.save(tmp_path)
    np.savez(tmp_path / "samples.npz", x=np.ones((2, 8), np.float32))
    text = (package_files.boards() / "nucleo_g071rb.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text.partition("[published]")[0] + text[text.index("[clock]") :])
    return tmp_path


def test_a_generated_folder_keeps_the_file_of_its_board(folder: Path) -> None:
    run("split", "network.onnx", "--board", "./mine.toml", "-o", "split.json")
    run("generate", "network.onnx", "--split", "split.json", "-s", "samples.npz", "-o", "out")
    assert (folder / "out" / "boards" / "mine.toml").read_bytes() == (folder / "mine.toml").read_bytes()
    (folder / "mine.toml").unlink()
    board_files._named.clear()
    assert "mine.toml" in run(
        "generate", "network.onnx", "--split", "split.json", "-s", "samples.npz", "-o", "out", expect=BAD_INPUT
    )
    (board,) = Project.read(folder / "out").boards
    assert load_board(board.name).name == "mine"


def test_a_folder_beside_the_model_and_no_published_cycles(folder: Path) -> None:
    (folder / "boards").mkdir()
    (folder / "mine.toml").rename(folder / "boards" / "mine.toml")
    run("split", "network.onnx", "--board", "MINE", "-o", "split.json")
    text = run("split", "network.onnx", "--board", "mine", "--paper", "-o", "paper.json", expect=USAGE)
    assert text == "error: mine has no published cycles: leave --paper out, or add [published] to its file"


def test_exploring_boards_without_currents(folder: Path) -> None:
    """Their energy is not known: it is neither 0 nor on the front."""
    text = (folder / "mine.toml").read_text()
    (folder / "mine.toml").write_text(text.partition("[power]")[0] + text[text.index("[debug]") :])
    command = ("explore", "network.onnx", "--board", "./mine.toml", "--max-boards", "1")
    printed = json.loads(run(*command, "--json"))
    assert printed["axes"] == ["latency", "price"]
    (point,) = printed["fronts"][0]["points"]
    assert (point["boards"], point["energy_j"], point["power_w"]) == (["mine"], None, None)
    for options in (("--axis", "energy"), ("--objective", "energy"), ("--max-energy", "1")):
        assert "no energy model for mine" in run(*command, *options, expect=BAD_INPUT)
