"""Runs a kernel on a virtual Cortex-M0+ board."""

from pathlib import Path

import numpy as np

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.layer_source import LayerSource, c_type, render_header, render_layer
from tinysplit.network.fixed_point.formats import IntArray
from virtual_stm32 import VirtualBoard, VirtualRig

BOARD = "nucleo_g071rb"
OUTPUT, DONE, SCRATCH = 0x20000000, 0x20003FFC, 0x20004000
PROGRAM = """{layer}
#include "device.h"
static const {x_type} inputs[{inputs}] __attribute__((aligned(4))) = {{{values}}};

void *memset(void *to, int value, size_t size) {{
  for (volatile uint8_t *byte = to; size > 0; size--) {{
    *byte++ = (uint8_t)value;
  }}
  return to;
}}

void reset(void) {{
  for (int32_t i = 0; i < {samples}; i++) {{
    layer_1({input}, ({y_type} *){output} + i * {out_size}{scratch});
  }}
  *(volatile uint32_t *){done} = 1;
  for (;;) {{
    __asm volatile("wfi");
  }}
}}
"""


def run_on_virtual_board(folder: Path, source: LayerSource, x: IntArray) -> bytes:
    """Return the outputs of a layer for `x` (N x H x W x C), computed by Cortex-M0+ code."""
    folder.mkdir(exist_ok=True)
    (folder / "layers.h").write_text(render_header({1: source}))
    layer = source.quantized.layer
    program = PROGRAM.format(
        layer=render_layer(source, 1) + "#include <stddef.h>",
        x_type=c_type(source.quantized.formats.x),
        y_type=c_type(source.quantized.formats.y),
        inputs=x.size,
        values=", ".join(map(str, x.ravel().tolist())),
        samples=len(x),
        input=f"inputs + i * {layer.in_shape.size}",
        out_size=layer.out_shape.size,
        output=f"{OUTPUT:#x}",
        done=f"{DONE:#x}",
        scratch=f", (void *){SCRATCH:#x}" if source.scratch_bytes else "",
    )
    board = load_board(BOARD)
    rig = VirtualRig([VirtualBoard(board, build(folder, board, program))], has_ideal_memory=True)
    rig.run_until(10**12)
    assert rig.read_word(0, DONE) == 1, "the layer does not end"
    size = len(x) * layer.out_shape.size * source.quantized.formats.y.bits // 8
    words = [rig.read_word(0, OUTPUT + offset) for offset in range(0, size, 4)]
    return np.array(words, "<u4").tobytes()[:size]
