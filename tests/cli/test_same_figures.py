"""Every command gives the same L, T, I, period and energy of one placement, as the event engine has them."""

import json
from pathlib import Path

import pytest

from commands.command_line import run
from example_folders.example import CALIBRATION, MODEL
from tinysplit import api
from tinysplit.project.manifest import Project

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
PLACEMENTS = {
    "streamed": (G0, G0, "--baud", "921600", "--assign", "1-3:1,4-7:2"),
    "whole": (G0, F4, "--baud", "115200", "--assign", "1-2:1,3-7:2", "--hand-off", "whole"),
    "throughput": (G0, F4, "--baud", "921600", "--objective", "throughput", "--no-replicate"),
    "copies": (G0, F4, "--baud", "921600", "--objective", "throughput", "--replicate"),
    "rows": (G0, G0, "--baud", "4000000", "--slices", "rows"),
}
BY_FORMATS = 0.02  # of a figure: formats and weights are known once the network is quantized


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_all_commands_give_the_same_figures(placement: str, tmp_path: Path) -> None:
    first, second, *options = PLACEMENTS[placement]
    path = str(tmp_path / "split.json")
    boards = ("-b", first, "-b", second)
    printed = json.loads(run("split", str(MODEL), *boards, *options, "-o", path, "--json"))["figures"]
    assert json.loads(Path(path).read_text())["figures"] == printed

    times = tmp_path / "times.txt"
    times.write_text("0\n" * (400 if placement == "copies" else 40))
    arrivals = ("arrivals", str(MODEL), "--split", path, "--arrival-times", str(times), "--json")
    simulated = json.loads(run(*arrivals))["simulation"]
    assert [simulated[name] for name in "LTI"] == pytest.approx([printed[name] for name in "LTI"], abs=1e-12)
    assert simulated["period_s"] == pytest.approx(printed["period_s"], rel=0.05 if placement == "copies" else 1e-6)

    run("generate", str(MODEL), "--split", path, "--samples", str(CALIBRATION), "-o", str(tmp_path / "out"))
    project = Project.read(tmp_path / "out")
    generated = (project.estimated_i_s, project.estimated_period_s)
    assert generated == pytest.approx((printed["I"], printed["period_s"]), rel=BY_FORMATS)
    joules = sum(
        each.energy_j(board.run_w or 0.0, board.idle_w or 0.0)
        for each in project.estimated_in_stream
        for board in project.boards
        if board.number == each.board
    )
    assert joules == pytest.approx(printed["energy_j"], rel=BY_FORMATS)


def test_scripts_get_the_figures_that_the_command_prints(tmp_path: Path) -> None:
    search = api.Search(assignment="1-3:1,4-7:2")
    found = api.split(MODEL, [G0, G0], api.CostSettings(baud=921600), search)
    path = str(tmp_path / "split.json")
    arguments = ("split", str(MODEL), "-b", G0, "-b", G0, *PLACEMENTS["streamed"][2:], "-o", path, "--json")
    printed = json.loads(run(*arguments))["figures"]
    assert (found.latency_s, found.period_s, found.energy_j) == (printed["I"], printed["period_s"], printed["energy_j"])
