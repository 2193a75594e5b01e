"""Memories of a device that contradict each other: one line each, with the bytes."""

from dataclasses import replace

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.boards.family_schema import FamilyFile
from tinysplit.boards.memory_system import memory_levels
from tinysplit.boards.parts import Memory
from tinysplit.boards.schema import read_toml
from tinysplit.common import package_files
from tinysplit.common.errors import InputError

BOARD = load_board("nucleo_h743zi")
SYSTEM = read_toml(package_files.boards() / "families" / "stm32h7.toml", FamilyFile).memory_system
FLASH, DTCM = BOARD.device.flash, next(memory for memory in BOARD.device.ram if memory.name == "dtcm")
OTHERS = tuple(memory for memory in BOARD.device.ram if memory != DTCM)


@pytest.mark.parametrize(
    ("ram", "message"),
    [
        ((replace(DTCM, size_bytes=0), *OTHERS), "dtcm at 0x20000000 has 0 bytes"),
        (
            (DTCM, Memory("sram4", 0x2001FF00, 1024), *OTHERS),
            "sram4 at 0x2001ff00 overlaps dtcm, 131072 bytes at 0x20000000, by 256 bytes",
        ),
        (
            (replace(DTCM, start=FLASH.start), *OTHERS),
            "flash at 0x08000000 overlaps dtcm, 131072 bytes at 0x08000000, by 131072 bytes",
        ),
        ((DTCM, *OTHERS, Memory("sram9", 0x50000000, 8)), "memory_system of stm32h7.toml does not describe sram9"),
    ],
)
def test_wrong_memories_are_refused_in_one_line(ram: tuple[Memory, ...], message: str) -> None:
    with pytest.raises(InputError) as error:
        memory_levels(SYSTEM, replace(BOARD.device, ram=ram), BOARD.clock)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_device_without_near_memory_is_refused() -> None:
    far = SYSTEM.model_copy(update={"levels": SYSTEM.levels | {"dtcm": 2}})
    with pytest.raises(InputError, match=r"no RAM is of level 1 in memory_system of stm32h7.toml; RAM: .*dtcm"):
        memory_levels(far, BOARD.device, BOARD.clock)
