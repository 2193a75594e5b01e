"""The options of the splitting problem on the command line: what they do, and what contradicts itself."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from example_folders import example
from tinysplit.boards.catalog import load_all
from tinysplit.cli.app import app
from tinysplit.costs.problem_builder import make_problem
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.removal.cropped_maps import cropped
from tinysplit.onnx_import import import_model
from tinysplit.project.split_file import read_split
from tinysplit.split import link_limits
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.labels.search import label_search

MODEL = str(example.MODEL)
G0, H7 = ("-b", "nucleo_g071rb"), ("-b", "nucleo_h743zi")
CHECK_FAILED, USAGE, BAD_INPUT, TOOL = 1, 2, 3, 4


def split(folder: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """Return the JSON and the messages of a split that works."""
    result = CliRunner().invoke(app, ["split", MODEL, *arguments, "-o", str(folder / "s.json"), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def test_boards_may_be_left_out_unless_all_are_asked_for(tmp_path: Path) -> None:
    printed, notes = split(tmp_path, *G0, *G0, "--slices", "none")
    assert set(printed["assignment"]) == {1}
    assert "note: no split of whole layers is better than a single board: board 1 (nucleo_g071rb) runs" in notes
    printed, notes = split(tmp_path, *G0, *G0, "--slices", "none", "--use-all")
    assert set(printed["assignment"]) == {1, 2}
    assert "note: board 1 (nucleo_g071rb) alone: latency " in notes
    assert set(split(tmp_path, *H7, "-b", "nucleo_l4r5zi", "--paper")[0]["assignment"]) == {1, 2}


def test_stop_mode_lets_a_faster_board_win(tmp_path: Path) -> None:
    """The G071 sleeps with less current, the L4R5 needs less for the inference."""
    boards = (*G0, "-b", "nucleo_l4r5zi", "--slices", "none", "--objective", "energy", "--frame-rate", "1")
    chosen = {mode: split(tmp_path, *boards, "--low-power", mode)[0] for mode in ("sleep", "stop", "auto")}
    assert [set(chosen[mode]["assignment"]) for mode in chosen] == [{1}, {2}, {2}]
    assert chosen["sleep"]["figures"]["energy_j"] > 10 * chosen["stop"]["figures"]["energy_j"]
    assert chosen["auto"]["figures"]["energy_j"] == chosen["stop"]["figures"]["energy_j"]
    assert chosen["stop"]["low_power"] == "stop"
    assert chosen["stop"]["input_source"] == "host"  # as it was asked for; there is no host's port in the figures
    assert chosen["stop"]["frame_period_s"] == 1


def test_the_life_of_a_battery(tmp_path: Path) -> None:
    found, _ = split(tmp_path, *G0, "--frame-rate", "1", "--low-power", "stop", "--battery-mah", "1000")
    assert found["battery_life_s"] == pytest.approx(3.3 * 3600 / found["figures"]["energy_j"])
    shown = CliRunner().invoke(
        app, ["split", MODEL, *G0, "--frame-rate", "1", "-o", str(tmp_path / "t.json"), "--battery-mah", "1000"]
    )
    assert "a battery of 1000 mAh lasts" in " ".join(shown.output.split())


def test_energy(tmp_path: Path) -> None:
    fast, _ = split(tmp_path, *G0, *H7, "--frame-period", "0.5")
    frugal, _ = split(tmp_path, *G0, *H7, "--objective", "energy", "--frame-period", "0.5")
    assert (set(fast["assignment"]), set(frugal["assignment"])) == ({2}, {1})
    assert frugal["figures"]["energy_j"] < fast["figures"]["energy_j"]
    bound, energy_j = (frugal["figures"][name] for name in ("lower_bound", "energy_j"))
    assert 0.97 * energy_j < bound < energy_j  # searches do not know for how long boards stay awake
    assert frugal["frame_period_s"] == 0.5
    limit = frugal["figures"]["energy_j"] * 1.01
    kept, _ = split(tmp_path, *G0, *H7, "--frame-period", "0.5", "--max-energy", str(limit))
    assert kept["max_energy_j"] == limit
    assert kept["figures"]["energy_j"] <= 1.02 * limit  # searches do not know for how long boards stay awake


def test_links_are_written_and_read_again(tmp_path: Path) -> None:
    links = ("--link", "1-2:1000000", "--link", "2-3:500000:half", "--link", "1-3:none")
    printed, _ = split(tmp_path, *G0, *G0, *G0, *links, "--host-transfers", "--use-all")
    assert printed["links"] == [
        {"boards": [1, 2], "baud": 1000000, "half_duplex": False, "uarts": None},
        {"boards": [2, 3], "baud": 500000, "half_duplex": True, "uarts": None},
        {"boards": [1, 3], "baud": None, "half_duplex": False, "uarts": None},
    ]
    assert printed["host_transfers"]
    assert all({cut["from_board"], cut["to_board"]} != {1, 3} or len(cut["route"]) == 3 for cut in printed["cuts"])
    file = read_split(tmp_path / "s.json")
    graph = cropped(import_model(example.MODEL))
    problem = make_problem(shipped_table(), graph, load_all(file.board_names), file.settings)
    figures = evaluate(problem, file.devices)
    assert pytest.approx((figures.l_s, figures.t_s)) == (file.figures.L, file.figures.T)


def test_tables_say_what_counts(tmp_path: Path) -> None:
    arguments = ["split", MODEL, *G0, *G0, *G0, "--use-all", "--link", "1-3:none", "-o", str(tmp_path / "s.json")]
    result = CliRunner().invoke(app, [*arguments, "--host-transfers", "--objective", "energy"])
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "mJ per inference, inputs without pauses (MCUs only, estimated)" in text
    assert "including host transfers" in text


@pytest.mark.parametrize("against", ["energy", "throughput"])
def test_pareto(against: str) -> None:
    command = ["pareto", MODEL, *G0, *H7, "--second-objective", against, "--slices", "none"]
    result = CliRunner().invoke(app, [*command, "--frame-period", "0.5", "--json"])
    assert result.exit_code == 0, result.output
    front = json.loads(result.stdout)
    assert (front["against"], front["complete"]) == (against, True)
    assert all(point["proved"] for point in front["points"])
    latencies = [point["latency_s"] for point in front["points"]]
    assert latencies == sorted(latencies)
    table = CliRunner().invoke(app, command)
    assert table.exit_code == 0
    assert "the front is complete" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--link", "1-2:none"), BAD_INPUT, "no route from board 1 (nucleo_g071rb) to board 2 (nucleo_g071rb)"),
        (("--link", "1-3:9600"), USAGE, "give two different boards from 1 to 2"),
        (("--link", "1-2:fast"), USAGE, "expected BOARD-BOARD:BAUD"),
        (("--link", "1-2:50000000"), USAGE, "cannot make 50000000 baud within 2%"),
        (("--paper", "--link", "1-2:9600"), USAGE, "--link"),
        (("--paper", "--bits-per-byte", "10"), USAGE, "--bits-per-byte"),
        (("--paper", "--no-use-all"), USAGE, "--no-use-all"),
        (("--paper", "--host-transfers"), USAGE, "--host-transfers"),
        (("--frame-period", "0"), USAGE, "--frame-period 0: expected a number of seconds above zero"),
        (("--frame-period", "nan"), USAGE, "--frame-period nan: expected a number of seconds above zero"),
        (("--time-limit", "0"), USAGE, "--time-limit 0: expected a number of seconds above zero"),
        (("--time-limit", "nan"), USAGE, "--time-limit nan: expected a number of seconds above zero"),
        (("--max-latency", "-1"), USAGE, "a maximum latency of -1 s excludes every split"),
        (("--max-period", "nan"), USAGE, "a maximum period of nan s excludes every split"),
        (("--low-power", "stop"), USAGE, "--low-power stop is for inputs at a rate: add --frame-period"),
        (("--frame-rate", "0"), USAGE, "expected a number of inputs per second above zero"),
        (("--frame-rate", "1", "--frame-period", "1"), USAGE, "give either --frame-period or --frame-rate"),
        (("--battery-mah", "0"), USAGE, "expected a capacity above zero"),
        (("--max-energy", "0"), USAGE, "a maximum energy of 0 J excludes every split"),
        (("--solver", "magic"), USAGE, "unknown solver 'magic': use one of auto, exact"),
        (
            ("--solver", "geometric", "--slices", "none"),
            USAGE,
            "--solver geometric divides layers, which --slices none excludes",
        ),
        (("--solver", "exact", "--slices", "none"), USAGE, "divides layers, which --slices none excludes"),
        (
            ("--solver", "geometric", "--slices", "rows", "--objective", "throughput"),
            USAGE,
            "--solver geometric minimises latency or energy: use --solver exact for throughput",
        ),
        (G0 * 63, USAGE, "65 boards are too many: a split has at most 64"),
        (
            ("--max-energy", "1e-9"),
            CHECK_FAILED,
            "no split meets the energy limit of 1e-06 mJ: the least energy found is",
        ),
        (
            ("--frame-period", "1e-5"),
            CHECK_FAILED,
            "no split meets the period limit of 0.01 ms: the shortest period found is",
        ),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, tuple) else None,
)
def test_what_contradicts_itself(arguments: tuple[str, ...], code: int, words: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["split", MODEL, *G0, *G0, *arguments, "-o", str(tmp_path / "s.json")])
    assert result.exit_code == code, result.output
    (line,) = (line for line in result.stderr.splitlines() if line.startswith("error: "))
    assert words in line
    assert not (tmp_path / "s.json").exists()


def test_a_geometric_program_is_compared_with_whole_layers(tmp_path: Path) -> None:
    printed, notes = split(tmp_path, *G0, *G0, "--baud", "9600", "--slices", "rows", "--solver", "geometric")
    assert min(printed["tightening"]["steps"][-1]["sums_of_shares"]) > 0.99
    assert re.search(r"latency: \d+\.\d\d ms with --solver geometric, 2\d\.\d\d ms with whole layers", notes)
    assert "whole layers are taken" in notes
    assert printed["slices"] is None


def test_a_geometric_program_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    arguments = ["split", MODEL, *G0, *G0, "--slices", "rows", "--solver", "geometric", "-o", str(tmp_path / "s.json")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == TOOL, result.output
    assert "error: geometric programs need cvxpy: " in result.stderr
    assert "-m pip install 'cvxpy" in result.stderr


def test_the_time_limit_reaches_the_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def solver(problem: Problem, *, link_counts: Sequence[int], time_limit_s: float) -> Split:
        limits.append(time_limit_s)
        return label_search(problem, link_counts=link_counts, time_limit_s=time_limit_s)

    monkeypatch.setattr(link_limits, "label_search", solver)
    split(tmp_path, *G0, *H7, "--time-limit", "0.5")
    assert 0 < limits[0] <= 0.5  # what was left at its start
