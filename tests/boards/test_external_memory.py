"""External memories of boards: facts by ST's and Macronix' documents, and one line for each mistake of a file."""

import tomllib
from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from tinysplit.boards.catalog import load_board, load_boards, make_board
from tinysplit.boards.schema import BoardFile
from tinysplit.common import package_files
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import first_mistake

BOARD = "disco_l496ag"
FREE = {"clk": "PC0", "ncs": "PC1", "io0": "PC2", "io1": "PC3", "io2": "PE4", "io3": "PE5"}  # on other boards


def file(changes: Mapping[str, object], name: str = BOARD) -> BoardFile:
    """Return the file of a board with a changed external memory."""
    read = tomllib.loads((package_files.boards() / f"{name}.toml").read_text(encoding="utf-8"))
    own = tomllib.loads((package_files.boards() / f"{BOARD}.toml").read_text(encoding="utf-8"))
    return BoardFile.model_validate({**read, "external_memory": {**own["external_memory"], **changes}})


def test_one_board_has_an_external_memory() -> None:
    assert [board.name for board in load_boards() if board.external] == [BOARD]


def test_the_facts_of_the_discovery_board() -> None:
    external = load_board(BOARD).external
    assert external is not None
    assert (external.memory.start, external.memory.size_bytes) == (0x90000000, 8 << 20)  # 64 Mbit
    assert [pin.name for pin in external.pins] == ["PA3", "PB11", "PB1", "PB0", "PA7", "PA6"]  # ST's BSP
    assert {pin.alternate_function for pin in external.pins} == {10}  # GPIO_AF10_QUADSPI
    assert external.prescaler == 2  # 80 MHz to 40 MHz
    # One clock with chip select high, 8 of the command, 6 + 2 of address and mode byte, 4 dummy ones.
    assert external.burst_cycles == 2 * (1 + 8 + 6 + 2 + 4)
    assert external.byte_cycles == 2 * 2


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"address": 0x70000000}, "address: the QUADSPI maps a flash at 0x90000000, not at 0x70000000"),
        ({"bytes": 3 << 20}, "bytes: 3145728 is no power of two up to 2^24 (addresses of 24 bits)"),
        ({"bytes": 32 << 20}, "bytes: 33554432 is no power of two up to 2^24 (addresses of 24 bits)"),
        ({"clock_hz": 1000}, "clock_hz: 1000 is less than 80000000 Hz / 256"),
        (
            {"clock_hz": 60_000_000, "max_hz": 80_000_000},
            "clock_hz: the QUADSPI makes at most 40000000 Hz, not 60000000",
        ),
    ],
)
def test_a_file_that_contradicts_the_device(changes: dict[str, object], line: str) -> None:
    with pytest.raises(InputError) as error:
        make_board(BOARD, file(changes))
    assert str(error.value) == f"external_memory.{line}"


def test_a_pin_without_the_signal() -> None:
    pins = {"clk": "PA4", "ncs": "PB11", "io0": "PB1", "io1": "PB0", "io2": "PA7", "io3": "PA6"}
    with pytest.raises(InputError, match=r"^external_memory.pins.clk: PA4 does not carry"):
        make_board(BOARD, file({"pins": pins}))


@pytest.mark.parametrize("name", ["nucleo_g071rb", "nucleo_l4r5zi"])
def test_a_device_without_quadspi(name: str) -> None:
    with pytest.raises(InputError, match=r"^external_memory.kind: stm32\w+ has no QUADSPI"):
        make_board(name, file({"pins": FREE}, name))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"bytes": 0}, "external_memory.bytes"),
        ({"clock_hz": 50_000_000}, "clock_hz 50000000 is more than the max_hz 40000000 of the flash"),
        ({"kind": "fmc"}, "kind 'fmc': the firmware has no driver for it, only for 'qspi'"),
        ({"lines": [1, 3, 4]}, "external_memory.lines"),
    ],
)
def test_values_that_no_board_can_have(changes: dict[str, object], line: str) -> None:
    with pytest.raises(ValidationError) as error:
        file(changes)
    assert line in first_mistake(error.value)
    assert first_mistake(error.value).startswith("external_memory")
