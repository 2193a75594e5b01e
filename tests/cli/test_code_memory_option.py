"""--code-memory: from the split to the generated projects."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands.command_line import run
from example_folders import example

MODEL, SAMPLES = str(example.MODEL), str(example.SAMPLES)
L4 = ("-b", "nucleo_l452re")


def split(folder: Path, *arguments: str) -> Any:  # noqa: ANN401 - a JSON document
    run("split", MODEL, *L4, *arguments, "-o", str(folder / "split.json"))
    return json.loads((folder / "split.json").read_text())


def test_a_split_counts_the_waits_of_code_in_flash(tmp_path: Path) -> None:
    in_flash, in_ram = (split(tmp_path, "--code-memory", memory) for memory in ("flash", "ram"))
    assert (in_flash["code_memory"], in_ram["code_memory"]) == ("flash", "ram")
    assert in_flash["figures"]["L"] > in_ram["figures"]["L"]


@pytest.mark.parametrize(("of_generate", "expected"), [((), "flash"), (("--code-memory", "ram"), "ram")])
def test_generate_takes_the_code_memory_of_the_split(
    tmp_path: Path, of_generate: tuple[str, ...], expected: str
) -> None:
    split(tmp_path, "--code-memory", "flash")
    out, count = tmp_path / "out", ("--calibration-count", "2")
    arguments = ("--split", str(tmp_path / "split.json"), "-s", SAMPLES, "-o", str(out), *count, *of_generate)
    run("generate", MODEL, *arguments)
    (board,) = json.loads((out / "tinysplit.json").read_text())["boards"]
    assert (board["code_memory"], board["code_memory_reason"]) == (expected, "requested")
    assert json.loads((out / "split.json").read_text())["code_memory"] == expected
