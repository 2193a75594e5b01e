"""Currents fitted to traces: one that a simulated board would draw, and traces that cannot be ones."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from splits.pipelines import ROOMY, pipeline, simulated
from tinysplit.boards.board import Power
from tinysplit.boards.catalog import load_board
from tinysplit.calibration.conditions import read_calibration
from tinysplit.calibration.power_trace import fit_currents
from tinysplit.cli.app import app
from tinysplit.common.errors import InputError
from tinysplit.costs.problem_builder import free_memory
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.timing.results import Activity

HEADER = "time (s),current (mA),marker"
RUN_MA, SLEEP_MA = 5.4, 3.0
BOARD = "nucleo_g071rb"


def simulated_trace(path: Path) -> Path:
    """Write what the first board of a simulation draws, with noise, and a current that lags at each change."""
    found = simulated(pipeline(ROOMY, 2.0), (0, 1), (0.0,) * 5, keeps_events=True)
    spans = sorted((event.start_s, event.end_s) for event in found.events if event.device == 0)
    layers = {
        (event.start_s, event.end_s)
        for event in found.events
        if event.device == 0 and event.activity is not Activity.WAIT
    }
    lines, before_ma = [HEADER], SLEEP_MA
    for step in range(int(10 * found.end_s)):
        at_s = step / 10
        runs = any(start_s <= at_s < end_s for start_s, end_s in spans if (start_s, end_s) in layers)
        current_ma = RUN_MA if runs else SLEEP_MA
        lines.append(f"{at_s:.3f},{before_ma + 0.02 * (-1) ** step:.5f},{'run' if runs else 'sleep'}")
        before_ma = current_ma
    path.write_text("\n".join(lines) + "\n")
    return path


def written(folder: Path, lines: Iterable[str], header: str = HEADER) -> Path:
    path = folder / "trace.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def good(count: int = 20) -> list[str]:
    states = [("run", RUN_MA)] * count + [("sleep", SLEEP_MA)] * count
    return [f"{number / 1000:.3f},{current},{state}" for number, (state, current) in enumerate(states)]


def test_currents_of_a_simulated_board(tmp_path: Path) -> None:
    found = fit_currents(simulated_trace(tmp_path / "trace.csv"))
    assert found.run_ma == pytest.approx(RUN_MA, rel=0.01)
    assert found.sleep_ma == pytest.approx(SLEEP_MA, rel=0.01)


def test_units_and_pins(tmp_path: Path) -> None:
    states = ["1"] * 20 + ["0"] * 20
    lines = [f"{number},{5400 if state == '1' else 3000},{state}" for number, state in enumerate(states)]
    found = fit_currents(written(tmp_path, lines, "Time (ms),Current (µA),Marker"))
    assert found.run_ma == pytest.approx(5.4)
    assert found.sleep_ma == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("header", "lines", "message"),
    [
        ("seconds,current (mA),marker", good(), "has no column 'time'"),
        ("time (s),current (mA),state", good(), "has no column 'marker'"),
        ("time (s),current,marker", good(), "the header 'current' needs a unit in parentheses: a, ma, ua"),
        (HEADER, [], "has 0 samples in run"),
        (HEADER, good()[:20], "has 0 samples in sleep away from changes of state: at least 10 are needed"),
        (HEADER, good(6), "has 4 samples in run"),
        (HEADER, [*good(), "0.040,-1,run"], "line 42: a current of -1 mA"),
        (HEADER, [*good(), "0.040,nan,run"], "line 42: a current of nan mA"),
        (HEADER, [*good(), "0.010,5,run"], "line 42: 0.01 s does not come after 0.039 s"),
        (HEADER, [*good(), "0.040,five,run"], "line 42: column 2 has no number"),
        (HEADER, [*good(), "0.040,5,busy"], "line 42: the marker 'busy' is none of"),
        (HEADER, [line.replace("5.4", "2.5") for line in good()], "is the marker inverted?"),
        (
            HEADER,
            [line.replace("5.4,", "5400,") for line in good()],
            "5400 mA in run, more than",
        ),
    ],
)
def test_what_cannot_be_a_trace_is_refused(header: str, lines: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        fit_currents(written(tmp_path, lines, header))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_command_writes_a_calibration_that_costs_use(tmp_path: Path) -> None:
    out, trace = tmp_path / "own.json", written(tmp_path, good())
    command = ["calibrate", "--power", str(trace), "-b", BOARD, "-o", str(out), "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["run_ma"] == pytest.approx(RUN_MA)
    board = load_board(BOARD)
    limits = free_memory(read_calibration(out, [board]), board, link_baud=115200)
    measured = Power.of(RUN_MA, SLEEP_MA)
    assert limits.run_w == pytest.approx(measured.run_w)
    assert limits.idle_w == pytest.approx(measured.idle_w)
    assert limits.idle_w < limits.transfer_w < limits.run_w
    assert free_memory(shipped_table(), board).run_w == board.power.run_w


def test_a_trace_is_of_one_board(tmp_path: Path) -> None:
    trace = written(tmp_path, good())
    result = CliRunner().invoke(app, ["calibrate", "--power", str(trace), "-o", str(tmp_path / "own.json")])
    assert result.exit_code == 2
