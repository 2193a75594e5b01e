"""Split files: what is written can be read, and nothing else can."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from models.networks import tiny_cnn
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.papers.reproduce.networks import mobilenet_v1
from tinysplit.project.split_file import SplitFile, check_split_matches, read_split, write_split
from tinysplit.split.report.split import print_details, print_split
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve

GRAPH = tiny_cnn()
BOARDS = (load_board("nucleo_g071rb"), load_board("nucleo_f401re"))
SETTINGS = CostSettings(bits=16, baud=115_200, use_all=True)


def solved() -> Split:
    return solve(make_problem(shipped_table(), GRAPH, BOARDS, SETTINGS))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "split.json"
    write_split(path, SplitFile.of(solved(), GRAPH, BOARDS, SETTINGS))
    return path


def change(path: Path, **changes: Any) -> None:  # noqa: ANN401 (any JSON)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_split(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}")


def test_round_trip(path: Path) -> None:
    split, file = solved(), read_split(path)
    assert file.devices == split.assignment
    assert file.settings == replace(SETTINGS, period=SETTINGS.period_definition)
    assert file.board_names == ("nucleo_g071rb", "nucleo_f401re")
    figures = (file.figures.L, file.figures.T, file.figures.I)
    assert figures == (split.l_s, split.t_s, split.i_s)
    assert file.proved
    assert file.figures.gap == 0
    assert [cut.seconds for cut in file.cuts] == [cut.seconds for cut in split.cuts]
    check_split_matches(file, GRAPH, BOARDS)


def test_what_people_read(path: Path) -> None:
    data = json.loads(path.read_text())
    assert data["schema_version"] == 4
    assert data["model"] == {"name": "tiny_cnn", "sha256": GRAPH.sha256}
    assert len(data["assignment"]) == 7
    assert set(data["assignment"]) == {1, 2}
    (cut,) = data["cuts"]
    assert cut["payload_bytes"] == 2 * GRAPH.layers[cut["after_layer"] - 1].out_shape.size
    assert data["sub_models"] == [
        {"board": cut["from_board"], "first_layer": 1, "last_layer": cut["after_layer"]},
        {"board": cut["to_board"], "first_layer": cut["after_layer"] + 1, "last_layer": 7},
    ]
    assert [board["name"] for board in data["boards"]] == ["nucleo_g071rb", "nucleo_f401re"]
    assert [board["sha256"] for board in data["boards"]] == [board.sha256 for board in BOARDS]


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    for bad in (tmp_path / "taken", tmp_path / "absent" / "split.json"):
        with pytest.raises(InputError, match="cannot be written"):
            write_split(bad, SplitFile.of(solved(), GRAPH, BOARDS, SETTINGS))
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_not_a_file(tmp_path: Path) -> None:
    assert message(tmp_path / "none.json") == (
        " cannot be read (No such file or directory): make it with `tinysplit split`"
    )


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b""])
def test_not_json(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert message(path) == " is not JSON: make it with `tinysplit split`"


@pytest.mark.parametrize(("content", "says"), [("[]", "None"), ("{}", "None"), ('{"schema_version": 1}', "1")])
def test_other_schema(path: Path, content: str, says: str) -> None:
    path.write_text(content)
    assert message(path) == (
        f" is not a split file of schema version 4 (its version is {says}): make it again with `tinysplit split`"
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"surprise": 1}, "surprise is no known key"),
        ({"bits": 7}, "bits has to be 8 or 16"),
        ({"max_latency_s": -1.0}, "max_latency_s has to be more than 0"),
        ({"frame_period_s": -1.0}, "frame_period_s has to be at least 0"),
        ({"bits_per_byte": 13}, "bits_per_byte has to be at most 12"),
        ({"assignment": []}, "assignment needs 1 or more entries"),
        ({"assignment": [0] * 7}, "assignment 1 has to be at least 1"),
        ({"assignment": [3] * 7}, "the assignment has board 3 of 2"),
        (
            {"assignment": [1] * 7, "copies": [1]},
            "the assignment was changed, which whole layers of one pipeline allow",
        ),
    ],
)
def test_damaged_content(path: Path, changes: dict[str, Any], says: str) -> None:
    change(path, **changes)
    assert says in message(path)


def test_an_assignment_that_was_edited(path: Path) -> None:
    assert not read_split(path).is_edited
    change(path, assignment=[1] * 7)
    assert read_split(path).is_edited


def test_negative_sizes_and_times(path: Path) -> None:
    (cut,) = json.loads(path.read_text())["cuts"]
    for key in ("payload_bytes", "seconds"):
        change(path, cuts=[{**cut, key: -1}])
        assert f"cuts 1, {key} has to be at least 0" in message(path)


def test_made_for_another_model(path: Path) -> None:
    other = mobilenet_v1(0.25)
    with pytest.raises(InputError) as caught:
        check_split_matches(read_split(path), other, BOARDS)
    assert str(caught.value) == (
        f"the split was made for another model: tiny_cnn ({GRAPH.sha256[:12]}), "
        f"not mobilenet_0.25 ({other.sha256[:12]}): split again"
    )
    shorter = replace(GRAPH, layers=GRAPH.layers[:-1])
    with pytest.raises(InputError, match="the split assigns 7 layers, tiny_cnn has 6: split again"):
        check_split_matches(read_split(path), shorter, BOARDS)


def test_made_for_other_boards(path: Path) -> None:
    file = read_split(path)
    with pytest.raises(InputError) as caught:
        check_split_matches(file, GRAPH, BOARDS[::-1])
    assert str(caught.value) == (
        f"the split was made for another board 1: nucleo_g071rb ({BOARDS[0].sha256[:12]}), "
        f"not nucleo_f401re ({BOARDS[1].sha256[:12]}): split again"
    )
    with pytest.raises(InputError, match="made for 2 boards, not 1: split again"):
        check_split_matches(file, GRAPH, BOARDS[:1])


def printed(split: Split) -> str:
    console = Console(record=True, width=140, file=None, quiet=False, force_terminal=False)
    with console.capture() as capture:
        print_split(split, {}, console)
        print_details(split, console)
    return capture.get()


def test_print() -> None:
    split = replace(solved(), explored=128)
    text = printed(split)
    (cut,) = split.cuts
    for expected in (
        "1 nucleo_g071rb",
        "2 nucleo_f401re",
        f"{split.figures.flash_bytes[0]} of {split.problem.devices[0].flash_bytes}",
        f"{split.figures.ram_bytes[1]} of {split.problem.devices[1].ram_bytes}",
        f"{cut.after_layer + 1} layer{cut.after_layer + 1}",
        f"= I {split.i_s * 1000:.2f} ms (estimated)",
        "labels: 128 candidates explored in",
        "proved optimal",
    ):
        assert expected in text


def test_print_of_a_split_that_needed_no_search() -> None:
    text = printed(replace(solved(), explored=0))
    assert "labels: proved optimal for whole transfers by lower bounds alone, no candidate had to be explored\n" in text
    assert "0 candidates" not in text


def test_print_without_cut_and_proof() -> None:
    whole = solve(make_problem(shipped_table(), GRAPH, BOARDS, CostSettings()))
    text = printed(replace(whole, lower_bound=whole.value / 2, picked_because=""))
    assert "cut after layer" not in text
    assert "1 board without layers" in text
    nearly = replace(whole, lower_bound=whole.objective * (1 - 2e-5))  # the gap is that of the value shown
    gap = 100 * (1 - nearly.lower_bound / nearly.value)
    assert f"optimality gap {gap:.1g}%" in " ".join(printed(nearly).split())
    bound = f"lower bound of latency {whole.value * 500:.2f} ms for whole transfers"
    assert f"not proved: {bound}, optimality gap 50.0%" in " ".join(text.split())
    undivided = printed(solve(make_problem(shipped_table(), GRAPH, BOARDS, CostSettings(hand_off=HandOffMode.WHOLE))))
    assert "whole transfers" not in undivided  # none may be streamed
