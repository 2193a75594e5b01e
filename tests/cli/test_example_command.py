"""The examples are listed and copied, and no file of the user's is lost."""

import json
from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders.example import FOLDER


def test_examples_are_listed() -> None:
    listed = json.loads(run("example", "--json"))["examples"]
    assert {"tiny_cnn.onnx", "calibration.npz", "samples.npz", "tiny_cnn.ipynb"} <= set(listed["tiny_cnn"])
    assert "library: CMakeLists.txt, README.md, main.c" in run("example").splitlines()


def test_an_example_is_copied_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.is_file()}
    assert run("example", "tiny_cnn") == f"{len(wanted)} files in tiny_cnn\n"
    assert {path.name: path.read_bytes() for path in Path("tiny_cnn").iterdir()} == wanted
    (tmp_path / "tiny_cnn" / "samples.npz").unlink()
    run("example", "tiny_cnn")  # again, where files are equal
    assert {path.name: path.read_bytes() for path in Path("tiny_cnn").iterdir()} == wanted


def test_files_of_the_user_are_kept(tmp_path: Path) -> None:
    mine = tmp_path / "tiny_cnn.onnx"
    mine.write_text("mine")
    assert f"{mine} exists and was not written by tinysplit" in run(
        "example", "tiny_cnn", "-o", str(tmp_path), expect=BAD_INPUT
    )
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    assert "cannot be made" in run("example", "tiny_cnn", "-o", str(mine), expect=BAD_INPUT)
    run("example", "tiny_cnn", "-o", str(tmp_path), "--force")
    assert mine.read_bytes() == (FOLDER / mine.name).read_bytes()


def test_arguments_that_make_no_sense(tmp_path: Path) -> None:
    names = "keyword_spotting, library, pytest, reference_client, tiny_cnn"
    assert f"use one of {names}" in run("example", "tiny", expect=USAGE)
    assert "name the example" in run("example", "-o", str(tmp_path), expect=USAGE)
