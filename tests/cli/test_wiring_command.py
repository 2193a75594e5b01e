"""`tinysplit wiring`, and `--baud auto`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from tinysplit.cli.app import app

TWO = ("-b", "nucleo_g071rb", "-b", "nucleo_f401re")
WHOLE, SLOW = ("--slices", "none"), ("--link", "1-2:9600")
MODEL, SAMPLES = str(example.MODEL), str(example.SAMPLES)
COMMAND = "test the wiring with `tinysplit wiring -b nucleo_g071rb -b nucleo_f401re`"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("-b", "nucleo_g071rb"), USAGE, "a wiring test needs at least two boards: repeat --board, or name"),
        ((*TWO, "--baud", "fast"), USAGE, "--baud fast: expected a number above zero, or auto"),
        ((*TWO, "--baud", "0"), USAGE, "--baud 0: expected a number above zero, or auto"),
        ((*TWO, "--baud", "8000000"), USAGE, "link 1-2: nucleo_f401re: USART1 with its clock of 84 MHz cannot make"),
        ((*TWO, "--link", "1-2:none"), BAD_INPUT, "no route from board 1 (nucleo_g071rb) to board 2 (nucleo_f401re)"),
        ((*TWO, "--rig", "nowhere.toml"), BAD_INPUT, "rig nowhere.toml not found"),
    ],
)
def test_a_test_that_cannot_be_made(
    arguments: tuple[str, ...], code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("wiring", *arguments, expect=code).startswith(f"error: {text}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["wiring", "split"])
def test_a_rate_on_which_two_uarts_do_not_agree_is_named_with_what_they_make(command: str) -> None:
    model = (MODEL,) * (command == "split")
    line = run(command, *model, "-b", "nucleo_g071rb", "-b", "nucleo_l452re", "--baud", "3000000", expect=USAGE)
    assert (
        "at 3000000 baud nucleo_g071rb 3047619 and nucleo_l452re 2962963 differ too much, by more than 1.75 %" in line
    )
    assert ": choose another rate" in line


@pytest.mark.parametrize("command", [("split",), ("pareto", "--second-objective", "energy")])
def test_a_wiring_file_that_is_named_has_to_exist(command: tuple[str, ...], tmp_path: Path) -> None:
    path = str(tmp_path / "wiring.json")
    line = run(command[0], MODEL, *TWO, *command[1:], "--wiring", path, expect=BAD_INPUT)
    assert line == f"error: {path} cannot be read (No such file or directory): {COMMAND}"


@pytest.mark.parametrize("options", [(), ("--baud", "auto")])
def test_rates_without_a_test_are_assumed(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    split = json.loads(run("split", MODEL, *TWO, *options, "--use-all", "--json"))
    assert (split["baud"], split["links"]) == (4_000_000, [])
    notes = CliRunner().invoke(app, ["split", MODEL, *TWO, *options, "--use-all"]).stderr
    assert "links at 4000000 baud, assumed for short wires: `tinysplit wiring` tests it\n" in notes


@pytest.mark.slow
def test_a_split_has_uarts_and_rates_of_the_wiring_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "board 1 USART1 to board 2 USART1" in run("wiring", *TWO, "--test-bytes", "2048")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wiring.json", "wiring_test"]
    found = json.loads(run("wiring", *TWO, "--test-bytes", "2048", "--baud", "2000000", "--json"))
    assert found == json.loads((tmp_path / "wiring.json").read_text())
    assert [(link["uarts"], link["baud"]) for link in found["links"]] == [(["USART1", "USART1"], 2_000_000)]
    split = json.loads(run("split", MODEL, *TWO, "--baud", "auto", "--use-all", *WHOLE, "--json"))
    assert split["links"] == [
        {"boards": [1, 2], "baud": 2_000_000, "half_duplex": False, "uarts": ["USART1", "USART1"]}
    ]
    assert split["link_driver"] == "dma"
    slower = json.loads(run("split", MODEL, *TWO, "--baud", "auto", *SLOW, "--use-all", *WHOLE, "--json"))
    assert slower["figures"]["T"] > 50 * split["figures"]["T"]
    assert "tested with dma" in run("split", MODEL, *TWO, "--baud", "auto", "--link-driver", "interrupt", expect=USAGE)
    others = ("split", MODEL, "-b", "nucleo_g071rb", "-b", "nucleo_g071rb")
    assert json.loads(run(*others, "--json"))["baud"] == 4_000_000
    line = run(*others, "--wiring", "wiring.json", expect=BAD_INPUT)
    assert "wiring.json is of nucleo_g071rb, nucleo_f401re, not of nucleo_g071rb, nucleo_g071rb: test the wir" in line
