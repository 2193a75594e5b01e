"""Arrivals, mixed precision and flashing in scripts: the figures of the commands, and their errors."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands.command_line import run
from commands.served_boards import served
from example_folders import example
from rigs.debugged_boards import need_openocd
from tinysplit import api
from tinysplit.common.errors import InputError, UsageError
from tinysplit_hil.bench import images

G0 = "nucleo_g071rb"
script: Any = api  # wrong types are given on purpose


@pytest.fixture(scope="module")
def found() -> api.SplitResult:
    return api.split(example.MODEL, [G0, G0], api.CostSettings(use_all=True))


def test_arrivals_are_those_of_the_command(found: api.SplitResult, tmp_path: Path) -> None:
    split, times = tmp_path / "split.json", tmp_path / "times.txt"
    found.write(split)
    times.write_text("1\n1.05\n1.5\n")
    command = ("arrivals", str(example.MODEL), "--split", str(split), "--json")
    at_rate = api.arrivals(example.MODEL, found, 12.0, input_count=5, loss_rate=0.001, loss_seed=3)
    options = ("--frame-rate", "12", "--input-count", "5", "--loss-rate", "0.001", "--loss-seed", "3")
    assert at_rate.to_json() == json.loads(run(*command, *options))
    trace = json.loads(run(*command, "--arrival-times", str(times)))
    graph = api.load_model(example.MODEL)
    assert api.arrivals(graph, split, times_s=times).to_json() == trace
    assert api.arrivals(graph, found, times_s=[1, 1.05, 1.5]).to_json() == trace
    split_times, whole = at_rate.to_rows()
    assert (split_times["placement"], whole["placement"]) == ("split", "whole networks")
    assert 0 < split_times["mean_latency_s"] <= split_times["max_latency_s"]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({}, UsageError, "give either frame_rate or times_s"),
        ({"frame_rate": 1, "times_s": [1]}, UsageError, "give either frame_rate or times_s"),
        ({"frame_rate": 0}, UsageError, "frame_rate has to be more than 0, not 0"),
        ({"frame_rate": True}, UsageError, "frame_rate has to be a number, not True"),
        ({"frame_rate": 9, "loss_rate": 0.5}, UsageError, "loss_rate 0.5: a link may lose 0 to 0.01"),
        ({"frame_rate": 9, "input_count": 10**9}, UsageError, "input_count 1000000000: at most 100000 inputs"),
        ({"times_s": [0, -1]}, InputError, "times_s 2: -1 s is not between the time before, 0 s, and"),
        ({"times_s": []}, InputError, "times_s has 0 times: between 1 and 100000"),
        ({"times_s": "no.txt"}, InputError, "no.txt cannot be read: No such file or directory"),
    ],
)
def test_arrivals_that_make_no_sense(
    found: api.SplitResult, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        script.arrivals(example.MODEL, found, **arguments)


@pytest.mark.slow
def test_a_goal_makes_mixed_precision(found: api.SplitResult, tmp_path: Path) -> None:
    plain = api.generate(example.MODEL, found, example.CALIBRATION, tmp_path / "plain")
    mixed = api.generate(example.MODEL, found, example.CALIBRATION, tmp_path / "mixed", goal=api.Goal(None, 60))
    folder, split = tmp_path / "command", tmp_path / "split.json"
    found.write(split)
    files = (str(example.MODEL), "--split", str(split), "-s", str(example.CALIBRATION), "-o", str(folder))
    run("generate", *files, "--bits", "auto", "--min-sqnr", "60")
    assert mixed.to_json() == json.loads((folder / "tinysplit.json").read_text())
    assert mixed.to_json()["layers"] != plain.to_json()["layers"]


def test_a_goal_makes_copies_of_mixed_precision(tmp_path: Path) -> None:
    copies = api.split(example.MODEL, [G0, G0], search=api.Search(copies=api.Copies.ALWAYS))
    goal = api.Goal(min_sqnr_db=45.0)
    made = api.generate(example.MODEL, copies, example.CALIBRATION, tmp_path / "out", goal=goal)
    assert len(made.project.boards) == 2
    assert 16 in {formats.y.bits for formats in made.project.formats}


def test_a_goal_is_for_labels(found: api.SplitResult, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="min_sqnr_db is for calibration samples without labels: give max_drop instead"
    ):
        api.generate(example.MODEL, found, example.SAMPLES, tmp_path / "out", goal=api.Goal(min_sqnr_db=20))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: script.flash("out", "virtual"), UsageError, "rig virtual: virtual boards run their images without"),
        (lambda: script.flash("missing", "rig.toml"), InputError, "missing is not a generated folder"),
        (
            lambda: script.flash("out", "rig.toml", "jlink"),
            UsageError,
            "programmer has to be 'openocd', .*, not 'jlink'",
        ),
        (lambda: script.flash("out", "rig.toml", force=1), UsageError, "force has to be true or false, not 1"),
    ],
)
def test_flashing_that_makes_no_sense(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.slow
def test_boards_that_run_their_images_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_openocd()
    monkeypatch.setattr(images, "RETRY_S", 0.01)
    folder, rig = example.shared_example(G0, G0)[1], tmp_path / "rig.toml"
    with served(folder, "--debug", "-o", str(rig), temporary=tmp_path):
        assert len(tomllib.loads(rig.read_text())["board"]) == 2
        found = api.flash(folder, rig)
        assert [(board.is_good, board.is_skipped) for board in found.boards] == [(True, True)] * 2
        found.check()
        assert [row["name"] for row in found.to_rows()] == [G0, G0]
        settings = api.MeasureSettings(rig=str(rig), sample_count=1)
        assert api.measure(folder, example.SAMPLES, settings).is_bit_exact
        with pytest.raises(InputError, match="programmer cubeprogrammer finds probes by serial_number"):
            api.flash(folder, rig, api.ProgrammerName.CUBEPROGRAMMER, force=True)
