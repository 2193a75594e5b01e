"""`tinysplit boards`: a list that fits 80 columns, filtered and sorted, and one board with its pins."""

import json

import pytest

from commands.command_line import USAGE, run


def names(*options: str) -> list[str]:
    return [board["name"] for board in json.loads(run("boards", *options, "--json"))["boards"]]


def test_the_list_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line for line in run("boards").splitlines() if not line.startswith("note:")]
    assert len(lines) == 1 + len(names())  # a line each
    assert max(map(len, lines)) <= 80
    assert "CpM" not in lines[0]


def test_filters_and_order() -> None:
    assert names("--family", "g0") == names("--family", "STM32G0") == ["nucleo_g071rb", "nucleo_g0b1re"]
    assert set(names("--core", "m0+", "--ram", "36")) >= {"nucleo_g071rb"}
    assert names("--core", "m4", "--ram", "64") == [
        each for each in names("--ram", "64") if each in names("--core", "m4")
    ]
    sizes = [board["ram_bytes"] for board in json.loads(run("boards", "--sort", "ram", "--json"))["boards"]]
    assert sizes == sorted(sizes)
    assert "no board has all of" in run("boards", "--family", "g0", "--core", "m7", expect=USAGE)


def test_one_board_has_its_pins() -> None:
    text = run("boards", "nucleo_g071rb")
    assert text.startswith("nucleo_g071rb: NUCLEO-G071RB")
    assert ["USART2", "host", "PA2", "PA3"] in [line.split()[:4] for line in text.splitlines()]
    assert json.loads(run("boards", "nucleo_g071rb", "--json"))["name"] == "nucleo_g071rb"
