"""Kernels that compute row after row, while rows of their input still arrive."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_cases.dsp_layers import conv as dsp_conv
from kernel_cases.dsp_layers import quantized as quantized_for_dsp
from kernel_cases.kernels_on_host import all_kernels
from kernel_cases.layer_cases import KINDS_AND_BITS, quantize_one, random_quantized
from kernel_cases.m0plus_layers import MAKERS as M0PLUS_MAKERS
from kernel_cases.m0plus_layers import random_kernels
from kernel_cases.streamed_layers import StreamedCase, assert_streamed_equals_the_reference, row_bytes, with_hooks
from session.profiles import cases
from tinysplit.codegen.layer_source import LayerSource, render_layer
from tinysplit.codegen.row_hooks import RowHooks
from tinysplit.kernels import Direct
from tinysplit.kernels.armv6m.unpacked import Unpacked
from tinysplit.kernels.dsp.planes import Planes
from tinysplit.kernels.row_order import keeps_lead, may_arrive_in_place, rows_needed
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import (
    Activation,
    Conv,
    Dense,
    DepthwiseConv,
    MaxPool,
    Normalization,
    Pads,
    Permute,
    Shape,
    Softmax,
    Window,
)

CASES = cases(quick=4, full=8, nightly=64)
WHOLE = {
    "matmul",
    "recurrent",
    "dense",
    "upsample",
    "pad",
    "permute",
    "conv_transpose",
}  # kinds that no kernel computes row after row
BYTES = Widths.all(8)


def conv_of(window: Window, shape: Shape, outputs: int = 4) -> Conv:
    weights = np.ones((outputs, *window.kernel, shape.channels), np.float32)
    return Conv(
        name="a",
        inputs=("x",),
        output="y",
        in_shape=shape,
        weights=weights,
        bias=np.zeros(outputs, np.float32),
        window=window,
    )


@pytest.mark.parametrize(("kind", "bits"), [each for each in KINDS_AND_BITS if each[0] not in WHOLE])
def test_rows_are_right_when_they_are_announced(kind: str, bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    kernels = all_kernels([random_quantized(rng, kind, bits) for _ in range(CASES)])
    drawn = with_hooks(rng, list(kernels.values()))
    assert drawn
    assert_streamed_equals_the_reference(tmp_path, rng, drawn)


@pytest.mark.parametrize("kind", [kind for kind in M0PLUS_MAKERS if "dense" not in kind and "any window" not in kind])
def test_rows_of_kernels_for_cortex_m0plus_are_right_when_they_are_announced(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    drawn = with_hooks(rng, list(random_kernels(kind, 24).values()))
    assert drawn
    assert_streamed_equals_the_reference(tmp_path, rng, drawn)


@pytest.mark.parametrize("bits", [8, 16])
def test_rows_of_kernels_with_dual_multiplication_are_right_when_they_are_announced(bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    layers = [quantized_for_dsp(rng, dsp_conv(rng), bits) for _ in range(2 * CASES)]
    layers += [
        quantized_for_dsp(rng, conv_of(Window((1, 1)), Shape(5, width, 4), outputs), bits)
        for width, outputs in ((1, 4), (3, 2), (30, 9))
    ]
    drawn = with_hooks(rng, list(all_kernels(layers, ("cortex-m4",)).values()))
    ways = {each.order.by_calls for each in drawn if each.source.kernel.name == "dual_mac"}
    assert ways == {True, False}
    assert_streamed_equals_the_reference(tmp_path, rng, drawn)


def test_some_outputs_lie_over_an_input_that_arrives() -> None:
    rng = np.random.default_rng(1)
    drawn = with_hooks(rng, [each for kind in ("depthwise", "conv") for each in random_kernels(kind, 24).values()])
    assert sum(each.distance is not None for each in drawn) >= 2


def test_unpacked_weights_are_announced_in_the_last_pass_only() -> None:
    layer = conv_of(Window((3, 3), pads=Pads(1, 1, 1, 1)), Shape(4, 4, 64), outputs=64)
    case = StreamedCase(LayerSource(quantize_one(layer, (-1, 1), (-1, 1), 8), Unpacked()), 0)
    assert case.order.passes > 1
    text = render_layer(replace(case.source, hooks=RowHooks(announces=True)), 1)
    assert "if (channel + CHANNELS == OUT_CHANNELS)" in text
    assert "row_stream_await" not in text


def test_a_kernel_says_why_it_has_no_row_order() -> None:
    shape = Shape(4, 4, 2)
    fields: dict[str, Any] = {"name": "a", "inputs": ("x",), "output": "y", "in_shape": shape}
    depthwise = DepthwiseConv(
        **fields, weights=np.ones((3, 3, 2), np.float32), bias=np.zeros(2, np.float32), window=Window((3, 3))
    )
    assert "two channels" in Planes().row_order(depthwise, BYTES).reason
    assert not Direct().row_order(depthwise, BYTES).reason
    order = np.arange(32).reshape(4, 4, 2).transpose(1, 0, 2).ravel()
    permute = Permute(**fields, new_shape=shape, order=order)
    assert Direct().row_order(permute, BYTES).reason == "permute does not compute row after row"
    dense = Dense(**fields, weights=np.ones((3, 32), np.float32), bias=np.zeros(3, np.float32))
    assert Direct().row_order(dense, BYTES).reason == "its output has one row"
    softmax = Softmax(**fields)
    assert Direct().row_order(softmax, BYTES).by_calls


def test_rows_needed_by_a_window_count_from_the_padding() -> None:
    layer = conv_of(Window((3, 3), (2, 2), (2, 1), Pads(2, 0, 2, 0)), Shape(8, 8, 2))
    assert rows_needed(layer).tolist() == [3, 5, 7, 8]  # type: ignore[union-attr]
    pool = MaxPool(name="a", inputs=("x",), output="y", in_shape=Shape(9, 2, 2), window=Window((2, 2), (2, 2)))
    assert rows_needed(pool).tolist() == [2, 4, 6, 8]  # type: ignore[union-attr]


def test_a_row_must_not_arrive_where_the_output_has_been_written() -> None:
    def may_arrive(layer: Conv, distance: int) -> bool:
        return may_arrive_in_place(*row_bytes(layer, 0, BYTES), layer.in_shape.size, distance)

    every_other = conv_of(Window((1, 1), (2, 2)), Shape(8, 8, 4), outputs=16)  # a row of it is as long as two
    assert may_arrive(every_other, 64)
    assert not may_arrive(every_other, 0)  # row 1 would arrive over output row 0
    plain = conv_of(Window((1, 1)), Shape(8, 8, 4))
    assert may_arrive(plain, 0)
    assert not may_arrive(plain, -1)
    assert may_arrive(plain, 256)
    assert may_arrive(plain, -256)


def test_calls_for_rows_keep_their_lead_in_every_row() -> None:
    growing = conv_of(Window((1, 1)), Shape(4, 2, 4), outputs=8)  # rows of 8 bytes become rows of 16
    lead = Direct().lead(growing, 0, BYTES)
    assert lead is not None
    row_lead = lead._replace(least_bytes=8)
    assert keeps_lead(growing, 0, BYTES, 32, row_lead)
    assert not keeps_lead(growing, 0, BYTES, 31, row_lead)
    assert not keeps_lead(growing, 0, BYTES, 40, None)
    assert keeps_lead(growing, 0, BYTES, 64, None)


def test_plain_loops_have_an_order_or_a_reason() -> None:
    rng = np.random.default_rng(0)
    for kind, bits in KINDS_AND_BITS:
        layer = random_quantized(rng, kind, bits).layer
        order = Direct().row_order(layer, Widths.all(bits))
        is_whole = kind in WHOLE or (isinstance(layer, Normalization) and layer.over_map)
        assert bool(order.reason) == (layer.out_shape.height == 1 or is_whole)


def test_rows_of_a_map_that_is_copied_as_a_whole_may_still_arrive(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    layer = Conv(
        name="conv",
        inputs=("x",),
        output="y",
        in_shape=Shape(9, 7, 8),
        activation=Activation(),
        weights=rng.normal(0, 0.3, (32, 1, 1, 8)).astype(np.float32),
        bias=np.zeros(32, np.float32),
        window=Window((1, 1)),
    )
    source = LayerSource(quantize_one(layer, (-1, 1), (-2, 2), 8), Unpacked())
    assert Unpacked().context(source.quantized).copies_map
    assert_streamed_equals_the_reference(tmp_path, rng, with_hooks(rng, [source]))
