"""A board's firmware around a two-layer network that a person can compute, compiled without PlatformIO."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.firmware_files import render_board_files, write_project_files
from tinysplit.hardware import Board, Uart

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

static void run_layer_1(const void *input, void *output) {{
  const uint8_t *x = input;
  uint8_t *y = output;
  for (uint32_t i = 0; i < {size}u; i++) y[i] = (uint8_t)(x[i] + weights[i % 4u]);
}}

static void run_layer_2(const void *input, void *output) {{
  const uint8_t *x = input;
  uint8_t *y = output;
  for (uint32_t i = 0; i < {size}u; i++) y[i] = (uint8_t)(2 * x[i]);
}}

static const network_layer_t layers[] = {{
  {{.number = 1, .run = run_layer_1, .input_offset = 0, .output_offset = {size}}},
  {{.number = 2, .run = run_layer_2, .input_offset = {size}, .output_offset = 0}},
}};
"""
NETWORK_FACTS = """
const network_sub_model_t network_sub_models[] = {{{sub_models}}};
const uint8_t network_sub_model_count = {count};
const uint32_t network_project_hash = 0x12345678u;
const uint8_t network_board_index = {board_index};
const uint32_t network_input_bytes = {input_bytes};
const uint32_t network_output_bytes = {output_bytes};
network_time_t network_times[{times}];
const uint16_t network_time_count = {times};
"""
SUB_MODEL = """
  {{.source = {source}, .source_cut = {source_cut}, .destination = {destination}, .destination_cut = {destination_cut},
   .input_offset = {input_offset}, .input_bytes = {size}, .output_offset = {output_offset}, .output_bytes = {size},
   .layers = layers + {first}, .layer_count = {count}}},
"""
HOST = 0xFF


@dataclass(frozen=True)
class SubModel:
    """Layers `first` .. `last` (1 or 2), from and to a link's index or HOST; layer 1 reads cut 1, layer 2 cut 0."""

    first: int
    last: int
    source: int = HOST
    destination: int = HOST

    def text(self, size: int) -> str:
        """Return the initializer in C."""
        return SUB_MODEL.format(
            source=self.source,
            source_cut=self.first % 2,
            destination=self.destination,
            destination_cut=(self.last + 1) % 2,
            input_offset=(self.first - 1) * size,
            output_offset=size if self.last == 1 else 0,
            size=size,
            first=self.first - 1,
            count=self.last - self.first + 1,
        )


def network_source(sub_models: Sequence[SubModel], size: int, board_index: int = 0, arena: int = 0) -> str:
    """Return a network.c; tensors have `size` bytes."""
    layers = sum(s.last - s.first + 1 for s in sub_models)
    return NETWORK.format(arena=arena or 2 * size, size=size) + NETWORK_FACTS.format(
        sub_models="".join(s.text(size) for s in sub_models),
        count=len(sub_models),
        board_index=board_index,
        input_bytes=size if sub_models[0].source == HOST else 0,
        output_bytes=size if sub_models[-1].destination == HOST else 0,
        times=layers + sum(s.destination != HOST for s in sub_models),
    )


def write_project(folder: Path, board: Board, links: Sequence[Uart], network: str, link_baud: int = 115200) -> None:
    """Write what a generated project has, in its layout."""
    texts = {**render_board_files(board, links, link_baud, 115200), "src/network.c": network}
    write_project_files(folder, board, texts)


def link_project(folder: Path, board: Board) -> subprocess.CompletedProcess[str]:
    """Compile and link a project into firmware.elf."""
    sources = sorted(path.relative_to(folder) for path in folder.rglob("*.c"))
    flags = (f"-mcpu={board.device.core}", *FLAGS, *WARNINGS, "-Ilib/tinysplit_firmware/src", *LINKING)
    command = ["arm-none-eabi-gcc", *flags, "-Tlinker.ld", "-o", "firmware.elf", *map(str, sources)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def build(folder: Path, board: Board, links: Sequence[Uart], network: str, link_baud: int = 115200) -> Path:
    """Return the ELF of a project."""
    write_project(folder, board, links, network, link_baud)
    linked = link_project(folder, board)
    assert linked.returncode == 0, linked.stderr
    return folder / "firmware.elf"
