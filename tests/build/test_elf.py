import io
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from programs.projects import make_project
from session import direct_builds
from tinysplit.boards.catalog import load_board
from tinysplit.boards.parts import Memory
from tinysplit.build.elf import ElfSizes, check_memory, print_memory, read_elf
from tinysplit.build.platformio import build_projects
from tinysplit.common.errors import CheckFailedError, ToolError

DEVICE = load_board("nucleo_g071rb").device

SOURCE = """
#include <stdint.h>
__attribute__((section(".weights.a"), used)) static const int8_t layer_1_weights[13] = {1, 2};
__attribute__((section(".weights.b"), used)) static const int32_t layer_1_bias[3] = {1, 2};
__attribute__((section(".weights.c"), used)) static const int16_t layer_12_table[7] = {1, 2};
__attribute__((section(".weights.d"), used)) static const int8_t other_weights[5] = {1, 2};
uint8_t network_arena[1000];
static volatile uint32_t started = 7;
void layer_1(void);
void layer_12(void);
void run_layer_12(void);
__attribute__((noinline)) static void layer_1_tail(void) { started += network_arena[started]; }
__attribute__((noinline)) static void dsp_own_part(void) { started *= started; }
__attribute__((weak)) void dsp_own(const uint32_t *);
void dsp_own(const uint32_t *value) { started += *value; dsp_own_part(); }
static const uint32_t layer_12_description[2] = {5, 6};
void layer_1(void) { started = 1; layer_1_tail(); }
void layer_12(void) { dsp_own(layer_12_description); }
void run_layer_12(void) { layer_12(); layer_1_tail(); }
__attribute__((section(".vectors.kept"), used)) void (*const kept[])(void) = {layer_1, layer_12, run_layer_12};
"""


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = make_project(tmp_path_factory.mktemp("elf") / "board", SOURCE)
    with direct_builds.left_out():
        return build_projects([project])[0]


@pytest.fixture(scope="module")
def sizes(elf: Path) -> ElfSizes:
    return read_elf(elf, DEVICE)


def test_weights_and_arena_to_the_byte(sizes: ElfSizes) -> None:
    assert sizes.weights_bytes == 13 + 3 * 4 + 7 * 2
    assert sizes.arena_bytes == 1000


def test_flash_and_ram_are_what_gnu_size_says(elf: Path, sizes: ElfSizes) -> None:
    output = subprocess.run(["arm-none-eabi-size", str(elf)], capture_output=True, text=True, check=True).stdout
    text, data, bss = map(int, output.splitlines()[1].split()[:3])
    assert sizes.flash.used_bytes == text + data
    assert [use.used_bytes for use in sizes.ram] == [data + bss]
    assert data == 4
    assert sizes.code_bytes == text + data - sizes.weights_bytes


def test_layer_code_is_what_gnu_nm_says(elf: Path, sizes: ElfSizes) -> None:
    output = subprocess.run(["arm-none-eabi-nm", "-S", str(elf)], capture_output=True, text=True, check=True).stdout
    of = {name: int(size, 16) for size, name in re.findall(r"^\w+ (\w+) [tTrW] (\w+)$", output, re.MULTILINE)}
    assert sizes.layer_code_bytes == {
        1: of["layer_1"] + of["layer_1_tail"],
        12: of["layer_12"] + of["layer_12_description"],
    }
    assert sizes.shared_code_bytes == {"dsp_own": of["dsp_own"] + of["dsp_own_part"]}


def test_sections_are_counted_in_the_memory_where_they_lie(elf: Path, sizes: ElfSizes) -> None:
    split = (Memory("sram1", 0x20000000, 4), Memory("sram2", 0x20000004, 36 * 1024 - 4))
    uses = read_elf(elf, replace(DEVICE, ram=split)).ram
    assert [use.used_bytes for use in uses] == [4, sizes.ram[0].used_bytes - 4]


def test_a_memory_over_budget_is_named_with_its_bytes(elf: Path) -> None:
    small = replace(DEVICE, ram=(Memory("sram1", 0x20000000, 1000),))
    sizes = read_elf(elf, small)
    over = sizes.ram[0].used_bytes - 1000
    with pytest.raises(
        CheckFailedError, match=rf"^board 1: sram1 is over budget by {over} bytes \({1000 + over} of 1000\)"
    ):
        check_memory("board 1", sizes)


def test_a_program_that_fits_passes(sizes: ElfSizes) -> None:
    check_memory("board 1", sizes)


def test_every_memory_gets_a_line(sizes: ElfSizes) -> None:
    output = io.StringIO()
    print_memory([("board 1", sizes), ("board 2", sizes)], Console(file=output, width=100))
    lines = output.getvalue().splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["board", number, memory] for number in "12" for memory in ("flash", DEVICE.ram[0].name)
    ]
    assert f"{100 * sizes.ram[0].used_bytes / 36864:.1f}" in lines[2]


def test_a_file_that_is_no_elf_is_named(tmp_path: Path) -> None:
    path = tmp_path / "firmware.elf"
    path.write_bytes(b"no elf")
    with pytest.raises(ToolError, match=r"firmware\.elf is not a readable ELF file .*build the project again"):
        read_elf(path, DEVICE)
