"""What to connect, as text and picture: header pins of both ends, TX to RX, ground; and README.md of a folder."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from commands.command_line import USAGE, run
from example_folders import example
from rigs.fake_rig import make_project
from tinysplit.boards.catalog import load_boards
from tinysplit.boards.header_pins import header_pins
from tinysplit.codegen.readme import write_readme
from tinysplit.project.manifest import Project
from tinysplit.project.wiring_picture import wiring_lines, wiring_svg

BOARDS = ("nucleo_g071rb", "nucleo_h743zi", "nucleo_l412kb")
DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("generated") / "out"
    example.generate_example(out, *BOARDS)
    return out


def test_every_link_uart_of_every_board_has_header_pins() -> None:
    for board in load_boards():
        for uart in board.link_uarts:
            pins = header_pins(board.name, uart.name)
            assert uart.connector == f"{pins.tx} TX, {pins.rx} RX"
            assert (pins.tx_pin, pins.rx_pin) == (uart.tx.name, uart.rx.name)
            assert pins.ground not in {pins.tx, pins.rx}


def test_the_command_prints_both_ends_of_each_wire(folder: Path) -> None:
    assert run("wiring", str(folder)).splitlines()[:4] == [
        "board 1 (nucleo_g071rb) USART1 to board 2 (nucleo_h743zi) USART2, 115200 baud",
        "    TX   CN10-21 (D8)   PA9      -------->  RX   CN9-4 (D52)    PD6",
        "    RX   CN10-33 (D2)   PA10     <--------  TX   CN9-6 (D53)    PD5",
        "    GND  CN6-6                   ---------  GND  CN8-11",
    ]
    links = json.loads(run("wiring", str(folder), "--json"))["links"]
    assert len(links) == len(Project.read(folder).links)
    assert links[0]["wires"][0]["right"] == {"signal": "RX", "header": "CN9-4 (D52)", "pin": "PD6"}
    assert "give one of both" in run("wiring", str(folder), "-b", BOARDS[0], expect=USAGE)


def test_the_picture_has_three_wires_a_link_with_their_pins(folder: Path) -> None:
    project = Project.read(folder)
    picture = ET.fromstring((folder / "wiring.svg").read_text())  # noqa: S314 (our own file)
    lines, texts = picture.findall(f"{SVG}line"), [each.text for each in picture.findall(f"{SVG}text")]
    assert len(lines) == 3 * len(project.links)
    for link in project.links:
        for board, uart in link.ends:
            pins = header_pins(project.board(board).name, uart)
            assert {f"{project.board(board).title} {uart}", pins.tx, pins.rx, pins.ground} <= set(texts)
    height = float(picture.attrib["height"])
    assert all(0 < float(line.attrib["y1"]) < height for line in lines)
    assert wiring_svg(project) == (folder / "wiring.svg").read_text()


def test_the_picture_of_the_manual_is_the_one_of_two_boards(tmp_path: Path) -> None:
    project = example.generate_example(tmp_path / "out", "nucleo_g071rb", "nucleo_f401re")
    assert (DOCS / "images" / "two_boards.svg").read_text() == wiring_svg(project)


def test_the_commands_of_the_readme_are_accepted(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (folder / "README.md").read_text()
    commands = [line.split() for line in text.splitlines() if line.strip().startswith("tinysplit ")]
    assert [command[1] for command in commands] == ["build", "measure", "bench", "bench", "flash", "measure", "report"]
    assert all(title in text for title in ("NUCLEO-G071RB", "NUCLEO-H743ZI2", "NUCLEO-L412KB", "(wiring.svg)"))
    assert str(tmp_path.parent) not in text
    for _, *arguments in commands:
        help_text = run(*arguments[: 2 if arguments[0] == "bench" else 1], "--help-all")
        assert all(option in help_text for option in arguments if option.startswith("--"))
    (folder.parent / "rig.toml").write_text("".join(f'[[board]]\nserial_number = "{i}"\n' for i in range(3)))
    monkeypatch.chdir(folder)
    assert run("flash", ".", "--rig", "../rig.toml", "--dry-run").count("openocd -f") == 2 * len(BOARDS)


def test_a_folder_with_readme_and_picture_is_generated_again(folder: Path) -> None:
    before = (folder / "README.md").read_text()
    example.generate_example(folder, *BOARDS)
    assert (folder / "README.md").read_text() == before


def test_a_project_without_links_has_no_picture(tmp_path: Path) -> None:
    alone = make_project().model_copy(update={"links": ()})
    write_readme(tmp_path, alone)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    text = (tmp_path / "README.md").read_text()
    assert "bench check" not in text
    assert "2. Build and flash" in text
    assert list(wiring_lines(alone)) == [
        "one board, or several that do not talk to each other: nothing to connect but USB"
    ]
