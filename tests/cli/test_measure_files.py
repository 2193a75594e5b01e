"""`measure` with all of its files, and `compare` with one of them."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from example_folders.measured_example import BOARD, OPTIONS, shared_measured_example
from tinysplit.common.output_file import check_output_file

SAMPLES = ("-s", str(example.SAMPLES), "--sample-count", "1")


@pytest.mark.slow
def test_all_files() -> None:
    printed, folder = shared_measured_example()
    paths = [folder / option for option in OPTIONS]
    save, csv, junit, svg, trace = paths
    assert json.loads(save.read_text(encoding="utf-8")) == printed
    assert (folder / "out" / "measurement.json").read_bytes() == save.read_bytes()
    assert csv.read_text(encoding="utf-8").count("\n") == len(printed["times"]) + 1
    roots = [ET.parse(path).getroot().tag for path in (junit, svg)]  # noqa: S314 (our own files)
    assert roots == ["testsuite", "{http://www.w3.org/2000/svg}svg"]
    spans = [event for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"] if event["ph"] == "X"]
    assert len(spans) == len(printed["timeline"]["estimated"]) + len(printed["timeline"]["measured"])
    assert "same" in run("compare", str(save), str(save))
    assert all(board["device"]["device_id"] and board["compiler"].startswith("GCC: ") for board in printed["boards"])
    for path in paths:
        check_output_file(path)  # they are ours: the next measurement may write them again


@pytest.mark.parametrize("option", OPTIONS)
def test_a_file_without_a_folder_is_refused_before_anything_is_measured(option: str, tmp_path: Path) -> None:
    arguments = (str(example.MODEL), "-b", BOARD, *SAMPLES, "-o", str(tmp_path / "out"))
    missing = tmp_path / "missing" / "file"
    assert "cannot be written: there is no folder" in run("run", *arguments, option, str(missing), expect=BAD_INPUT)
    assert "is a folder" in run("run", *arguments, option, str(tmp_path), expect=BAD_INPUT)
    assert list(tmp_path.iterdir()) == []


def test_one_name_for_two_files_is_refused(tmp_path: Path) -> None:
    arguments = (str(example.MODEL), "-b", BOARD, *SAMPLES, "-o", str(tmp_path / "out"))
    file = str(tmp_path / "file")
    assert "is to be two files" in run("run", *arguments, "--save", file, "--csv", file, expect=USAGE)
