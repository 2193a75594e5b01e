"""Board files that `tinysplit boards --new` writes."""

import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import load_board, load_family, make_board, read_board_file
from tinysplit.boards.devices import part_names
from tinysplit.boards.new_board import new_board_file
from tinysplit.boards.schema import BoardFile
from tinysplit.common.errors import InputError, UsageError

PARTS = (
    "stm32g0b1ret6",
    "stm32g031k8t6",
    "stm32f071cbt6",
    "stm32f072c8t6",
    "stm32f091vct6",
    "stm32f100rbt6",
    "stm32f101c8t6",
    "stm32f102cbt6",
    "stm32f103c6t6",
    "stm32f103vct6",
    "stm32f302cbt6",
    "stm32f303k8t6",
    "stm32f303zet6",
    "stm32f301c8t6",
    "stm32f411ret6",
    "stm32f407vgt6",
    "stm32f745vet6",
    "stm32f777zit6",
    "stm32l476rgt6",
    "stm32l4p5zgt6",
    "stm32g431c8t6",  # 22 KB of SRAM and 10 KB of CCM SRAM
    "stm32g473cet6",
    "stm32g491ret6",
    "stm32c011f6p6",
    "stm32c071cbt6",  # five channels of DMA
    "stm32c092rct6",
    "stm32l051c8t6",
    "stm32l082kbt6",
    "stm32wb55cgu6",
    "stm32wl54ccu7",
    "stm32wle5j8i6",  # SRAM2 alone
    "stm32u585cit6",
    "stm32u575vgt6q",
    "stm32l562cet6",
    "stm32h562rit6",
    "stm32h573vit6",
    "stm32h742zgt6",  # two banks of flash and two of RAM, apart
    "stm32h753zit6",
)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_every_kind_of_line(part: str) -> None:
    name, text = new_board_file(part.upper())
    board = make_board(name, BoardFile.model_validate(tomllib.loads(text)))
    assert (board.name, board.device.name, board.published, board.known_power) == (part, part, None, None)
    assert board.clock.core_hz == board.device.max_hz
    uarts = (board.host_uart, *board.link_uarts)
    pins = [pin.name for uart in uarts for pin in (uart.tx, uart.rx)]
    assert len(uarts) > 1
    assert len(set(pins)) == len(pins)
    assert not {"PA13", "PA14"} & set(pins)  # SWD


def test_facts_of_lines_are_those_of_the_boards() -> None:
    for board in map(load_board, board_names()):
        file, family = read_board_file(board.name), load_family(board.device.name)
        (line,) = (each for each in family.lines if any(fnmatch(board.device.name, part) for part in each.parts))
        assert line.device_id == file.debug.device_id
        limits = {"source": "", "settings": {**line.clock.settings, "vddio2": 0}}
        own = {"source": "", "settings": {**file.clock.settings, "vddio2": 0}}  # that of pins of one board
        assert line.clock.model_dump() | limits == file.clock.model_dump() | own
        _, text = new_board_file(board.device.name)
        made = make_board(board.name, BoardFile.model_validate(tomllib.loads(text)))
        assert made.device == board.device
        assert replace(made.hsi_clock, settings=()) == replace(board.hsi_clock, settings=())
        assert (made.caches, made.code_ram) == (board.caches, board.code_ram)
        assert (made.memory_levels == board.memory_levels) == (file.flash is None)


def test_every_line_has_parts() -> None:
    known = part_names()
    for part in (
        "stm32c0",
        "stm32g0",
        "stm32l0",
        "stm32g4",
        "stm32f0",
        "stm32f1",
        "stm32f3",
        "stm32f4",
        "stm32f7",
        "stm32l4",
        "stm32h7",
        "stm32wb",
        "stm32wl",
        "stm32u5",
        "stm32h5",
        "stm32l5",
    ):
        for line in load_family(part).lines:
            assert all(any(fnmatch(name, pattern) for name in known) for pattern in line.parts)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("stm32f411re", "several parts begin so: stm32f411ret6, stm32f411ret7; write one of them"),
        (
            "stm32f205",
            "there is no firmware for the family stm32f2, only for stm32c0, stm32f0, stm32f1, stm32f3, stm32f4",
        ),
        ("stm32f746zgt7", "there is no firmware for its line of the family stm32f7, only for stm32f745*6"),  # 200 MHz
        (
            "stm32h7b3zit6",
            "there is no firmware for its line of the family stm32h7, only for stm32h742*",
        ),
        (
            "stm32f411zzz",
            "there is no part 'stm32f411zzz': write it as on the device, parts that begin with stm32f411:",
        ),
        ("stm32f999re", "there is no part 'stm32f999re': write it as on the device, nearest: stm32l496ret6, stm32"),
        ("arduino", "there is no part 'arduino': write it as on the device, as in stm32g071rbt6"),
        (
            "stm32wl33ccv6",
            "there is no firmware for its line of the family stm32wl, only for stm32wl5[45]*, stm32wle[45]*",
        ),
        ("stm32h745zit6", "there is no firmware for parts with two cores that both start at a reset"),
        ("stm32g031j6m6", "too few UARTs: one for the host and one for a link are needed"),
    ],
)
def test_parts_that_are_refused(given: str, text: str) -> None:
    with pytest.raises((InputError, UsageError)) as refused:
        new_board_file(given)
    is_unknown = "there is no part" in text or "several parts" in text
    assert isinstance(refused.value, UsageError) == is_unknown
    assert given in str(refused.value)
    assert text in str(refused.value)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("boards", "--new", "STM32G031K8T6")
    written = tmp_path / "stm32g031k8t6.toml"
    assert written.read_text() == new_board_file("stm32g031k8t6")[1]
    run("boards", "--new", "STM32G031K8T6")  # as it is already
    written.write_text(written.read_text().replace("bare device", "mine"))
    assert "differs from what --new writes" in run("boards", "--new", "stm32g031k8t6", expect=BAD_INPUT)
    assert "mine" in written.read_text()
    run("boards", "--new", "stm32g031k8t6", "--force")
    assert "mine" not in written.read_text()
    for name in ("my board", "1", "nucleo_g071rb"):
        refused = run("boards", "--new", "stm32g031k8t6", "-o", f"{name}.toml", expect=BAD_INPUT)
        assert f"{name}.toml" in refused
        assert not Path(f"{name}.toml").exists()
    written.write_text("mine")
    assert "was not written by tinysplit" in run("boards", "--new", "stm32g031k8t6", expect=BAD_INPUT)
    assert "--force overwrites the file that --new writes" in run("boards", "--force", expect=USAGE)
    assert "there is no part 'stm32g071rbz9'" in run("boards", "--new", "stm32g071rbz9", expect=USAGE)
    assert "--out is the file that --new writes" in run("boards", "-o", "x.toml", expect=USAGE)
