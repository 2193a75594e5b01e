"""An assignment that is given: --assign, or an edited split file."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, CHECK_FAILED, USAGE, run
from example_folders import example
from tinysplit import pipeline
from tinysplit.cli.app import app
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.samples import load_samples
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.slices.settings import Search

MODEL, CALIBRATION = str(example.MODEL), str(example.CALIBRATION)
TWO_G0 = ("--board", "nucleo_g071rb", "--board", "nucleo_g071rb")
PUBLISHED = "1-4:1,5-7:2"
WHOLE = ("--slices", "none", "--use-all")


def test_table_5_by_the_published_costs(tmp_path: Path) -> None:
    given = json.loads(
        run("split", MODEL, *TWO_G0, "--paper", "--assign", PUBLISHED, "-o", str(tmp_path / "s.json"), "--json")
    )
    figures = given["figures"]
    assert [f"{figures[name]:.2f}" for name in "LTI"] == ["3.88", "0.22", "4.10"]
    assert [cut["payload_bytes"] for cut in given["cuts"]] == [4 * 800]
    found = json.loads(run("split", MODEL, *TWO_G0, "--paper", "-o", str(tmp_path / "s.json"), "--json"))
    assert found["proved"]
    assert found["assignment"] == given["assignment"]
    cut = run("split", MODEL, *TWO_G0, "--paper", "--assign", "1-3:1,4-7:2", "-o", "s.json", expect=CHECK_FAILED)
    assert "--paper counts no cut between layers 3 and 4" in cut


@pytest.mark.parametrize("more", [("--assign", PUBLISHED), ()])
def test_published_costs_are_said_to_be_those_of_float32(tmp_path: Path, more: tuple[str, ...]) -> None:
    options = ["split", MODEL, *TWO_G0, *more, "-o", str(tmp_path / "s.json")]
    said = CliRunner().invoke(app, [*options, "--paper"]).stderr
    assert "float32 by the cycles per MAC of Santamaria 2021" in said
    assert "generated firmware computes in 8 or 16 bits" in said
    assert "float32" not in CliRunner().invoke(app, options).stderr


def test_it_is_not_proved(tmp_path: Path) -> None:
    printed = run("split", MODEL, *TWO_G0, "--assign", PUBLISHED, "-o", str(tmp_path / "s.json"), "--explain")
    assert "given, not searched for: lower bound of latency" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--assign", "1-6:1"), USAGE, "--assign 1-6:1: layer 7 has no board: name all 7 layers"),
        (("--assign", PUBLISHED, "--replicate"), USAGE, "nothing is searched for: leave --replicate out"),
        (("--assign", PUBLISHED, "--slices", "rows"), USAGE, "nothing is searched for: leave --slices out"),
        (("--assign", PUBLISHED, "--max-latency", "0.01"), CHECK_FAILED, "is above the limit of 10 ms"),
        (("--assign", "1-7:1", "--use-all"), CHECK_FAILED, "board 2 (nucleo_g071rb) has no layer"),
    ],
)
def test_refusals(options: tuple[str, ...], code: int, says: str, tmp_path: Path) -> None:
    assert says in run("split", MODEL, *TWO_G0, *options, "-o", str(tmp_path / "s.json"), expect=code)
    assert not list(tmp_path.iterdir())


def test_mixed_precision_keeps_it() -> None:
    boards, messages = ("nucleo_g071rb", "nucleo_g071rb"), Console(quiet=True)
    context = Context.load(example.MODEL, boards, CostSettings(), messages)
    samples = load_samples(example.CALIBRATION, context.graph)
    goal = Goal(min_sqnr_db=45.0)
    joint = pipeline.split_in_mixed_precision(context, Search(assignment=PUBLISHED), samples, goal)
    assert joint.split.assignment == (0, 0, 0, 0, 1, 1, 1)
    assert joint.split.distributions is None
    assert len(joint.rounds) == 1


def test_an_edited_file_is_generated_with_its_own_cuts(tmp_path: Path) -> None:
    path, out = tmp_path / "split.json", tmp_path / "out"
    split = json.loads(run("split", MODEL, *TWO_G0, *WHOLE, "-o", str(path), "--json"))
    path.write_text(json.dumps(split | {"assignment": [1, 1, 1, 1, 2, 2, 2]}))
    project = json.loads(run("generate", MODEL, "--split", str(path), "-s", CALIBRATION, "-o", str(out), "--json"))
    assert [layer["board"] for layer in project["layers"]] == [1, 1, 1, 1, 2, 2, 2]
    assert [cut["payload_bytes"] for cut in project["cuts"]] == [512]
    written = json.loads((out / "split.json").read_text())
    assert [cut["payload_bytes"] for cut in written["cuts"]] == [512]
    assert written["figures"]["T"] > split["figures"]["T"]
    simulated = json.loads(run("arrivals", MODEL, "--split", str(path), "--frame-rate", "1", "--json"))
    assert simulated["placements"]["split"]["mean_latency_s"] > split["figures"]["I"]


def test_an_edited_file_that_cannot_run(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    split = json.loads(run("split", MODEL, *TWO_G0, *WHOLE, "-o", str(path), "--json"))
    generate = ("generate", MODEL, "--split", str(path), "-s", CALIBRATION, "-o", str(tmp_path / "out"))
    path.write_text(json.dumps(split | {"assignment": [1] * 7}))
    assert "board 2 (nucleo_g071rb) has no layer" in run(*generate, expect=CHECK_FAILED)
    path.write_text(json.dumps(split | {"assignment": [1] * 6}))
    assert "split.json assigns 6 layers, tiny_cnn has 7" in run(*generate, expect=BAD_INPUT)
