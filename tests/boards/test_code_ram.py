"""RAM on the code buses, against the memory maps of ST's reference manuals (RM)."""

from dataclasses import replace

import pytest

from tinysplit.boards.board import CodeRam
from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import load_board
from tinysplit.boards.devices import load_memory
from tinysplit.boards.family_schema import CodeAlias
from tinysplit.boards.memory_system import code_ram
from tinysplit.boards.parts import Memory
from tinysplit.common.errors import InputError

KB = 1024
ALIAS = CodeAlias(memory="sram2", start=0x10000000, source="RM0432 memory map")
SRAM2 = Memory("sram2", 0x20030000, 64 * KB)


@pytest.mark.parametrize(
    ("name", "data_start", "kb"),
    [  # sections Embedded SRAM of RM0394 (L412, L433, L452) and RM0432
        ("nucleo_l412kb", 0x20008000, 8),
        ("nucleo_l433rc_p", 0x2000C000, 16),
        ("nucleo_l452re", 0x20020000, 32),
        ("nucleo_l4r5zi", 0x20030000, 64),
        ("disco_l496ag", 0x20040000, 64),  # RM0351
    ],
)
def test_sram2_of_an_l4_is_on_the_code_buses(name: str, data_start: int, kb: int) -> None:
    assert load_board(name).code_ram == CodeRam("sram2", 0x10000000, data_start, kb * KB)


def test_the_ccm_sram_of_a_g474_is_on_the_code_buses() -> None:
    """RM0440, section Memory organization."""
    assert load_board("nucleo_g474re").code_ram == CodeRam("ccm_sram", 0x10000000, 0x20018000, 32 * KB)


def test_the_ccm_sram_of_an_f303_is_on_the_code_buses_alone() -> None:
    """RM0316, section Embedded SRAM: no data of other memories limits its code."""
    ram = load_board("nucleo_f303re").code_ram
    assert ram == CodeRam("ccm", 0x10000000, 0x10000000, 16 * KB)
    assert ram.is_apart
    assert ram.free_bytes(0x2000FFFF) == 16 * KB
    assert ram.data_end(16 * KB) > 0x20010000


def test_an_f334_has_4_kb_of_ccm_sram() -> None:
    """RM0364, section Embedded SRAM."""
    assert load_board("nucleo_f334r8").code_ram == CodeRam("ccm", 0x10000000, 0x10000000, 4 * KB)


@pytest.mark.parametrize(("name", "kb"), [("nucleo_h743zi", 64), ("nucleo_h723zg", 64), ("nucleo_f746zg", 16)])
def test_the_itcm_of_a_cortex_m7_has_no_code_where_null_points_to(name: str, kb: int) -> None:
    """RM0433, RM0468 and RM0385, section Memory map."""
    ram = load_board(name).code_ram
    assert ram == CodeRam("itcm", 0, 0, kb * KB)
    assert ram.is_apart
    assert (ram.unused_bytes, ram.free_bytes(0x2000FFFF)) == (kb * KB // 64, kb * KB * 63 // 64)


WITH_CODE_RAM = (
    *("nucleo_g474re", "nucleo_f303re", "nucleo_f334r8"),
    *("nucleo_f746zg", "nucleo_f767zi", "nucleo_h723zg", "nucleo_h743zi"),
)


@pytest.mark.parametrize("name", [name for name in board_names() if "_l4" not in name and name not in WITH_CODE_RAM])
def test_the_other_families_have_no_ram_on_the_code_buses(name: str) -> None:
    assert load_board(name).code_ram is None


@pytest.mark.parametrize(
    ("start", "memory", "message"),
    [
        (0x10000000, replace(SRAM2, size_bytes=0), "sram2 has 0 bytes"),
        (0x10000000, replace(SRAM2, start=0x200A0000), "sram2 at 0x200a0000 is no part of the data RAM"),
        (0x10000000, replace(SRAM2, start=0x2009FFFC), "is no part of the data RAM"),
        (0x081F0004, SRAM2, "sram2 at 0x081f0004 overlaps flash"),
        (0x00100000, SRAM2, "overlaps flash at address 0"),
        (0x20030000, SRAM2, "sram2 at 0x20030000 overlaps sram"),
        (
            0x10000000,
            replace(SRAM2, size_bytes=48 * KB),
            "with 49152 bytes at 0x20030000 and 0x10000000 cannot be prot",
        ),
        (0x10008000, SRAM2, "with 65536 bytes at 0x20030000 and 0x10008000 cannot be protected: regions of the MPU"),
        (0x10000000, replace(SRAM2, size_bytes=KB), "here at least 2048"),
    ],
)
def test_a_wrong_address_is_refused_in_one_line(start: int, memory: Memory, message: str) -> None:
    with pytest.raises(InputError) as error:
        code_ram(ALIAS.model_copy(update={"start": start}), memory, load_board("nucleo_l4r5zi").device)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data_end", "free_bytes"),
    [
        (0x20000100, 64 * KB),
        (0x20030000, 64 * KB),
        (0x20030001, 63 * KB),
        (0x20030400, 63 * KB),
        (0x2003FC01, 0),
        (0x20050000, 0),
    ],
)
def test_code_begins_where_the_mpu_can_protect_it(data_end: int, free_bytes: int) -> None:
    ram = CodeRam("sram2", 0x10000000, 0x20030000, 64 * KB)
    assert ram.alignment == KB
    assert ram.free_bytes(data_end) == free_bytes


def test_data_leave_room_for_code_and_its_alignment() -> None:
    ram = CodeRam("sram2", 0x10000000, 0x20030000, 64 * KB)
    for code_bytes in (1, KB, KB + 1, 30_000):
        assert ram.free_bytes(ram.data_end(code_bytes)) >= code_bytes
        assert ram.free_bytes(ram.data_end(code_bytes)) < code_bytes + KB


def test_memories_are_found_before_they_are_merged() -> None:
    assert load_memory("stm32l4r5zit6", "sram3") == Memory("sram3", 0x20040000, 384 * KB)
    assert load_memory("stm32l4r5zit6", "sram2") is None  # without the board's corrections
