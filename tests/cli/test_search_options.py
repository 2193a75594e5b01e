"""The options that `split`, `pareto`, `run` and `explore` share."""

import json
from pathlib import Path

import pytest

from commands.command_line import USAGE, run
from example_folders import example
from tinysplit.boards.catalog import load_boards
from tinysplit.cli.app import imported_command

MODEL = str(example.MODEL)
OF_EVERY_SEARCH = {"host_transfers", "optimize", "period", "max_latency", "max_energy", "frame_period", "time_limit"}
ON_GIVEN_BOARDS = OF_EVERY_SEARCH | {"board", "baud", "link", "use_all", "solver"}


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("split", ON_GIVEN_BOARDS | {"objective", "paper", "bits_per_byte", "out"}),
        ("pareto", ON_GIVEN_BOARDS | {"second_objective"}),
        ("run", ON_GIVEN_BOARDS | {"objective", "samples", "kernel", "rig"}),
        ("explore", OF_EVERY_SEARCH | {"board", "baud", "bits", "max_boards", "journal"}),
    ],
)
def test_options_of_a_command(command: str, options: set[str]) -> None:
    parameters = {each.name for each in imported_command(command).params}
    assert options <= parameters
    assert "options" not in parameters


def test_limits_hold_for_explored_splits(tmp_path: Path) -> None:
    boards = ("--board", "nucleo_g071rb", "--board", "nucleo_h743zi", "--max-boards", "1")
    command = ("explore", MODEL, *boards, "--frame-period", "0.5", "--json")
    every = json.loads(run(*command, "--workers", "1", "--journal", str(tmp_path / "every.jsonl")))
    (points,) = (front["points"] for front in every["fronts"])
    fast, slow = sorted(point["latency_s"] for point in points)
    limit = ("--max-latency", str((fast + slow) / 2))
    limited = json.loads(run(*command, *limit, "--workers", "1", "--journal", str(tmp_path / "limited.jsonl")))
    (points,) = (front["points"] for front in limited["fronts"])
    assert [point["latency_s"] for point in points] == [fast]


def test_all_boards_may_be_explored(tmp_path: Path) -> None:
    journal = ("--journal", str(tmp_path / "journal.jsonl"))
    every = ("explore", MODEL, "--board", "all", "--max-boards", "1", "--time-limit", "1", *journal, "--json")
    assert json.loads(run(*every))["candidates"] == len(load_boards())


def test_what_an_exploration_refuses(tmp_path: Path) -> None:
    command = ("explore", MODEL, "--board", "nucleo_g071rb", "--journal", str(tmp_path / "journal.jsonl"))
    assert "--board names a board twice" in run(*command, "--board", "nucleo_g071rb", expect=USAGE)
    assert "--frame-period 0" in run(*command, "--frame-period", "0", expect=USAGE)
    assert "--time-limit 0" in run(*command, "--time-limit", "0", expect=USAGE)
    assert "use one of them" in run(*command, "--workers", "1", "--scheduler", "tcp://localhost:1", expect=USAGE)
