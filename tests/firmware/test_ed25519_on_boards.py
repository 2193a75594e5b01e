"""Ed25519 of the firmware on virtual boards with the wait states of their flash: results, cycles and sizes."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from programs.firmware_build import FLAGS, WARNINGS
from programs.virtual_firmware import MEMORY_FUNCTIONS, build, clock_settings, symbol_sizes, symbols
from session.compiler_cache import path_in
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig

COMMON = Path(__file__).parents[2] / "firmware" / "common"
SOURCES = ("ed25519.c", "sha512.c")
G0, L4PLUS, H7 = "nucleo_g071rb", "nucleo_l4r5zi", "nucleo_h743zi"
TEXT_BYTES = 2048
END_PS = 2 * 10**12
GOOD, BAD = 1, 2
MOST_CODE_BYTES, MOST_RAM_BYTES = 4200, 520  # of code with its constants, and of ed25519_t

# The text is read where it lies, in flash.
PROGRAM = """
#include <stddef.h>
#include "clock.c"
#include "clock_source.c"
#include "clock_family.c"
#include "ed25519.h"
const clock_settings_t board_clock = {{{clock}}};
static const uint8_t key[] = {{{key}}}, text[] = {{{text}}};
static const uint8_t signatures[][ED25519_SIGNATURE_BYTES] = {{{signatures}}};
static ed25519_t check;
volatile uint32_t good[2];

{memory}
__attribute__((noinline)) void mark(void) {{ __asm volatile("" ::: "memory"); }}

void reset(void) {{
  clock_begin();
  for (uint32_t i = 0; clock_ok && i < 2; i++) {{
    ed25519_begin(&check, signatures[i], key);
    mark();
    ed25519_add(&check, text, sizeof text);
    mark();
    bool is_good = ed25519_end(&check);
    mark();
    good[i] = is_good ? 1 : 2;
  }}
  for (;;) __asm volatile("wfi");
}}
"""


@dataclass(frozen=True)
class Verified:
    """What a board finds of a right and a wrong signature, and cycles of the right one."""

    results: tuple[int, int]
    hash_cycles: int  # of the text
    end_cycles: int


def c_array(data: bytes) -> str:
    return ", ".join(map(str, data))


def run(folder: Path, board_name: str) -> Verified:
    rng = np.random.default_rng(1)
    key, text = Ed25519PrivateKey.from_private_bytes(rng.bytes(32)), rng.bytes(TEXT_BYTES)
    right = key.sign(text)
    wrong = bytes([right[0] ^ 1]) + right[1:]
    board = load_board(board_name)
    source = PROGRAM.format(
        clock=clock_settings(board),
        memory=MEMORY_FUNCTIONS,
        key=c_array(key.public_key().public_bytes_raw()),
        text=c_array(text),
        signatures=", ".join(f"{{{c_array(each)}}}" for each in (right, wrong)),
    )
    elf = build(folder, board, source, firmware=SOURCES)
    places = symbols(elf)
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False)
    rig.mark(0, [places["mark"]])
    rig.run_until(END_PS)
    marks = [cycles for _, cycles, _ in rig.marks(0)]
    assert len(marks) == 2 * 3, "the program does not end"
    first, second = (rig.read_word(0, places["good"] + offset) for offset in (0, 4))
    return Verified((first, second), marks[1] - marks[0], marks[2] - marks[1])


@pytest.mark.parametrize(
    ("board_name", "most_hash_cycles", "most_end_cycles"),
    [
        (G0, 240, 26_000_000),  # 59 ms for 16 KB, and 0.38 s
        (L4PLUS, 133, 13_000_000),  # 17 ms, and 0.10 s
        (H7, 69, 10_200_000),  # 2.2 ms, and 0.02 s
    ],
)
def test_boards_verify_within_cycles(
    tmp_path: Path, board_name: str, most_hash_cycles: int, most_end_cycles: int
) -> None:
    found = run(tmp_path, board_name)
    assert found.results == (GOOD, BAD)
    assert found.hash_cycles <= most_hash_cycles * TEXT_BYTES
    assert found.end_cycles <= most_end_cycles


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7"])
def test_code_and_memory_are_small(tmp_path: Path, core: str) -> None:
    (tmp_path / "check.c").write_text('#include "ed25519.h"\nextern ed25519_t check;\ned25519_t check;\n')
    compiler = ("arm-none-eabi-gcc", f"-mcpu={core}", *FLAGS, *WARNINGS, f"-I{path_in(tmp_path, COMMON)}")
    for source in (*(COMMON / name for name in SOURCES), tmp_path / "check.c"):
        subprocess.run([*compiler, "-c", path_in(tmp_path, source)], cwd=tmp_path, check=True)
    used = [size for name in ("ed25519.o", "sha512.o") for size in symbol_sizes(tmp_path / name, "tTrRbBdD")]
    assert 0 < sum(used) <= MOST_CODE_BYTES
    assert not [size for name in ("ed25519.o", "sha512.o") for size in symbol_sizes(tmp_path / name, "bBdD")]
    [check_bytes] = symbol_sizes(tmp_path / "check.o", "B")
    assert check_bytes <= MOST_RAM_BYTES
