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
    assert names("--core", "M4", "--family", "l4+") == ["nucleo_l4r5zi", "nucleo_l4r5zi_dbank0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--family", "g9"], "no such board has the family g9, only c0, f0, f1, f3, f4, f7, g0, g4, h5, h7, l0, l4,"),
        (["--core", "m5"], "no such board has the core m5, only m0, m0+, m3, m33, m4, m7"),
        (["--family", "g0", "--core", "m7"], "no such board has the core m7, only m0+"),
        (["--ram", "5000"], "no such board has 5000 KB of RAM, the largest "),
        (["nucleo_g071rb", "--family", "g0"], "--family is for the list of boards: leave it out, or nucleo_g071rb"),
        (["--new", "stm32f411ret6", "--sort", "ram"], "--sort is for the list of boards: leave it out, or --new"),
        (["nucleo_g071rb", "--new", "stm32f411ret6"], "--new writes the file of a part: leave nucleo_g071rb out"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(options: list[str], message: str) -> None:
    text = run("boards", *options, expect=USAGE)
    assert text.startswith(f"error: {message}")
    assert "\n" not in text


def test_one_board_has_its_pins() -> None:
    text = run("boards", "nucleo_g071rb")
    assert text.startswith("nucleo_g071rb: NUCLEO-G071RB")
    assert "\nm0+ at 64 MHz, 2 wait states; flash 128 KB; sram 36 KB\n" in text
    assert ["USART2", "host", "PA2", "PA3"] in [line.split()[:4] for line in text.splitlines()]
    assert json.loads(run("boards", "nucleo_g071rb", "--json"))["name"] == "nucleo_g071rb"


def test_lines_of_a_board_fit_80_columns() -> None:
    for name in names():
        lines = [line for line in run("boards", name).splitlines() if not line.startswith("note:")]
        assert max(map(len, lines)) <= 80
        assert ", 1 wait states" not in "".join(lines)
