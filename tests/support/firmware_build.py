"""A board's firmware with a two-layer network that is easy to compute by hand, compiled without PlatformIO."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board, Uart
from tinysplit.codegen.board_files import render_board_files, write_project_files
from tinysplit.codegen.platformio_ini import macros

FLAGS = ("-mthumb", "-mfloat-abi=soft", "-std=c11", "-O2", "-ffunction-sections", "-fdata-sections")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wconversion")
LINKING = (
    "-nostartfiles",
    "--specs=nano.specs",
    "-Wl,--gc-sections",
    "-Wl,--fatal-warnings",
    "-Wl,--no-warn-rwx-segments",
)

# Layer 1 adds its weight to every byte, layer 2 doubles every byte.
NETWORK = """
#include "network.h"

uint8_t network_arena[{arena}] __attribute__((section(".arena"), aligned(4)));
static const int8_t weights[4] __attribute__((section(".weights"))) = {{1, 2, 3, 4}};

static void run_layer_1(void) {{
  const uint8_t *x = network_arena;
  uint8_t *y = network_arena + {size};
  for (uint32_t i = 0; i < {size}u; i++) y[i] = (uint8_t)(x[i] + weights[i % 4u]);
}}

static void run_layer_2(void) {{
  const uint8_t *x = network_arena + {size};
  uint8_t *y = network_arena;
  for (uint32_t i = 0; i < {size}u; i++) y[i] = (uint8_t)(2 * x[i]);
}}

extern void (*const all_layers[2])(void);
void (*const all_layers[])(void) = {{run_layer_1, run_layer_2}}; /* no warning where only one is a step */
"""
NETWORK_FACTS = """
const network_step_t network_steps[] = {{{steps}}};
const uint16_t network_step_count = {count};
const uint32_t network_project_hash = 0x12345678u;
const uint8_t network_board_index = {board_index};
const uint32_t network_input_bytes = {input_bytes};
const uint32_t network_input_offset = 0;
const uint32_t network_output_bytes = {output_bytes};
const uint32_t network_output_offset = 0;
network_time_t network_times[{times}];
const uint16_t network_time_count = {times};
"""
RUN = "{{.kind = NETWORK_RUN, .index = {number}, .run = run_layer_{number}}},\n"
TRANSFER = "{{.kind = {kind}, .link = {link}, .index = {cut}, .offset = {offset}, .bytes = {size}}},\n"
HOST = 0xFF


@dataclass(frozen=True)
class SubModel:
    """Layers `first` to `last` (1 or 2) between two links by index, or HOST; layer 1 reads cut 1, layer 2 cut 0."""

    first: int
    last: int
    source: int = HOST
    destination: int = HOST

    def steps(self, size: int) -> list[str]:
        """Return the initializers of the steps in C."""
        steps = [RUN.format(number=number) for number in range(self.first, self.last + 1)]
        if self.source != HOST:
            offset = (self.first - 1) * size
            steps.insert(0, _transfer("NETWORK_RECEIVE", self.source, self.first % 2, offset, size))
        if self.destination != HOST:
            offset = size if self.last == 1 else 0
            steps.append(_transfer("NETWORK_SEND", self.destination, (self.last + 1) % 2, offset, size))
        return steps


def _transfer(kind: str, link: int, cut: int, offset: int, size: int) -> str:
    return TRANSFER.format(kind=kind, link=link, cut=cut, offset=offset, size=size)


def network_source(sub_models: Sequence[SubModel], size: int, board_index: int = 0, arena: int = 0) -> str:
    """Return a network.c; tensors have `size` bytes."""
    steps = [step for sub_model in sub_models for step in sub_model.steps(size)]
    return NETWORK.format(arena=arena or 2 * size, size=size) + NETWORK_FACTS.format(
        steps="".join(steps),
        count=len(steps),
        board_index=board_index,
        input_bytes=size if sub_models[0].source == HOST else 0,
        output_bytes=size if sub_models[-1].destination == HOST else 0,
        times=sum("RECEIVE" not in step for step in steps),
    )


def write_project(folder: Path, board: Board, links: Sequence[Uart], network: str, link_baud: int = 115200) -> None:
    """Write the files of a generated project, in its layout."""
    links_at_rate = [(link, link_baud) for link in links]
    texts = {**render_board_files(board, links_at_rate, 115200, board.near_memory), "src/network.c": network}
    write_project_files(folder, board, texts)


def link_project(folder: Path, board: Board) -> subprocess.CompletedProcess[str]:
    """Compile and link a project into firmware.elf."""
    sources = sorted(path.relative_to(folder) for path in folder.rglob("*.c"))
    defines = [f"-D{macro}" for macro in macros(board)]
    flags = (f"-mcpu={board.device.core}", *FLAGS, *defines, *WARNINGS, "-Ilib/tinysplit_firmware/src", *LINKING)
    command = ["arm-none-eabi-gcc", *flags, "-Tlinker.ld", "-o", "firmware.elf", *map(str, sources)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def build(folder: Path, board: Board, links: Sequence[Uart], network: str, link_baud: int = 115200) -> Path:
    """Return the ELF of a project."""
    write_project(folder, board, links, network, link_baud)
    linked = link_project(folder, board)
    assert linked.returncode == 0, linked.stderr
    return folder / "firmware.elf"
