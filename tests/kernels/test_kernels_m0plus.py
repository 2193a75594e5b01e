"""Kernels for Cortex-M0+: C on the host and assembler on a virtual board against the integer reference."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_kernels import run_on_host

from layer_cases import ACTIVATIONS, hard_inputs, quantize_one, with_zero_points
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.layer_source import LayerSource, c_type, render_header, render_layer
from tinysplit.kernels import Direct, Kernel, candidates
from tinysplit.kernels.armv6m import CORE, UnsignedLayer
from tinysplit.kernels.packed import HALF_WORD, Packed
from tinysplit.kernels.sliding import Sliding
from tinysplit.kernels.unpacked import Unpacked
from tinysplit.kernels.wide import Wide
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import Activation, AveragePool, Conv, Dense, DepthwiseConv, Layer, Pads, Shape, Window
from tinysplit.network.quantized_graph import QuantizedLayer
from tinysplit_hil.virtual import VirtualBoard, VirtualRig
from virtual_firmware import build

BOARD = "nucleo_g071rb"
CASES = range(12)
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


def floats(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    """Return floats around zero; sometimes all as large as each other, so that groups become as short as can be."""
    values = rng.choice([-1.0, 1.0], shape) if rng.integers(3) == 0 else rng.normal(0, 0.3, shape)
    return np.asarray(values, np.float32)


def quantized(rng: np.random.Generator, layer: Layer, bits: int) -> QuantizedLayer:
    """Return the layer in random formats, some with zero points, some with an input that is never negative."""
    x_largest, y_largest = 2.0 ** rng.uniform(-3, 3, 2)
    signed = quantize_one(layer, (-x_largest, x_largest), (-y_largest, y_largest), bits)
    if rng.integers(4) == 0:
        return with_zero_points(rng, signed)
    signed = QuantizedLayer.of(layer, requantized(rng, layer, signed.formats), signed.bounds)
    return signed if rng.integers(2) else replace(signed, bounds=((0, signed.formats.x.high),))


def requantized(rng: np.random.Generator, layer: Layer, formats: LayerFormats) -> LayerFormats:
    """Return the formats as they are, with a first shift, shifts alone, or 16 bits out, where sums keep to 32 bits."""
    own = formats.requantization
    assert own
    bits = min(int(rng.integers(1, 6)), own.post_shift)
    first_shift = replace(own, pre_shift=bits, post_shift=own.post_shift - bits)
    shifts = replace(own, factors=(1,), post_shift=own.post_shift - bits)
    changed = (
        formats,
        replace(formats, requantization=first_shift),
        replace(formats, requantization=shifts),
        replace(
            formats,
            y=ValueFormat(16, formats.y.scale / 2**bits),
            requantization=replace(own, post_shift=own.post_shift - bits),
        ),
    )[rng.integers(4)]
    sums = layer.sum_bounds(QuantizedLayer.of(layer, changed))
    assert changed.requantization
    return changed if changed.requantization.largest(sums, 0) <= ACCUMULATOR_MAX else formats


def common(rng: np.random.Generator, *shape: int) -> dict[str, Any]:
    return {
        "name": "case",
        "inputs": ("x",),
        "output": "y",
        "in_shape": Shape(*shape),
        "activation": ACTIVATIONS[rng.integers(len(ACTIVATIONS))],
    }


def random_conv(rng: np.random.Generator) -> Layer:
    """Return a convolution whose windows overlap the map, or a pointwise one."""
    channels = int(rng.choice([1, 3, 4, 5, 8, 16, 34]))
    outputs = 4 * int(rng.choice([1, 2, 3, 16]))
    if rng.integers(2):
        window = Window((1, 1), (1, 1))
    else:
        k_h, k_w, s_h, s_w, d_h, d_w = rng.integers(1, 4, 6).tolist()
        window = Window((k_h, k_w), (s_h, s_w), (d_h, d_w), Pads(*rng.integers(0, 3, 4).tolist()))
    shape = (int(rng.integers(7, 9)), int(rng.integers(7, 9)), channels)
    weights = floats(rng, outputs, *window.kernel, channels)
    return Conv(**common(rng, *shape), weights=weights, bias=floats(rng, outputs), window=window)


def random_dense(rng: np.random.Generator) -> Layer:
    inputs, outputs = int(rng.integers(1, 80)), 4 * int(rng.integers(1, 4))
    return Dense(**common(rng, 1, 1, inputs), weights=floats(rng, outputs, inputs), bias=floats(rng, outputs))


def random_depthwise(rng: np.random.Generator) -> Layer:
    """Return a depthwise convolution 3x3 of any stride along a row that has a kernel."""
    channels = int(rng.choice([1, 4, 6, 16, 260]))
    strides = (int(rng.integers(1, 4)), int(rng.integers(1, 3)))
    window = Window((3, 3), strides, (1, 1), Pads(*rng.integers(0, 3, 4).tolist()))
    shape = (int(rng.integers(3, 6)), int(rng.integers(5, 9)), channels)
    weights, bias = floats(rng, 3, 3, channels), floats(rng, channels)
    return DepthwiseConv(**common(rng, *shape), weights=weights, bias=bias, window=window)


MAKERS: dict[str, tuple[Callable[[np.random.Generator], Layer], Kernel, int]] = {
    "conv": (random_conv, Packed(), 8),
    "conv from unpacked weights": (random_conv, Unpacked(), 8),
    "conv of 16 bits": (random_conv, Wide(), 16),
    "dense": (random_dense, Packed(), 8),
    "dense of 16 bits": (random_dense, Wide(), 16),
    "depthwise": (random_depthwise, Sliding(), 8),
    "depthwise of 16 bits": (random_depthwise, Sliding(), 16),
}


def random_kernels(kind: str) -> dict[int, LayerSource]:
    """Return random kernels of a kind: the first that fit Cortex-M0+."""
    rng = np.random.default_rng(0)
    maker, kernel, bits = MAKERS[kind]
    drawn = (quantized(rng, maker(rng), bits) for _ in range(10 * len(CASES)))
    fitting = [LayerSource(q, kernel) for q in drawn if kernel.fits(q.layer, CORE, Widths.of(q.formats))]
    assert len(fitting) >= len(CASES)
    return dict(enumerate(fitting[: len(CASES)], 1))


def allowed_inputs(source: LayerSource) -> list[IntArray]:
    """Return hard inputs within the bounds of the layer."""
    low, high = source.quantized.x_bounds
    return [x.clip(low, high) for x in hard_inputs(np.random.default_rng(1), source.quantized)]


def reference(source: LayerSource, inputs: list[IntArray]) -> bytes:
    return source.quantized.layer.integer_reference(source.quantized, *inputs).tobytes()


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
    rig = VirtualRig([VirtualBoard(board, build(folder, board, program))])
    rig.run_until(10**12)
    assert rig.read_word(0, DONE) == 1, "the layer does not end"
    size = len(x) * layer.out_shape.size * source.quantized.formats.y.bits // 8
    words = [rig.read_word(0, OUTPUT + offset) for offset in range(0, size, 4)]
    return np.array(words, "<u4").tobytes()[:size]


@pytest.mark.parametrize("kind", MAKERS)
def test_c_on_the_host_equals_the_integer_reference(kind: str, tmp_path: Path) -> None:
    kernels = random_kernels(kind)
    inputs = [allowed_inputs(source) for source in kernels.values()]
    expected = [reference(source, xs) for source, xs in zip(kernels.values(), inputs, strict=True)]
    assert run_on_host(tmp_path, kernels, inputs) == b"".join(expected)


@pytest.mark.parametrize("kind", MAKERS)
def test_assembler_equals_the_integer_reference(kind: str, tmp_path: Path) -> None:
    for number, source in random_kernels(kind).items():
        [x] = allowed_inputs(source)
        x = x[: max(1, (DONE - OUTPUT) // 2 // source.quantized.layer.out_shape.size)]
        output = run_on_virtual_board(tmp_path / str(number), source, x)
        assert output == reference(source, [x]), render_layer(source, 1)


def test_averages_over_sums_of_64_bits_equal_the_integer_reference(tmp_path: Path) -> None:
    window = Window((8, 8))
    layer = AveragePool(**common(np.random.default_rng(5), 8, 8, 2) | {"activation": Activation()}, window=window)
    formats = LayerFormats((ValueFormat.of(16, 1.3, -77),), ValueFormat.of(16, 0.004, 5))
    assert layer.needs_64_bits(formats)
    source = LayerSource(QuantizedLayer.of(layer, formats), Direct())
    [x] = hard_inputs(np.random.default_rng(1), source.quantized)
    assert run_on_virtual_board(tmp_path, source, x) == reference(source, [x])


@pytest.mark.parametrize("x_low", [0, -128])
def test_no_group_of_packed_products_leaves_its_half_of_the_word(x_low: int) -> None:
    rng = np.random.default_rng(2)
    for scale in (0.0, 0.1, 0.3, 10.0):
        weights = rng.normal(0, scale, (8, 1, 1, 64)).astype(np.float32)
        weights[0, 0, 0, :8] = 20  # the largest magnitudes side by side
        layer = Conv(**common(rng, 1, 1, 64), weights=weights, bias=np.zeros(8, np.float32), window=Window((1, 1)))
        packed = replace(quantize_one(layer, (-1, 1), (-1, 1), 8), bounds=((x_low, 127),))
        unsigned = UnsignedLayer.of(packed)
        groups: Any = Packed().facts(packed)["groups"]
        assert sorted(place for group in groups for place in group) == list(range(32))
        for group in groups:
            for loop in (0, 32):
                columns = loop + np.array(group)
                assert np.abs(unsigned.weights[:, columns]).sum(axis=1).max() * unsigned.x_high <= HALF_WORD


def test_layers_that_no_kernel_of_the_core_suits_are_left_to_the_plain_one() -> None:
    rng = np.random.default_rng(3)
    odd = Dense(**common(rng, 1, 1, 8), weights=floats(rng, 3, 8), bias=floats(rng, 3))
    wide = Dense(**common(rng, 1, 1, 8), weights=floats(rng, 4, 8), bias=floats(rng, 4))
    assert [each.name for each in candidates(odd, CORE, Widths.all(8))] == ["direct"]
    assert [each.name for each in candidates(wide, CORE, Widths.all(16))] == ["wide", "direct"]
    assert [each.name for each in candidates(wide, CORE, Widths.all(8))] == ["packed", "direct"]
    assert "packed" not in [each.name for each in candidates(wide, "cortex-m4", Widths.all(8))]


def test_windows_of_other_sizes_do_not_slide() -> None:
    rng = np.random.default_rng(4)
    layer = DepthwiseConv(
        **{**common(rng, 8, 8, 4), "activation": Activation()},
        weights=floats(rng, 5, 5, 4),
        bias=floats(rng, 4),
        window=Window((5, 5)),
    )
    assert not Sliding().fits(layer, CORE, Widths.all(8))
